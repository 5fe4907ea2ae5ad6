"""Web pages: headings, paragraphs, lists, tables and the TeX of formulas, without navigation and scripts."""

from __future__ import annotations

import re
from typing import BinaryIO

from atomr_local.indexing.readers.documents.document import Document, Writer
from atomr_local.indexing.readers.documents.encoding import decoded
from atomr_local.indexing.readers.documents.html_tables import TABLE_TAGS, OpenTable
from atomr_local.indexing.readers.documents.text_file import read_bytes
from atomr_local.indexing.readers.encodings import encoding_of, text_encoding

_DROPPED = frozenset(
    {"script", "style", "nav", "noscript", "svg", "form", "button", "template", "iframe", "object", "audio", "video"}
    | {"select", "textarea", "canvas", "map", "math", "aside", "dialog"}
)
_VOID = frozenset(
    {"br", "hr", "img", "input", "link", "meta", "wbr", "area", "base", "col", "embed", "source", "track"}
)
_BLOCK = re.compile(
    r"p|div|section|article|main|header|footer|blockquote|[uod]l|li|d[dt]|pre|center|details|summary|figure|figcaption"
    r"|table|address|body"
)
_HEADING = re.compile(r"h([1-6])")
_SPACE = re.compile(r"\s+")
_CHARSET = re.compile(
    rb"""(?i)<meta[^>]{0,200}charset=["']?\s*([\w-]{1,40})|<\?xml[^>]{0,200}encoding=["']([\w-]{1,40})"""
)
_DECLARATION = re.compile(r"\A\s*<\?xml[^>]*\?>")
# Entities that a page declares for itself; browsers know none of them.
_SUBSET = re.compile(r"(\A.{0,4096}?<!DOCTYPE[^\[>]{0,1000})\[.*?\]\s*(?=>)", re.I | re.S)
_HEAD = 4096
_BOLD = frozenset({"b", "strong"})
_DETAILS = {"author": "author", "date": "date", "description": "description"}


def parse_html(stream: BinaryIO) -> Document:
    writer = Writer()
    write_html(writer, read_bytes(stream))
    return writer.done()


def write_html(writer: Writer, source: bytes | str) -> None:
    """The words of a page; broken markup is read as a browser would."""
    from lxml import etree  # type: ignore[import-untyped]

    text = source if isinstance(source, str) else _decoded(source)
    collector = _Collector(writer)
    # A target gets elements as they open and end: no tree is held, however deep it would be.
    parser = etree.HTMLParser(target=collector, remove_pis=True, huge_tree=True, no_network=True)
    try:
        parser.feed(_SUBSET.sub(r"\1", _DECLARATION.sub("", text), count=1))
        parser.close()
    except etree.LxmlError:
        writer.document.notes.append("its markup is broken; what was read until there is taken")
    collector.finish()


def _decoded(source: bytes) -> str:
    """By the encoding that the page declares, unless a byte order mark says another."""
    name, mark = encoding_of(source[:_HEAD])
    declared = _CHARSET.search(source[:_HEAD]) if not mark and not name.startswith(("utf-16", "utf-32")) else None
    if declared and (name := text_encoding(declared[1] or declared[2])):
        # Pages that say Latin-1 have the quotation marks of Windows, and browsers read them so.
        return source.decode("cp1252" if name in {"iso8859-1", "ascii"} else name, "replace")
    return decoded(source)


class _Collector:
    """The target of the parser."""

    def __init__(self, writer: Writer) -> None:
        self._writer = writer
        self._words: list[str] = []
        self._dropped = 0  # open elements, counted from the outermost dropped one
        self._annotation: list[str] | None = None  # the TeX of a formula, while it is read
        self._formula = ""
        self._pre = 0
        self._heading: int | None = None
        self._in_title = False
        self._bold = 0
        self._tables: list[OpenTable] = []  # the innermost last
        self._data: list[OpenTable] = []  # those of them that are not for layout

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        if tag in _VOID:
            if tag == "meta" and not self._dropped:
                self._meta(attributes)
            elif tag in {"br", "hr"}:
                self._put("\n" if self._pre or tag == "br" else " ")
            return
        if self._dropped or tag in _DROPPED or "hidden" in attributes:
            self._dropped += 1
            if tag == "annotation" and "tex" in attributes.get("encoding", ""):
                self._annotation = []
            return
        if tag == "title":
            self._in_title = True
        elif tag == "table":
            self._begin_table(attributes)
        elif self._tables and tag in TABLE_TAGS:
            self._begin_in_table(tag, attributes)
        elif tag in _BOLD:
            self._bold += 1
        elif heading := _HEADING.fullmatch(tag):
            self.flush()
            self._heading = int(heading[1]) if self._cell is None else None
        elif _BLOCK.fullmatch(tag):
            self.flush()
        self._pre += tag == "pre"

    def end(self, tag: str) -> None:
        if tag in _VOID:
            return
        if self._dropped:
            self._dropped -= 1
            if tag == "annotation" and self._annotation is not None:
                self._formula, self._annotation = " ".join("".join(self._annotation).split()), None
            if tag == "math" and not self._dropped:
                self._put(self._formula)
                self._formula = ""
            return
        if tag == "title":
            self._in_title = False
        elif tag == "table":
            self._end_table()
        elif self._tables and tag in TABLE_TAGS:
            self._end_in_table(tag)
        elif tag in _BOLD:
            self._bold = max(0, self._bold - 1)
        elif _HEADING.fullmatch(tag):
            self._end_heading()
        elif _BLOCK.fullmatch(tag):
            self.flush()
        self._pre -= tag == "pre"

    def data(self, data: str) -> None:
        if self._in_title:
            document = self._writer.document
            document.title = " ".join(f"{document.title}{data}".split())[:300]
            return
        if self._annotation is not None:
            self._annotation.append(data)
        self._put(data if self._pre else _SPACE.sub(" ", data))

    def comment(self, text: str) -> None:
        """Comments say nothing."""

    def close(self) -> None:
        """Called by the parser at the end."""

    def finish(self) -> None:
        """End what the page leaves open."""
        while self._tables:
            self._end_table()
        self.flush()

    def flush(self) -> None:
        """Write the words since the last block, as a paragraph; those of a cell stay together."""
        if self._cell is not None:
            self._cell.append("\n")
            return
        text, self._words = "".join(self._words), []
        if self._heading is not None:
            self._words = [text]
            return
        for paragraph in [text] if self._pre else re.split(r"\s*\n\s*", text):
            self._writer.paragraph(paragraph)

    def _put(self, text: str) -> None:
        if self._dropped:
            return
        cell = self._cell
        if cell is not None and not self._bold and not text.isspace():
            self._data[-1].plain = True
        (self._words if cell is None else cell).append(text)

    def _end_heading(self) -> None:
        if self._heading is None:
            return
        level, self._heading = self._heading, None
        text, self._words = "".join(self._words), []
        self._writer.heading(level, text)

    @property
    def _cell(self) -> list[str] | None:
        """The words of the cell that is open; a table for layout has none of its own."""
        return self._data[-1].words if self._data else None

    def _begin_table(self, attributes: dict[str, str]) -> None:
        outer = self._tables[-1] if self._tables else None
        if outer is None or outer.layout:
            self.flush()
        elif not outer.is_data:
            self._open_up(outer)
        table = OpenTable(attributes, layout=attributes.get("role") == "presentation")
        self._tables.append(table)
        if not table.layout:
            self._data.append(table)

    def _open_up(self, table: OpenTable) -> None:
        """Let a table in which another stands, and which nothing marks as data, be one for layout."""
        words, table.words, table.layout = table.words or [], None, True
        self._data.pop()
        sink = self._words if self._cell is None else self._cell
        for cell in (cell for row in table.rows for cell in row):
            sink += (cell.text, "\n")
        sink += words
        table.rows = []
        self.flush()

    def _begin_in_table(self, tag: str, attributes: dict[str, str]) -> None:
        table = self._tables[-1]
        if table.layout:
            self.flush()
        else:
            table.begin(tag, attributes)

    def _end_in_table(self, tag: str) -> None:
        table = self._tables[-1]
        if table.layout:
            self.flush()
        elif tag in {"td", "th", "caption"}:
            table.finish()

    def _end_table(self) -> None:
        if not self._tables:
            return
        table = self._tables.pop()
        if table.layout:
            self.flush()
            return
        table.finish()
        self._data.pop()
        if self._data:
            self._data[-1].inner.append(table)
        else:
            table.write(self._writer)

    def _meta(self, attributes: dict[str, str]) -> None:
        name = attributes.get("name", "").casefold()
        if (key := _DETAILS.get(name)) and (content := " ".join(attributes.get("content", "").split())):
            self._writer.document.details.setdefault(key, content[:500])
