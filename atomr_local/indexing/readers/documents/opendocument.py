"""Tables of OpenDocument files: their rows with numbers, merged cells, and what marks headings."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, BinaryIO

from atomr_local.indexing.readers.documents.document import (
    Document,
    UnreadableError,
    Writer,
    elements_in,
    open_zip,
    parse_xml,
    part,
    short_line,
    write_sheet,
    write_table,
)
from atomr_local.indexing.readers.documents.symbols import LOWERED, RAISED, in_font, joined, mark_of, with_reading
from atomr_local.indexing.readers.tables import MOST_COLUMNS, Cell, Merged, Names, cell_of_lines

TEXT = "{urn:oasis:names:tc:opendocument:xmlns:text:1.0}"
TABLE = "{urn:oasis:names:tc:opendocument:xmlns:table:1.0}"
OFFICE = "{urn:oasis:names:tc:opendocument:xmlns:office:1.0}"
_STYLE = "{urn:oasis:names:tc:opendocument:xmlns:style:1.0}"
_FO = "{urn:oasis:names:tc:opendocument:xmlns:xsl-fo-compatible:1.0}"
HIDDEN = frozenset({f"{TEXT}tracked-changes", f"{OFFICE}annotation", f"{TEXT}note-citation"})
_SPACES = frozenset({f"{TEXT}s", f"{TEXT}tab"})
_PARAGRAPHS = frozenset({f"{TEXT}p", f"{TEXT}h"})
_DRAW = "{urn:oasis:names:tc:opendocument:xmlns:drawing:1.0}"
_APART = frozenset({f"{TEXT}note", *(f"{_DRAW}{name}" for name in ("frame", "custom-shape", "text-box", "g", "rect"))})
_RUBY = f"{TEXT}ruby"
# Spans whose style raises or lowers them, as they are called while they are read.
_MARKED_SPANS = {RAISED: f"{TEXT}raised", LOWERED: f"{TEXT}lowered"}
_MARKS = {tag: mark for mark, tag in _MARKED_SPANS.items()}
_CLOSED = _PARAGRAPHS | HIDDEN | {f"{TABLE}table"}
_HEADER_ROWS = f"{TABLE}table-header-rows"
_GROUPS = frozenset({f"{TABLE}table-rows", f"{TABLE}table-row-group", _HEADER_ROWS})
_CELLS = frozenset({f"{TABLE}table-cell", f"{TABLE}covered-table-cell"})
_HEADING_STYLE = "Table_20_Heading"  # of LibreOffice and pandoc
_MOST_REPEATED = 1_000  # rows of the same words
_MOST_ROWS = 1 << 20  # that a sheet can have


def heading_styles(root: Any) -> frozenset[str]:
    """The names of the styles in which the headings of tables are written: bold, or made of the one for that."""
    found = {_HEADING_STYLE}
    for style in root.iter(f"{_STYLE}style"):
        properties = style.find(f"{_STYLE}text-properties")
        bold = properties is not None and properties.get(f"{_FO}font-weight", "") in {"bold", "700", "800", "900"}
        if bold or style.get(f"{_STYLE}parent-style-name") == _HEADING_STYLE:
            found.add(style.get(f"{_STYLE}name", ""))
    return frozenset(found - {""})


def numbered_rows(table: Any, headings: frozenset[str], inner: list[Any]) -> Iterator[tuple[int, list[Cell]]]:
    """The rows with words, with their numbers from 1; a merged cell has its words in each of its rows.

    Args:
        headings: styles of headings.
        inner: gets the tables, notes and boxes that stand in cells.
    """
    merged = Merged()
    number = 1
    for row, header in _rows(table):
        many = _number(row, "rows-repeated", _MOST_ROWS)
        cells, begin = _cells(row, headings, inner, header=header)
        if cells:
            for i in range(min(many, _MOST_REPEATED)):
                yield number + i, merged.filled(number + i, cells, begin)
        number += many


def words_of(element: Any, behind: list[Any]) -> str:
    """The words of a paragraph, without remarks and what was deleted.

    Args:
        behind: gets the notes and the boxes that stand in it, whose words are no part of its own.
    """
    words: list[str] = []
    # An element, or the words that stand behind one.
    waiting: list[Any] = [element]
    while waiting:
        one = waiting.pop()
        if isinstance(one, str):
            words.append(one)
            continue
        if not isinstance(one.tag, str) or one.tag in HIDDEN:
            continue
        if one.tag in _APART and next(one.iter(*_PARAGRAPHS), None) is not None:
            behind.append(one)
            continue
        if one.tag == _RUBY:
            base, reading = (one.find(f"{TEXT}ruby-{name}") for name in ("base", "text"))
            texts = [words_of(part, behind) if part is not None else "" for part in (base, reading)]
            words.append(with_reading(texts[0], texts[1]))
            continue
        if one.tag in _SPACES or one.tag == f"{TEXT}line-break":
            words.append(" " if one.tag in _SPACES else "\n")
        words.append(_MARKS.get(one.tag, "") + (one.text or ""))
        for child in reversed(one):
            waiting += (child.tail or "", child)
    return joined(words)


def _rows(table: Any) -> Iterator[tuple[Any, bool]]:
    """The rows of this table, and whether each stands among its headings."""
    for row in elements_in(table, lambda one: one.tag in _GROUPS):
        if row.tag == f"{TABLE}table-row":
            yield row, next(row.iterancestors(_HEADER_ROWS, f"{TABLE}table")).tag == _HEADER_ROWS


def _cells(
    row: Any, headings: frozenset[str], inner: list[Any], *, header: bool
) -> tuple[list[Cell], dict[int, tuple[int, int]]]:
    """The cells of a row up to the last with words, and over what they reach, by column."""
    cells: list[Cell] = []
    begin: dict[int, tuple[int, int]] = {}
    for cell in row:
        if cell.tag not in _CELLS:
            continue
        paragraphs = list(_paragraphs(cell, inner))
        words = "\n".join(words_of(one, inner) for one in paragraphs)
        named = {cell.get(f"{TABLE}style-name", "")} | {one.get(f"{TEXT}style-name", "") for one in paragraphs}
        rows, columns = _number(cell, "rows-spanned", _MOST_ROWS), _number(cell, "columns-spanned", MOST_COLUMNS)
        if rows > 1 or columns > 1:
            begin[len(cells)] = (rows, columns)
        shown = cell_of_lines(words, header and bool(words.strip()), bold=not headings.isdisjoint(named))
        cells += [shown] * min(_number(cell, "columns-repeated", MOST_COLUMNS), MOST_COLUMNS + 1 - len(cells))
    while cells and not cells[-1].text:
        cells.pop()
    return cells, begin


def _paragraphs(cell: Any, inner: list[Any]) -> Iterator[Any]:
    """The paragraphs of a cell, those in lists too, but not those of tables in it."""
    for child in elements_in(cell, lambda one: one.tag not in _CLOSED):
        if child.tag in _PARAGRAPHS:
            yield child
        elif child.tag == f"{TABLE}table":
            inner.append(child)


def _number(element: Any, what: str, most: int) -> int:
    """The number of rows or columns that an attribute tells, such as "rows-repeated"."""
    given = element.get(f"{TABLE}number-{what}", "1")
    return max(1, min(int(given), most)) if given.isdecimal() and len(given) < 10 else 1


# OpenDocument: text, spreadsheets and presentations of LibreOffice and others.

_MOST_DEPTH = 100


def parse_opendocument(stream: BinaryIO) -> Document:
    with open_zip(stream) as archive:
        if b"encryption-data" in part(archive, "META-INF/manifest.xml"):
            raise UnreadableError("it is encrypted with a password")
        root = parse_xml(part(archive, "content.xml"))
        meta = parse_xml(part(archive, "meta.xml")) if "meta.xml" in archive.namelist() else None
    body = next(root.iter(f"{OFFICE}body"), None)
    content = next(iter(body), None) if body is not None else None
    if content is None:
        raise UnreadableError("it has no content")
    sort = str(content.tag).removeprefix(OFFICE)
    writer = Writer({"spreadsheet": "cells", "presentation": "slide"}.get(sort))  # type: ignore[arg-type]
    if meta is not None:
        _take_meta(writer.document, meta)
    headings = heading_styles(root)
    _apply_styles(root)
    if sort == "spreadsheet":
        for table in content.iterchildren(f"{TABLE}table"):
            sheet = table.get(f"{TABLE}name", "")
            writer.heading(1, sheet)
            write_sheet(writer, numbered_rows(table, headings, []), sheet, Names.POSSIBLE)
    elif sort == "presentation":
        for number, page in enumerate(content.iter(f"{_DRAW}page"), 1):
            writer.at(number)
            _write_blocks(writer, page, headings, 0)
    else:
        _write_blocks(writer, content, headings, 0)
    return writer.done()


def _apply_styles(root: Any) -> None:
    """Mark what styles raise, and give letters of fonts of symbols as what they look like."""
    looks = {
        style.get(f"{_STYLE}name"): style.find(f"{_STYLE}text-properties") for style in root.iter(f"{_STYLE}style")
    }
    for span in list(root.iter(f"{TEXT}span")):
        look = looks.get(span.get(f"{TEXT}style-name"))
        if look is None:
            continue
        span.text = in_font(span.text or "", look.get(f"{_STYLE}font-name") or look.get(f"{_FO}font-family") or "")
        if mark := mark_of(look.get(f"{_STYLE}text-position", "")):
            span.tag = _MARKED_SPANS[mark]


def _write_blocks(writer: Writer, element: Any, headings: frozenset[str], depth: int) -> None:
    if depth > _MOST_DEPTH:
        raise UnreadableError(f"its elements are nested more than {_MOST_DEPTH} deep")
    for child in element:
        tag = child.tag
        if tag in HIDDEN or not isinstance(tag, str):
            continue
        behind: list[Any] = []
        if tag == f"{TEXT}h":
            level = child.get(f"{TEXT}outline-level", "1")
            writer.heading(int(level) if level.isdigit() else 1, words_of(child, behind))
        elif tag == f"{TEXT}p":
            writer.paragraph(words_of(child, behind))
        elif tag == f"{TABLE}table":
            waiting = [child]
            while waiting:  # no recursion: tables stand in tables as deep as the file says
                inner: list[Any] = []
                write_table(writer, [row for _, row in numbered_rows(waiting.pop(), headings, inner)])
                waiting += (one for one in reversed(inner) if one.tag == f"{TABLE}table")
                behind += (one for one in inner if one.tag != f"{TABLE}table")
        else:
            _write_blocks(writer, child, headings, depth + 1)
        for one in behind:
            _write_blocks(writer, one, headings, depth + 1)


def _take_meta(document: Document, meta: Any) -> None:
    for title in meta.iterfind(".//{*}title"):
        document.title = short_line(title.text)
    for author in meta.iterfind(".//{*}initial-creator"):
        document.details["author"] = short_line(author.text)
