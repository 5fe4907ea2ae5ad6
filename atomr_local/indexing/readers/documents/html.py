"""Web pages: headings, paragraphs, lists, tables and the TeX of formulas, without navigation and scripts."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, BinaryIO
from urllib.parse import unquote

from atomr_local.indexing.readers.documents.document import (
    Document,
    UnreadableError,
    Writer,
    open_zip,
    parse_xml,
    part,
    short_line,
    whole,
    write_table,
)
from atomr_local.indexing.readers.documents.symbols import numeral
from atomr_local.indexing.readers.documents.text_file import read_bytes
from atomr_local.indexing.readers.html_walker import BLOCKS, PASSED_OVER, TABLE_PARTS, VOID, HtmlWalker, OpenTable
from atomr_local.indexing.readers.lines import decoded, text_encoding
from atomr_local.indexing.readers.tables import Cell, markup_spans, one_line

# Tables of web pages while they are read.

MOST_CELLS = 1_000_000  # of one table
_LONGEST_VALUE = 1_000  # characters; a longer cell of a table without headings holds a part of the page


@dataclass(slots=True)
class _Table(OpenTable):
    """A table of a web page; its rows hold the cells with the ends of their lines.

    Attributes:
        plain: some of the words that are open are not bold.
        inner: tables that stood in its cells; they are written behind it.
        left_out: cells beyond the limit.
    """

    plain: bool = False
    inner: list[_Table] = field(default_factory=list)
    left_out: int = 0
    _cells: int = 0
    _headers: int = 0
    _in_head: bool = False

    @property
    def is_data(self) -> bool:
        """Whether its markup says that it holds data: headings, a caption or a border."""
        border = self.attributes.get("border", "0") not in {"0", ""}
        in_cell = self.cell is not None and self.cell[0] == "th"
        return bool(self._headers or self.caption or border or in_cell)

    def begin(self, tag: str, attributes: Mapping[str, str]) -> None:
        OpenTable.begin(self, tag, attributes)
        if self.words is None:  # rows, or one of them
            self._in_head = tag == "thead" or (self._in_head and tag == "tr")
        self.plain = False

    def add(self, text: str, *, header: bool, given: Mapping[str, str]) -> None:
        if self._cells >= MOST_CELLS:
            self.left_out += 1
            return
        header = header or self._in_head
        bold = bool(text.strip()) and not self.plain
        self.row.append(Cell(text, header, *markup_spans(given), emphasised=bold))
        self._cells += 1
        self._headers += header

    def write(self, writer: Writer) -> None:
        """Write it, and behind it the tables that stood in its cells."""
        rows = [row for row in self.rows if row]
        if not self.is_data and (
            all(len(row) == 1 for row in rows) or any(len(cell.text) > _LONGEST_VALUE for row in rows for cell in row)
        ):
            for cell in (cell for row in rows for cell in row):
                for line in cell.text.split("\n"):
                    writer.paragraph(line)
        else:
            write_table(writer, [[_one_line(cell) for cell in row] for row in rows], caption=self.caption)
        if self.left_out:
            writer.document.notes.append(
                f"{self.left_out} cells of a table are left out: it has more than {MOST_CELLS}"
            )
        waiting = list(reversed(self.inner))
        while waiting:  # no recursion, however deep they stand in each other
            inner = waiting.pop()
            waiting += reversed(inner.inner)
            inner.inner = []
            inner.write(writer)


def _one_line(cell: Cell) -> Cell:
    return replace(cell, text=one_line(cell.text, " " if cell.header else ", ", sentences=True))


PAGE_TYPES = frozenset({"application/xhtml+xml", "text/html"})
_CHARSET = re.compile(
    rb"""(?i)<meta[^>]{0,200}charset=["']?\s*([\w-]{1,40})|<\?xml[^>]{0,200}encoding=["']([\w-]{1,40})"""
)
_DECLARATION = re.compile(r"\A\s*<\?xml[^>]*\?>")
# Entities that a page declares for itself; browsers know none of them.
_SUBSET = re.compile(r"(\A.{0,4096}?<!DOCTYPE[^\[>]{0,1000})\[.*?\]\s*(?=>)", re.I | re.S)
_HEAD = 4096
_BOLD = frozenset({"b", "strong"})
_DETAILS = frozenset({"author", "date", "description"})


def parse_html(stream: BinaryIO) -> Document:
    writer = Writer()
    write_html(writer, read_bytes(stream))
    return writer.done()


def write_html(writer: Writer, source: bytes | str) -> None:
    """The words of a page; broken markup is read as a browser would."""
    text = source if isinstance(source, str) else page_text(source)
    _read_page(writer, text, ({}, set())).write()


def _read_page(writer: Writer, text: str, notes: _Notes, path: str = "") -> _Page:
    """A page that is read and not written yet."""
    page = _Page(writer, notes, path)
    if not page.read(_SUBSET.sub(r"\1", _DECLARATION.sub("", text), count=1), huge=True):
        writer.document.notes.append("its markup is broken; what was read until there is taken")
    page.finish()
    return page


def page_text(source: bytes, declared: str = "") -> str:
    """The characters of a page.

    Args:
        declared: the label of its encoding, as it came with the page; otherwise the page may declare one.
    """
    if not text_encoding(declared) and (found := _CHARSET.search(source[:_HEAD])):
        declared = (found[1] or found[2]).decode("ascii", "replace")
    return decoded(source, declared)


# A piece of a page in the order of reading: what writes it, pieces in it, or a note's id that stands there.
_Block = Callable[[Writer], None] | list["_Block"] | str
# The blocks of notes by the file and the id, such as "notes.xhtml#n1", and where links to notes lead.
_Notes = tuple[dict[str, list[_Block]], set[str]]
_NOTES = frozenset({"footnote", "endnote", "rearnote", "doc-footnote", "doc-endnote", "footnote-definition"})
_NOTE_LINKS = frozenset({"noteref", "doc-noteref", "footnote-ref"})
_BACK_LINKS = frozenset({"backlink", "doc-backlink", "footnote-back", "footnote-backref"})
_NOTE_PLACES = frozenset({"aside", "li", "div", "p", "dd", "section"})
_MARKER = re.compile(r"\s*\[?([\d*†‡]{1,4})\]?\s*")
_BEFORE_NUMBERS = frozenset(("", " ", "\n", "\xa0", "[", "("))
_SCRIPTS = {"sup": "^", "sub": "_"}
_FIRST_LABELLED = 3  # level of a heading; in a box of facts those below name what follows


@dataclass(slots=True)
class _Aside:
    """A note or a box that stands beside the text, while it is open.

    Attributes:
        depth: open elements around it.
        note: its id, if a link in the text leads to it.
        headed: there are headings in it.
        boxed: it is a box of facts, in which lower headings name values.
        before: the blocks around it.
        letters, linked: how much text is in it, and how much of that in links.
    """

    depth: int
    note: str
    boxed: bool
    before: list[_Block]
    headed: bool = False
    letters: int = 0
    linked: int = 0


class _Page(HtmlWalker[_Table]):
    """The blocks of a page, kept until all are read: a note is then written behind the paragraph that refers to it.

    Args:
        notes: of the page, or of all chapters of a book.
        path: of a chapter in its book.
    """

    passed_over = (PASSED_OVER - {"form"}) | {"canvas", "map", "dialog", "search", "datalist", "en-crypt"}
    blocks = BLOCKS | {"header", "footer", "figure", "figcaption", "address", "body", "form", "fieldset", "legend"} | {
        "aside", "en-note",
    }  # fmt: skip
    rule = " "

    def __init__(self, writer: Writer, notes: _Notes, path: str) -> None:
        super().__init__()
        self._writer = writer
        self._page = path
        self._notes, self._noted = notes
        self._lists: list[tuple[str, int]] = []  # that are open: how their items are numbered, and the last number
        self._mark = ""  # the number of an item before its first words
        self._words: list[str] = []
        self._annotation: list[str] | None = None  # the TeX of a formula, while it is read
        self._formula = ""
        self._heading: int | None = None
        self._in_title = False
        self._bold = 0
        self._data: list[_Table] = []  # those that are open and not for layout
        self._blocks: list[_Block] = []
        self._asides: list[_Aside] = []
        self._depth = 0
        self._path: list[tuple[int, str]] = []  # headings around what is read, asides left out
        self._links: list[_Block] = []  # in-page links since the last block
        # The open link: where it leads, whether to a note, and whether to another chapter.
        self._link: tuple[str, bool, bool] | None = None
        self._script = ""  # of a raised or lowered text that has just begun: its mark behind a number
        self._label = ""
        self._under_others = False  # an aside has ended, and its headings would hold for what follows

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        if tag not in VOID:
            self._depth += 1
            if tag in _NOTE_PLACES and not self.dropped and self._cell is None:
                self._begin_aside(tag, attributes)
        super().start(tag, attributes)
        if self.dropped:
            if tag == "annotation" and "tex" in attributes.get("encoding", ""):
                self._annotation = []
        elif tag == "meta":
            self._meta(attributes.get("name", "").casefold(), short_line(attributes.get("content"), 500))
        elif tag == "title":
            self._in_title = True
        elif tag in _BOLD:
            self._bold += 1
        elif tag in _SCRIPTS:
            self._script = _SCRIPTS[tag]
        elif tag in {"ol", "ul"}:
            kind = attributes.get("type", "1")[:1] if tag == "ol" else ""
            self._lists.append((kind, whole(attributes.get("start"), 1) - 1))
        elif tag == "li" and self._lists:
            kind, number = self._lists[-1]
            number = whole(attributes.get("value"), number + 1)
            self._lists[-1] = (kind, number)
            noted = any(aside.note for aside in self._asides)
            self._mark = f"{numeral(number, kind)}. " if kind and not noted else ""
        elif tag == "a" and (address := attributes.get("href")):
            target = self._target(address)
            self._link = (target, bool(_kinds(attributes) & _NOTE_LINKS), not address.startswith("#"))
            if target:
                self._links.append(target)
                self._noted |= {target} if self._link[1] else set()

    def end(self, tag: str) -> None:
        was_dropped = self.dropped > 0
        super().end(tag)
        if tag not in VOID:
            self._depth -= 1
            if self._asides and self._asides[-1].depth == self._depth:
                self._end_aside()
        if was_dropped:
            if tag == "annotation" and self._annotation is not None:
                self._formula, self._annotation = " ".join("".join(self._annotation).split()), None
            if tag == "math" and not self.dropped:
                self.put(self._formula)
                self._formula = ""
        elif tag == "title":
            self._in_title = False
        elif tag in _BOLD:
            self._bold = max(0, self._bold - 1)
        elif tag in _SCRIPTS:
            self._script = ""
        elif tag == "a":
            self._link = None
        elif tag in {"ol", "ul"} and self._lists:
            self._lists.pop()
            self._mark = ""

    def _target(self, address: str) -> str:
        """The place to which a link leads within the page or the book; "" where it leads out of it."""
        path, _, name = unquote(address).partition("#")
        if not name or (path and not self._page) or ":" in path:
            return ""
        path = posixpath.normpath(posixpath.join(posixpath.dirname(self._page), path)) if path else ""
        return f"{path or self._page}#{name}"

    def data(self, data: str) -> None:
        if self._in_title:
            document = self._writer.document
            document.title = short_line(f"{document.title}{data}")
            return
        if self._annotation is not None:
            self._annotation.append(data)
        if self._link is not None and (marker := _MARKER.fullmatch(data)):
            target, to_note, elsewhere = self._link
            if to_note:
                return
            if target and self._words and self._words[-1][-1:] not in _BEFORE_NUMBERS:
                self._noted |= {target} if elsewhere else set()
                data = f"[{marker[1]}]"  # never a digit more of the number before it
        if self._script and data.lstrip("-−+")[:1].isdigit() and not self.dropped:
            before = self._words if self._cell is None else self._cell
            data = f"{self._script if before and before[-1][-1:].isdigit() else ''}{data}"
            self._script = ""
        super().data(data)

    def _begin_aside(self, tag: str, attributes: Mapping[str, str]) -> None:
        kinds = _kinds(attributes)
        name = f"{self._page}#{attributes['id']}" if attributes.get("id") else ""
        note = bool(name) and (name in self._noted or bool(kinds & _NOTES))
        if (note or tag == "aside") and not self.is_dropped(tag, attributes):
            self.flush()
            boxed = any("infobox" in kind for kind in kinds)
            self._asides.append(_Aside(self._depth - 1, name if note else "", boxed, self._blocks))
            self._blocks = []

    def _end_aside(self) -> None:
        self.end_heading()
        self._label = ""
        self.flush()
        aside, inside = self._asides.pop(), self._blocks
        self._blocks = aside.before
        if aside.note:
            self._notes.setdefault(aside.note, []).extend(inside)
            self._blocks.append(aside.note)  # here, if no paragraph has taken it before
        elif 2 * aside.linked <= aside.letters:  # not a side bar of links
            self._blocks.append(inside)
            if self._asides:
                self._asides[-1].headed |= aside.headed
            else:
                self._under_others |= aside.headed

    def _emit(self, block: _Block, level: int = 10) -> None:
        """A block of the page; headings within an aside before it do not hold for it.

        Args:
            level: of a heading.
        """
        if self._under_others and not self._asides:
            self._under_others = False
            self._blocks += [partial(Writer.heading, level=at, title=title) for at, title in self._path if at < level]
        self._blocks.append(block)

    def finish(self) -> None:
        """The page ends."""
        self.end_tables()
        self.flush()
        while self._asides:
            self._end_aside()

    def write(self) -> None:
        """Write its blocks."""
        waiting = list(reversed(self._blocks))
        while waiting:
            block = waiting.pop()
            if callable(block):
                block(self._writer)
            else:
                waiting += reversed(self._notes.pop(block, []) if isinstance(block, str) else block)

    def flush(self) -> None:
        """Write the words since the last block, as a paragraph; those of a cell stay together."""
        if self._cell is not None:
            self._cell.append("\n")
            return
        text, self._words = "".join(self._words), []
        if self._heading is not None or (self._label and text.strip() == self._label):
            self._words = [text]
            return
        self._label = ""
        for paragraph in [text] if self.pre else re.split(r"\s*\n\s*", text):
            if paragraph.strip():
                self._emit(partial(Writer.paragraph, text=paragraph))
        if self._links:
            self._blocks.append(self._links)
            self._links = []

    def is_dropped(self, tag: str, attributes: Mapping[str, str]) -> bool:
        if attributes.get("hidden", "until-found").casefold() != "until-found":  # a browser shows that when it searches
            return True
        if attributes.get("role") == "search" or (tag == "a" and _kinds(attributes) & _BACK_LINKS):
            return True
        return super().is_dropped(tag, attributes)

    def take(self, text: str) -> None:
        if self._mark and not text.isspace():
            self._mark, text = "", f"{self._mark}{text}"
        if self._asides:
            aside, length = self._asides[-1], len(text.strip())
            aside.letters += length
            aside.linked += length if self._link is not None else 0
        cell = self._cell
        if cell is not None and not self._bold and not text.isspace():
            self._data[-1].plain = True
        (self._words if cell is None else cell).append(text)

    def break_words(self, ended: str = "") -> None:
        self.flush()

    def begin_heading(self, level: int) -> None:
        self._label = ""
        self.flush()
        self._heading = level if self._cell is None else None

    def end_heading(self) -> None:
        if self._heading is None:
            return
        level, self._heading = self._heading, None
        text, self._words = "".join(self._words), []
        if self._asides and self._asides[-1].boxed and level >= _FIRST_LABELLED and text.strip():
            self._label = f"{text.strip().removesuffix(':')}:"
            self._words = [self._label, " "]
            return
        if self._asides and self._asides[-1].note:
            self._emit(partial(Writer.paragraph, text=text))
            return
        self._emit(partial(Writer.heading, level=level, title=text), level)
        if self._asides:
            self._asides[-1].headed = True
        else:
            self._path = [*((above, title) for above, title in self._path if above < level), (level, text)]

    @property
    def _cell(self) -> list[str] | None:
        """The words of the cell that is open; a table for layout has none of its own."""
        return self._data[-1].words if self._data else None

    def begin_table(self, attributes: Mapping[str, str]) -> None:
        outer = self.tables[-1] if self.tables else None
        if outer is None or outer.layout:
            self.flush()
        elif not outer.is_data:
            self._open_up(outer)
        table = _Table(attributes, layout=attributes.get("role") == "presentation")
        self.tables.append(table)
        if not table.layout:
            self._data.append(table)

    def _open_up(self, table: _Table) -> None:
        """Let a table in which another stands, and which nothing marks as data, be one for layout."""
        words, table.words, table.layout = table.words or [], None, True
        self._data.pop()
        sink = self._words if self._cell is None else self._cell
        for cell in (cell for row in table.rows for cell in row):
            sink += (cell.text, "\n")
        sink += words
        table.rows = []
        self.flush()

    def begin_in_table(self, tag: str, attributes: Mapping[str, str]) -> bool:
        if tag in TABLE_PARTS and self.tables[-1].layout:
            self.flush()
        elif tag in TABLE_PARTS:
            self.tables[-1].begin(tag, attributes)
        return tag in TABLE_PARTS

    def end_in_table(self, tag: str) -> bool:
        if tag in TABLE_PARTS and self.tables[-1].layout:
            self.flush()
        return super().end_in_table(tag)

    def end_table(self) -> None:
        table = self.tables.pop()
        if table.layout:
            self.flush()
            return
        table.finish()
        self._data.pop()
        if self._data:
            self._data[-1].inner.append(table)
        else:
            self._emit(table.write)

    def _meta(self, name: str, content: str) -> None:
        if name in _DETAILS and content:
            self._writer.document.details.setdefault(name, content)


def _kinds(attributes: Mapping[str, str]) -> set[str]:
    """What an element says that it is: the words of its role, its type in a book, and its class."""
    if not attributes:
        return set()
    return {kind.casefold() for name in ("role", "epub:type", "class") for kind in attributes.get(name, "").split()}


# E-books in EPUB: the chapters in reading order.

_CONTAINER = "META-INF/container.xml"
_ENCRYPTION = "META-INF/encryption.xml"
_MOST_CHAPTERS = 192 << 20  # bytes, which are held until all are read


def parse_epub(stream: BinaryIO) -> Document:
    writer = Writer()
    with open_zip(stream) as archive:
        named = (one.get("full-path") for one in parse_xml(part(archive, _CONTAINER)).iterfind(".//{*}rootfile"))
        if not (package := next(filter(None, named), "")):
            raise UnreadableError("it names no package: it is no EPUB")
        root = parse_xml(part(archive, package))
        title = next(filter(None, map(_words, root.iterfind(".//{*}metadata/{*}title"))), "")
        authors = [_words(item) for item in root.iterfind(".//{*}metadata/{*}creator")]
        if authors:
            writer.document.details["author"] = ", ".join(authors[:20])
        folder = posixpath.dirname(package)
        items = {item.get("id"): item for item in root.iterfind(".//{*}manifest/{*}item")}
        locked: set[str] = set()  # fonts often are, chapters only with DRM
        if _ENCRYPTION in archive.namelist():
            found = parse_xml(part(archive, _ENCRYPTION)).iterfind(".//{*}CipherReference")
            locked = {unquote(item.get("URI", "")) for item in found}
        notes: _Notes = ({}, set())
        pages: list[_Page] = []
        read = 0
        for reference in root.iterfind(".//{*}spine/{*}itemref"):
            chapter = items.get(reference.get("idref"))
            if chapter is None or chapter.get("media-type") not in PAGE_TYPES:
                continue
            path = posixpath.normpath(posixpath.join(folder, unquote(chapter.get("href", ""))))
            if path in locked:
                raise UnreadableError("its chapters are encrypted (DRM)")
            try:
                source = part(archive, path)
            except UnreadableError as error:
                writer.document.notes.append(str(error))
                continue
            read += len(source)
            if read > _MOST_CHAPTERS:
                raise UnreadableError(f"its chapters have more than {_MOST_CHAPTERS >> 20} MiB")
            pages.append(_read_page(writer, page_text(source), notes, path))
        for page in pages:  # notes may stand in a chapter of their own
            page.write()
        writer.document.title = title
    if writer.empty and writer.document.notes:
        raise UnreadableError(writer.document.notes[0])
    return writer.done()


def _words(element: Any) -> str:
    return short_line("".join(element.itertext()))
