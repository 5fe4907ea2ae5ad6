"""Tables of OpenDocument files: their rows with numbers, merged cells, and what marks headings."""

from __future__ import annotations

import posixpath
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, BinaryIO

from atomr_local.indexing.readers.documents.document import (
    Document,
    UnreadableError,
    Writer,
    comment,
    elements_in,
    open_zip,
    parse_xml,
    part,
    short_line,
    whole,
    write_margins,
    write_sheet,
    write_table,
)
from atomr_local.indexing.readers.documents.symbols import (
    LEVEL,
    LOWERED,
    RAISED,
    in_font,
    joined,
    mark_of,
    numeral,
    with_reading,
)
from atomr_local.indexing.readers.tables import MOST_COLUMNS, Cell, Merged, Names, cell_of_lines, column_name

TEXT = "{urn:oasis:names:tc:opendocument:xmlns:text:1.0}"
TABLE = "{urn:oasis:names:tc:opendocument:xmlns:table:1.0}"
OFFICE = "{urn:oasis:names:tc:opendocument:xmlns:office:1.0}"
_STYLE = "{urn:oasis:names:tc:opendocument:xmlns:style:1.0}"
_FO = "{urn:oasis:names:tc:opendocument:xmlns:xsl-fo-compatible:1.0}"
_SVG = "{urn:oasis:names:tc:opendocument:xmlns:svg-compatible:1.0}"
_PAGE_NUMBERS = frozenset({f"{TEXT}page-number", f"{TEXT}page-count"})
HIDDEN = _PAGE_NUMBERS | {
    f"{TEXT}tracked-changes", f"{TEXT}note-citation", f"{_SVG}title", f"{_SVG}desc", f"{OFFICE}annotation-end",
}  # fmt: skip
_SPACES = frozenset({f"{TEXT}s", f"{TEXT}tab"})
_PARAGRAPHS = frozenset({f"{TEXT}p", f"{TEXT}h"})
_DRAW = "{urn:oasis:names:tc:opendocument:xmlns:drawing:1.0}"
_ANNOTATION = f"{OFFICE}annotation"
_APART = frozenset(
    {f"{TEXT}note", _ANNOTATION, *(f"{_DRAW}{name}" for name in ("frame", "custom-shape", "text-box", "g", "rect"))}
)
_RUBY = f"{TEXT}ruby"
# Spans whose style raises or lowers them, as they are called while they are read.
_MARKED_SPANS = {RAISED: f"{TEXT}raised", LOWERED: f"{TEXT}lowered"}
_MARKS = {tag: mark for mark, tag in _MARKED_SPANS.items()}
_CLOSED = _PARAGRAPHS | HIDDEN | _APART | {f"{TABLE}table"}
_CELL = "cell"  # an attribute of our own: of what stands in a cell of a sheet
_HEADER_ROWS = f"{TABLE}table-header-rows"
_GROUPS = frozenset({f"{TABLE}table-rows", f"{TABLE}table-row-group", _HEADER_ROWS})
_CELLS = frozenset({f"{TABLE}table-cell", f"{TABLE}covered-table-cell"})
_HEADING_STYLE = "Table_20_Heading"  # of LibreOffice and pandoc
_BOLD = frozenset({"bold", "700", "800", "900"})
_MOST_REPEATED = 1_000  # rows of the same words
_MOST_ROWS = 1 << 20  # that a sheet can have


def _heading_styles(root: Any) -> frozenset[str]:
    """The names of the styles in which the headings of tables are written: bold, or made of the one for that."""
    found = {_HEADING_STYLE}
    for style in root.iter(f"{_STYLE}style"):
        weights = {one.get(f"{_FO}font-weight") for one in style.iterfind(f"{_STYLE}text-properties")}
        if weights & _BOLD or style.get(f"{_STYLE}parent-style-name") == _HEADING_STYLE:
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
        many = _whole(row, f"{TABLE}number-rows-repeated")
        before = len(inner)
        cells, begin = _cells(row, headings, inner, header=header)
        for one in inner[before:]:
            one.set(_CELL, f"{one.get(_CELL, 'A')}{number}")
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
            parts = (one.iterfind(f"{TEXT}ruby-{name}") for name in ("base", "text"))
            words.append(with_reading(*("".join(words_of(part, behind) for part in found) for found in parts)))
            continue
        if one.tag in _SPACES or one.tag == f"{TEXT}line-break":
            words.append(" " if one.tag in _SPACES else "\n")
        words.append(_MARKS.get(one.tag, "") + (one.text or ""))
        for child in reversed(one):
            waiting += ((LEVEL if child.tag in _MARKS else "") + (child.tail or ""), child)
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
        before = len(inner)
        paragraphs = list(_paragraphs(cell, inner))
        words = "\n".join(words_of(one, inner) for one in paragraphs)
        for one in inner[before:]:
            one.set(_CELL, column_name(len(cells)))
        named = {cell.get(f"{TABLE}style-name", "")} | {one.get(f"{TEXT}style-name", "") for one in paragraphs}
        rows = _whole(cell, f"{TABLE}number-rows-spanned")
        columns = _whole(cell, f"{TABLE}number-columns-spanned", MOST_COLUMNS)
        if rows > 1 or columns > 1:
            begin[len(cells)] = (rows, columns)
        shown = cell_of_lines(words, header and bool(words.strip()), bold=not headings.isdisjoint(named))
        many = _whole(cell, f"{TABLE}number-columns-repeated", MOST_COLUMNS)
        cells += [shown] * min(many, MOST_COLUMNS + 1 - len(cells))
    while cells and not cells[-1].text:
        cells.pop()
    return cells, begin


def _paragraphs(cell: Any, inner: list[Any]) -> Iterator[Any]:
    """The paragraphs of a cell, those in lists too, but not those of tables in it."""
    for child in elements_in(cell, lambda one: one.tag not in _CLOSED):
        if child.tag in _PARAGRAPHS:
            yield child
        elif child.tag in _CLOSED - HIDDEN:
            inner.append(child)


def _whole(element: Any, name: str, most: int = _MOST_ROWS) -> int:
    """The number from 1 that an attribute tells."""
    return min(whole(element.get(name), digits=9) or 1, most)


# OpenDocument: text, spreadsheets and presentations of LibreOffice and others.

_MOST_DEPTH = 100
_MOST_OBJECTS = 1_000
_CHART = "{urn:oasis:names:tc:opendocument:xmlns:chart:1.0}"
_LINK = "{http://www.w3.org/1999/xlink}href"
_PRESENTATION = "{urn:oasis:names:tc:opendocument:xmlns:presentation:1.0}"


def parse_opendocument(stream: BinaryIO) -> Document:
    with open_zip(stream) as archive:
        if b"encryption-data" in part(archive, "META-INF/manifest.xml"):
            raise UnreadableError("it is encrypted with a password")
        root = parse_xml(part(archive, "content.xml"))
        meta, styles = (
            parse_xml(part(archive, name)) if name in archive.namelist() else None
            for name in ("meta.xml", "styles.xml")
        )
        _put_in_objects(archive, root)
    content = root.find(f".//{OFFICE}body/*")
    if content is None:
        raise UnreadableError("it has no content")
    sort = str(content.tag).removeprefix(OFFICE)
    writer = Writer({"spreadsheet": "cells", "presentation": "slide"}.get(sort))  # type: ignore[arg-type]
    if meta is not None:
        _take_meta(writer.document, meta)
    headings = _heading_styles(root)
    _apply_styles(root)
    _number_lists(content, (root, *(() if styles is None else (styles,))))
    if sort == "spreadsheet":
        for table in content.iterchildren(f"{TABLE}table"):
            if table.find(f"{TABLE}table-source") is None:  # of another file, from which some values come
                _write_sheet(writer, table, headings)
    elif sort == "presentation":
        for number, page in enumerate(content.iter(f"{_DRAW}page"), 1):
            writer.at(number)
            titles = page.findall(f"{_DRAW}frame[@{_PRESENTATION}class='title']")
            title = " ".join(words_of(one, []) for frame in titles for one in frame.iter(*_PARAGRAPHS))
            if title.strip() or writer.document.sections:  # the title before holds for its own slide
                writer.heading(1, title if title.strip() else f"Slide {number}")
            for frame in titles:
                page.remove(frame)
            _write_blocks(writer, page, headings, 0)
    else:
        _write_blocks(writer, content, headings, 0)
        if styles is not None:
            write_margins(writer, _margins(styles))
    return writer.done()


def _write_sheet(writer: Writer, table: Any, headings: frozenset[str]) -> None:
    """The rows of a sheet, and behind them the remarks, boxes and charts in it."""
    sheet = table.get(f"{TABLE}name", "")
    writer.heading(1, sheet)
    inner: list[Any] = []
    write_sheet(writer, numbered_rows(table, headings, inner), sheet, Names.POSSIBLE)
    for one in (*inner, *table.iterchildren(f"{TABLE}shapes")):
        writer.at(f"{sheet}!{one.get(_CELL, 'A1')}")
        _write_blocks(writer, [one], headings, 0)


def _margins(styles: Any) -> Iterator[tuple[str, bool]]:
    """The paragraphs of headers and footers, as of :func:`write_margins`."""
    names = (f"{_STYLE}{name}{which}" for name in ("header", "footer") for which in ("", "-first", "-left"))
    for margin in styles.iter(*names):
        for paragraph in margin.iter(*_PARAGRAPHS):
            yield words_of(paragraph, []), next(paragraph.iter(*_PAGE_NUMBERS), None) is not None


def _put_in_objects(archive: zipfile.ZipFile, root: Any) -> None:
    """Put the titles and the values of charts, and the words of formulas, where the document shows them."""
    names = set(archive.namelist())
    for shown in islice(list(root.iter(f"{_DRAW}object")), _MOST_OBJECTS):
        name = posixpath.normpath(f"{shown.get(_LINK, '')}/content.xml")
        inner = parse_xml(part(archive, name)) if name in names else shown
        for chart in inner.iter(f"{_CHART}chart"):
            titles = [line for title in chart.iter(f"{_CHART}title") for line in title.iter(f"{TEXT}p")]
            shown.extend((*titles, *chart.iterchildren(f"{TABLE}table")))
        for formula in inner.iter("{http://www.w3.org/1998/Math/MathML}annotation"):
            frame = shown.getparent()
            del frame[:]
            frame.tag, frame.text = f"{TEXT}span", f" {' '.join((formula.text or '').split())} "
            break


def _number_lists(content: Any, roots: Sequence[Any]) -> None:
    """Write the numbers that lists and headings show before their words."""
    levels: dict[tuple[str, int], Any] = {}
    for level in (one for root in roots for one in root.iter(f"{TEXT}list-level-style-number", _OUTLINE)):
        name = level.getparent().get(f"{_STYLE}name", "") if level.tag != _OUTLINE else ""
        levels.setdefault((name, _whole(level, f"{TEXT}level")), level)
    counts: dict[Any, int] = {}  # of each list
    ended: dict[str, int] = {}  # with which number the last list of a style has ended
    outline = [0] * _MOST_LEVELS
    for item in content.iter(f"{TEXT}list-item", f"{TEXT}h"):
        above = list(item.iterancestors(f"{TEXT}list"))
        if not above:
            name, depth, first = "", _whole(item, f"{TEXT}outline-level", _MOST_LEVELS), item
            outline = [*outline[: depth - 1], outline[depth - 1] + 1] + [0] * (_MOST_LEVELS - depth)
            numbers = outline[:depth]
        elif item.tag == f"{TEXT}list-item":
            name = next((style for one in above if (style := one.get(f"{TEXT}style-name"))), "-")
            depth, first = len(above), next(item.iterchildren(*_PARAGRAPHS), None)
            level = levels.get((name, depth))
            before = _whole(level, f"{TEXT}start-value") - 1 if level is not None else 0
            goes_on = above[0].get(f"{TEXT}continue-list") or above[0].get(f"{TEXT}continue-numbering") == "true"
            before = ended.get(name, before) if goes_on and depth == 1 else before
            own = item.get(f"{TEXT}start-value") is not None
            counts[above[0]] = _whole(item, f"{TEXT}start-value") if own else counts.get(above[0], before) + 1
            ended[name] = counts.get(above[-1], 0)
            numbers = [counts.get(one, 1) for one in reversed(above)]
        else:
            continue
        level = levels.get((name, depth))
        if level is None or not level.get(_FORMAT) or first is None or not "".join(first.itertext()).strip():
            continue
        shown = [
            numeral(numbers[at - 1], levels.get((name, at), level).get(_FORMAT, ""))
            for at in range(max(1, depth - _whole(level, f"{TEXT}display-levels") + 1), depth + 1)
        ]
        around = (level.get(f"{_STYLE}num-prefix", ""), ".".join(shown), level.get(f"{_STYLE}num-suffix", ""))
        first.text = f"{''.join(around).strip()} {first.text or ''}"


_MOST_LEVELS = 10
_OUTLINE = f"{TEXT}outline-level-style"
_FORMAT = f"{_STYLE}num-format"


def _apply_styles(root: Any) -> None:
    """Mark what styles raise, and give letters of fonts of symbols as what they look like."""
    named = {style.get(f"{_STYLE}name"): style for style in root.iter(f"{_STYLE}style")}
    for span in list(root.iter(f"{TEXT}span")):
        style = named.get(span.get(f"{TEXT}style-name"))
        if style is None or (look := style.find(f"{_STYLE}text-properties")) is None:
            continue
        span.text = in_font(span.text or "", look.get(f"{_STYLE}font-name") or look.get(f"{_FO}font-family") or "")
        if mark := mark_of(look.get(f"{_STYLE}text-position", "")):
            span.tag = _MARKED_SPANS[mark]


def _write_blocks(writer: Writer, element: Iterable[Any], headings: frozenset[str], depth: int) -> None:
    if depth > _MOST_DEPTH:
        raise UnreadableError(f"its elements are nested more than {_MOST_DEPTH} deep")
    for child in element:
        tag = child.tag
        if tag in HIDDEN or not isinstance(tag, str):
            continue
        if tag == _ANNOTATION:
            said = " ".join(words_of(one, []) for one in child.iter(*_PARAGRAPHS))
            writer.paragraph(comment(child.findtext("{*}creator", ""), " ".join(said.split())))
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
        _write_blocks(writer, behind, headings, depth + 1)


def _take_meta(document: Document, meta: Any) -> None:
    for title in meta.iterfind(".//{*}title"):
        document.title = short_line(title.text)
    for author in meta.iterfind(".//{*}initial-creator"):
        document.details["author"] = short_line(author.text)
