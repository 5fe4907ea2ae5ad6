"""Reads MediaWiki XML dumps (pages-articles), plain, gzip or bzip2; a record is a page."""

from __future__ import annotations

import html
import re
from array import array
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote
from xml.parsers import expat

from atomr_local.errors import InputError
from atomr_local.indexing.readers.base import Article, LineArticles, PageWork, Redirect
from atomr_local.indexing.readers.lines import LineReader, Skipped
from atomr_local.indexing.readers.wikipedia.page_parser import PageParser
from atomr_local.indexing.readers.wikipedia.plain_text import PlainText, dropped_link_names, is_disambiguation, tidied

# The pages of a MediaWiki export, one at a time, through expat.
#
# Expat is used without a tree above it, so that one page is in memory at a time, and so that a document type, which no
# export has, is refused before an entity of it can grow.

# Wikis refuse pages over 2 MiB; some allow a little more.
_MAX_PAGE = 8 << 20
_CHUNK = 1 << 16
_MAX_TAG = 1 << 20
_FIELDS = {"title": "title", "ns": "namespace", "id": "id", "model": "model"}  # of :class:`Page`, by their elements
_WANTED = frozenset({"text", "base", "namespace", *_FIELDS})


@dataclass(slots=True)
class Site:
    """What the head of the dump says: URL prefix of its pages, and namespaces by key, casefolded."""

    prefix: str = ""
    namespaces: dict[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class Page:
    """A page with the text of its last revision. `too_long`: the text was over 8 MiB and is left out."""

    record: int
    title: str = ""
    namespace: str = ""
    id: str = ""
    redirect: str = ""
    model: str = ""
    text: str = ""
    too_long: bool = False


def read_pages(lines: LineReader, site: Site, *, after: int = 0) -> Iterator[Page]:
    """The pages in order, `site` filled before the first; pages up to `after` come without their text.

    Raises:
        InputError: not a MediaWiki export, or one with a document type.
        expat.ExpatError: not well-formed.
    """
    handler = _Handler(lines, site, after)
    fed = 0
    for block in _blocks(lines):
        try:
            handler.parser.Parse(block, False)
        except (expat.ExpatError, InputError):
            yield from handler.taken()
            raise
        fed += len(block)
        # Expat reads an unfinished tag or comment again with every block.
        if fed - handler.parser.CurrentByteIndex > _MAX_TAG + len(block):
            raise InputError(
                f"{lines.path}, line {handler.parser.CurrentLineNumber}: a tag or comment longer than 1 MiB"
            )
        yield from handler.taken()
    handler.parser.Parse(b"", True)
    yield from handler.taken()


def _blocks(lines: LineReader) -> Iterator[bytes]:
    block: list[bytes] = []
    size = 0
    try:
        for _, line in lines:
            block.append(line)
            size += len(line) + 1
            if size >= _CHUNK:
                yield b"\n".join([*block, b""])
                block, size = [], 0
    except InputError:
        if block:  # the pages before the place where the file ends
            yield b"\n".join([*block, b""])
        raise
    if block:
        yield b"\n".join([*block, b""])


class _Handler:
    def __init__(self, lines: LineReader, site: Site, after: int) -> None:
        self._lines = lines
        self._site = site
        self._after = after
        self._path: list[str] = []
        self._page: Page | None = None
        self._count = 0
        self._pages: list[Page] = []
        self._key = ""
        self._text: list[str] | None = None
        self._size = 0
        self.parser = expat.ParserCreate("utf-8")
        self.parser.buffer_text = True
        self.parser.buffer_size = _CHUNK
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.parser.CharacterDataHandler = self._characters
        self.parser.StartDoctypeDeclHandler = self._doctype

    def taken(self) -> list[Page]:
        pages, self._pages = self._pages, []
        return pages

    def _doctype(self, *_declaration: object) -> None:
        raise InputError(
            f"{self._lines.path}, line {self.parser.CurrentLineNumber}: a document type declaration, "
            "which no MediaWiki dump has",
            hint="Its entities could fill the memory; take the dump from where it was published.",
        )

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        if not self._path and name != "mediawiki":
            raise InputError(f"{self._lines.path}: not a MediaWiki dump: its root is <{name[:80]}>")
        self._path.append(name)
        if name == "page":
            self._count += 1
            self._page = Page(self._count)
        elif name == "redirect" and self._page is not None:
            self._page.redirect = attributes.get("title", "")
        elif name in _WANTED:
            if name == "text" and self._count <= self._after:
                return
            self._key = attributes.get("key", "")
            self._text, self._size = [], 0

    def _characters(self, data: str) -> None:
        if self._text is not None:
            self._size += len(data)
            if self._size <= _MAX_PAGE:
                self._text.append(data)

    def _end(self, name: str) -> None:
        self._path.pop()
        if self._text is not None and name in _WANTED:
            value, self._text = "".join(self._text), None
            self._put(name, value)
        if name == "page" and self._page is not None:
            self._pages.append(self._page)
            self._page = None

    def _put(self, name: str, value: str) -> None:
        page = self._page
        if page is None:
            if name == "base":
                head, slash, _ = value.strip().rpartition("/")
                self._site.prefix = head + slash if head.startswith(("http://", "https://")) else ""
            elif name == "namespace" and value:
                self._site.namespaces[self._key] = value.casefold()
        elif name == "text":
            page.too_long = self._size > _MAX_PAGE
            page.text = "" if page.too_long else value
        elif name in _FIELDS and (name != "id" or self._path[-1:] == ["page"]):
            setattr(page, _FIELDS[name], value.strip())


# Wikidata ids of the pages of a dump, from the `page_props` table published with it.

_DUMP_NAME = re.compile(r"(?P<wiki>[a-z0-9_-]+-(?:\d{8}|latest))-pages-(?:articles|meta)")
# Within a quoted value quotes are escaped, so that this stands for a row of the table and nothing else.
_ROW = re.compile(rb"\((\d{1,12}),'wikibase_item','Q([1-9]\d{0,11})'")


class PageProps:
    """Page id → Wikidata id, in 16 bytes a page."""

    def __init__(self, path: Path) -> None:
        """Read the table.

        Raises:
            InputError: the file is damaged or cut short.
        """
        self._pages = array("Q")
        self._items = array("Q")
        for _, line in LineReader(path):
            for match in _ROW.finditer(line) if line.startswith(b"INSERT INTO") else ():
                self._pages.append(int(match[1]))
                self._items.append(int(match[2]))
        if any(later < page for page, later in zip(self._pages, self._pages[1:], strict=False)):
            order = sorted(range(len(self._pages)), key=self._pages.__getitem__)
            self._pages = array("Q", (self._pages[i] for i in order))
            self._items = array("Q", (self._items[i] for i in order))

    def item(self, page: str) -> str | None:
        """The Wikidata id of the page with this id."""
        if not page.isdecimal() or len(page) > 12:
            return None
        at = bisect_left(self._pages, int(page))
        found = at < len(self._pages) and self._pages[at] == int(page)
        return f"Q{self._items[at]}" if found else None


def page_props_beside(dump: Path) -> Path | None:
    """The `…-page_props.sql.gz` of the same wiki and day in the dump's folder, packed or not."""
    match = _DUMP_NAME.match(dump.name)
    if match is None:
        return None
    names = (f"{match['wiki']}-page_props.sql{ending}" for ending in (".gz", ""))
    return next((path for name in names if (path := dump.with_name(name)).is_file()), None)


# Possessive: what follows a run of spaces is no space, and trying shorter runs of a long one would take minutes.
_REDIRECT = re.compile(r"\s*+#REDIRECT\s*+:?\s*+\[\[([^\]|]+)", re.I)
_SALVAGE = "--salvage takes what stands before the damage."
_HINT = "A dump is a file such as simplewiki-latest-pages-articles.xml.bz2 from dumps.wikimedia.org."


class MediaWikiReader(LineArticles):
    """The articles and redirects of a dump; other namespaces and disambiguation pages are left out.

    A dump does not hold the Wikidata ids of its pages; the table page_props does, and is read where it lies beside the
    dump under the name that it was published with.

    Args:
        work: how many processes read the pages, and what they do beside.
    """

    def __init__(self, path: Path, work: PageWork | None = None) -> None:
        super().__init__(path)
        self._work = work or PageWork()
        self._damage: InputError | None = None

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


# Reads the text that WikiExtractor writes: <doc id= url= title=> … </doc>; a record is such an element.

_OPENING = re.compile(r'\s*<doc\s+((?:[a-z_]{1,20}="[^"]*"\s*)+)>\s*')
_ATTRIBUTE = re.compile(r'([a-z_]+)="([^"]*)"')
_TAG = re.compile(r"</?[^\W\d_][^<>\n]{0,300}>")
_LONGEST = 8 << 20


class ExtractedReader(LineArticles):
    """The articles of one file that WikiExtractor wrote."""

    def records(self, skipped: Skipped, *, after: int = 0) -> Iterator[Article | Redirect]:
        self._lines = LineReader(self.path)
        record = size = 0
        open_now: dict[str, str] | None = None
        body: list[str] = []
        for number, line in self._lines:
            text = line.decode("utf-8", "replace")
            if open_now is None:
                if not text.strip():
                    continue
                found = _OPENING.fullmatch(text)
                if found is None:
                    raise InputError(
                        f"{self.path}, line {number}: not <doc …>", hint="Is this the text that WikiExtractor writes?"
                    )
                open_now = {key: html.unescape(value) for key, value in _ATTRIBUTE.findall(found[1])}
                body, size, record = [], 0, record + 1
            elif text.strip() == "</doc>":
                if record > after:
                    try:
                        yield _extracted_article(open_now, body, record, too_long=size > _LONGEST)
                    except ValueError as error:
                        skipped.add(self.path, record, str(error))
                open_now = None
            else:
                size += len(text)
                if record > after and size <= _LONGEST:
                    body.append(text)
        if open_now is not None:
            raise InputError(
                f"{self.path}, after article {record - 1}: the file is cut short", hint="Is the download complete?"
            )
        if not record:
            raise InputError(f"{self.path}: no article in it")


def _extracted_article(head: dict[str, str], body: list[str], record: int, *, too_long: bool) -> Article:
    identifier, title = head.get("id", "").strip(), head.get("title", "").strip()
    if not identifier or not title:
        raise ValueError("a <doc> without id or title")
    if too_long:
        raise ValueError("longer than any page of a wiki")
    lines = [html.unescape(line) for line in body]
    while lines and lines[0].strip() in {"", title}:
        del lines[0]
    text = tidied(_TAG.sub("", "\n".join(lines)))
    if not text:
        raise ValueError(f"{title}: no text")
    url = head.get("url", "")
    return Article(identifier, title, text, None, {"url": url} if url else {}, record=record)
