"""MediaWiki XML dumps (pages-articles), plain, gzip or bzip2 (multistream too); a record is a page."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote
from xml.parsers import expat

from atomr_local.errors import InputError
from atomr_local.indexing.readers.articles import Article, Redirect
from atomr_local.indexing.readers.lines import LineReader, Skipped
from atomr_local.indexing.readers.wikinames import dropped_link_names, is_disambiguation
from atomr_local.indexing.readers.wikiprops import PageProps, page_props_beside
from atomr_local.indexing.readers.wikitext import plain_text
from atomr_local.indexing.readers.wikixml import Page, Site, read_pages

_REDIRECT = re.compile(r"\s*#REDIRECT\s*:?\s*\[\[([^\]|]+)", re.I)
_HINT = "A dump is a file such as simplewiki-latest-pages-articles.xml.bz2 from dumps.wikimedia.org."


class MediaWikiReader:
    """The articles and redirects of a dump; other namespaces and disambiguation pages are left out.

    A dump does not hold the Wikidata ids of its pages; the table page_props does, and is read where it lies beside the
    dump under the name that it was published with.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lines = LineReader(path)
        self._position = 0

    @property
    def position(self) -> int:
        # The last pages come when the file is read and closed already.
        self._position = max(self._position, self._lines.position)
        return self._position

    def records(self, skipped: Skipped, *, after: int = 0) -> Iterator[Article | Redirect]:
        site = Site()
        links: frozenset[str] | None = None
        last = 0
        table = page_props_beside(self.path)
        props = PageProps(table) if table is not None else None
        try:
            for page in read_pages(self._lines, site, after=after):
                last = page.record
                if page.record <= after or self._is_foreign(page, site):
                    continue
                if links is None:  # the names stand in the head of the dump
                    links = dropped_link_names(site.namespaces)
                try:
                    found = _record(page, site, links, props)
                except ValueError as error:
                    skipped.add(self.path, page.record, f"{page.title}: {error}" if page.title else str(error))
                    continue
                if found is not None:
                    yield found
        except expat.ExpatError as error:
            raise InputError(
                f"{self.path}, line {error.lineno}, after page {last}: the XML is damaged or cut short: "
                f"{expat.errors.messages.get(error.code, 'unknown')}",
                hint=_HINT,
            ) from error
        if not last:
            raise InputError(f"{self.path}: a MediaWiki dump without a page", hint=_HINT)

    @staticmethod
    def _is_foreign(page: Page, site: Site) -> bool:
        if page.namespace:
            return page.namespace != "0"
        prefix = page.title.partition(":")[0].casefold() if ":" in page.title else ""
        return bool(prefix) and prefix in site.namespaces.values()


def _record(page: Page, site: Site, links: frozenset[str], props: PageProps | None) -> Article | Redirect | None:
    """The page as an article or redirect; None where it is neither.

    Raises:
        ValueError: it should be one and cannot be read.
    """
    if not page.title or not page.id:
        raise ValueError("a page without title or id")
    if page.too_long:
        raise ValueError("longer than any page of a wiki")
    # Dumps of old have the redirect in the text alone.
    old = _REDIRECT.match(page.text)
    if target := page.redirect or (old.group(1) if old else ""):
        target = target.partition("#")[0].replace("_", " ").strip()
        return Redirect(page.title, target, page.record) if target and target != page.title else None
    if page.model not in {"", "wikitext"} or is_disambiguation(page.title, page.text):
        return None
    if not page.text.strip():
        raise ValueError("an empty page")
    plain = plain_text(page.text, links)
    if not plain.text:
        raise ValueError("no prose beside templates, tables and lists of links")
    metadata = {"url": site.prefix + quote(page.title.replace(" ", "_"), safe="/:,()'!*@;~")} if site.prefix else {}
    qid = props.item(page.id) if props is not None else None
    return Article(page.id, page.title, plain.text, qid, metadata, plain.sections, page.record)
