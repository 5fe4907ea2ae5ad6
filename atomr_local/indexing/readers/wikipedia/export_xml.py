"""The pages of a MediaWiki export, one at a time, through expat.

Expat is used without a tree above it, so that one page is in memory at a time, and so that a document type, which no
export has, is refused before an entity of it can grow.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from xml.parsers import expat

from atomr_local.errors import InputError
from atomr_local.indexing.readers.lines import LineReader

# Wikis refuse pages over 2 MiB; some allow a little more.
_MAX_PAGE = 8 << 20
_CHUNK = 1 << 16
_MAX_TAG = 1 << 20
_WANTED = frozenset({"title", "ns", "id", "model", "text", "base", "namespace"})


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
        parent = self._path[-1] if self._path else ""
        page = self._page
        if page is None:
            if name == "base":
                head, slash, _ = value.strip().rpartition("/")
                self._site.prefix = head + slash if head.startswith(("http://", "https://")) else ""
            elif name == "namespace" and value:
                self._site.namespaces[self._key] = value.casefold()
        elif name == "title":
            page.title = value.strip()
        elif name == "ns":
            page.namespace = value.strip()
        elif name == "id" and parent == "page":
            page.id = value.strip()
        elif name == "model":
            page.model = value.strip()
        elif name == "text":
            page.too_long = self._size > _MAX_PAGE
            page.text = "" if page.too_long else value
