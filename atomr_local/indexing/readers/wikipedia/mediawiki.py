"""Reads MediaWiki XML dumps (pages-articles), plain, gzip or bzip2; a record is a page."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote
from xml.parsers import expat

from atomr_local.errors import InputError
from atomr_local.indexing.readers.base import Article, PageWork, Redirect
from atomr_local.indexing.readers.lines import LineReader, Skipped
from atomr_local.indexing.readers.wikipedia.export_xml import Page, Site, read_pages
from atomr_local.indexing.readers.wikipedia.markup_names import dropped_link_names, is_disambiguation
from atomr_local.indexing.readers.wikipedia.page_parser import PageParser
from atomr_local.indexing.readers.wikipedia.page_props import PageProps, page_props_beside
from atomr_local.indexing.readers.wikipedia.plain_text import PlainText

# Possessive: what follows a run of spaces is no space, and trying shorter runs of a long one would take minutes.
_REDIRECT = re.compile(r"\s*+#REDIRECT\s*+:?\s*+\[\[([^\]|]+)", re.I)
_SALVAGE = "--salvage takes what stands before the damage."
_HINT = "A dump is a file such as simplewiki-latest-pages-articles.xml.bz2 from dumps.wikimedia.org."


class MediaWikiReader:
    """The articles and redirects of a dump; other namespaces and disambiguation pages are left out.

    A dump does not hold the Wikidata ids of its pages; the table page_props does, and is read where it lies beside the
    dump under the name that it was published with.

    Args:
        work: how many processes read the pages, and what they do beside.
    """

    def __init__(self, path: Path, work: PageWork | None = None) -> None:
        self.path = path
        self._work = work or PageWork()
        self._lines = LineReader(path)
        self._damage: InputError | None = None

    @property
    def position(self) -> int:
        return self._lines.position

    def records(self, skipped: Skipped, *, after: int = 0) -> Iterator[Article | Redirect]:
        site = Site()
        table = page_props_beside(self.path)
        props = PageProps(table) if table is not None else None
        # The names of namespaces stand in the head of the dump.
        parser = PageParser(lambda: dropped_link_names(site.namespaces), work=self._work)
        self._damage = None
        try:
            for (page, found), plain in parser.read(self._pages(site, after), lambda item: item[0].title):
                if isinstance(found, Redirect):
                    yield found
                    continue
                problem = found if found is not None else plain
                if isinstance(problem, PlainText) and not problem.text:
                    problem = ValueError("no text beside templates and lists of links")
                if isinstance(problem, PlainText):
                    yield _article(page, problem, site, props)
                else:
                    skipped.add(self.path, page.record, f"{page.title}: {problem}" if page.title else str(problem))
            if self._damage is not None:  # told when all pages before it are given
                raise self._damage
        finally:
            parser.close()

    def _pages(self, site: Site, after: int) -> Iterator[tuple[tuple[Page, Redirect | ValueError | None], str]]:
        """The pages that count, each with its redirect or its problem, or else with the wikitext to be read."""
        last = 0
        try:
            for page in read_pages(self._lines, site, after=after):
                last = page.record
                if page.record <= after or self._is_foreign(page, site):
                    continue
                try:
                    found = _redirect_or_wikitext(page)
                except ValueError as error:
                    yield (page, error), ""
                    continue
                if isinstance(found, Redirect):
                    yield (page, found), ""
                elif found:
                    yield (page, None), found
        except expat.ExpatError as error:
            self._damage = InputError(
                f"{self.path}, line {error.lineno}, after page {last}: the XML is damaged or cut short: "
                f"{expat.errors.messages.get(error.code, 'unknown')}",
                hint=f"{_SALVAGE} {_HINT}" if last else _HINT,
            )
            return
        except InputError as error:
            self._damage = error
            if last and not error.hint:
                error.hint = _SALVAGE
            return
        if not last:
            raise InputError(f"{self.path}: a MediaWiki dump without a page", hint=_HINT)

    @staticmethod
    def _is_foreign(page: Page, site: Site) -> bool:
        if page.namespace:
            return page.namespace != "0"
        prefix = page.title.partition(":")[0].casefold() if ":" in page.title else ""
        return bool(prefix) and prefix in site.namespaces.values()


def _redirect_or_wikitext(page: Page) -> Redirect | str:
    """What the page says; "" where it is neither an article nor a redirect.

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
        return Redirect(page.title, target, page.record) if target and target != page.title else ""
    if page.model not in {"", "wikitext"} or is_disambiguation(page.title, page.text):
        return ""
    if not page.text.strip():
        raise ValueError("an empty page")
    return page.text


def _article(page: Page, plain: PlainText, site: Site, props: PageProps | None) -> Article:
    metadata = {"url": site.prefix + quote(page.title.replace(" ", "_"), safe="/:,()'!*@;~")} if site.prefix else {}
    qid = props.item(page.id) if props is not None else None
    return Article(page.id, page.title, plain.text, qid, metadata, plain.sections, page.record, plain.lost, plain.cut)
