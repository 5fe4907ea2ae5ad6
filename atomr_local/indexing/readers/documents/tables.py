"""Spreadsheets of Excel: rows with the names of their columns, each with its cells."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date, datetime, time, timedelta
from typing import Any, BinaryIO

from atomr_local.indexing.readers.documents.document import (
    Document,
    Writer,
    comment,
    office_file,
    parse_xml,
    part,
    short_line,
    write_sheet,
)
from atomr_local.indexing.readers.documents.symbols import FIRST_DAY, shown_number
from atomr_local.indexing.readers.tables import Cell, Merged, Names

_MOST_MERGED = 100_000  # ranges of a sheet
_MERGED = re.compile(rb'<(?:\w+:)?mergeCell\s[^>]*?ref="([A-Z]{1,3})(\d{1,7}):([A-Z]{1,3})(\d{1,7})"')
# A formula whose result is not kept; one that is an empty text is.
_UNCOUNTED = re.compile(
    rb'<c(?![^<>]*\st="str")[^<>]*>\s*<f(?:[^<>]*/>|[^<>]*>[^<]*</f>)\s*(?:<v\s*/>|<v></v>)?\s*</c>'
)
_READ_AT_ONCE = 1 << 20
_HOURS = re.compile(r"\[h+\]", re.I)
_LONGEST_TAG = 200  # bytes of what names a range


def parse_xlsx(stream: BinaryIO) -> Document:
    from openpyxl import load_workbook

    writer = Writer("cells")
    with office_file(stream, "spreadsheet", most=None) as usual:
        book = load_workbook(usual, read_only=True, data_only=True, keep_links=False)
        writer.document.title = short_line(book.properties.title)
        if "xl/styles.xml" not in book._archive.namelist():
            writer.document.notes.append("its formats cannot be read: dates and percents stand there as plain numbers")
        for sheet in book.worksheets:
            writer.heading(1, sheet.title)
            write_sheet(writer, _rows(sheet, writer.document.notes), sheet.title, Names.POSSIBLE)
            _write_beside(writer, book._archive, sheet._worksheet_path, sheet.title)
        for kind, chart in _related(book._archive, "xl/workbook.xml"):
            if kind == "chartsheet":
                writer.heading(1, "Chart")
                _write_beside(writer, book._archive, chart, "Chart")
    return writer.done()


def _related(archive: Any, path: str) -> Iterator[tuple[str, str]]:
    """The type and the path of each part that a part of the file refers to."""
    from openpyxl.packaging.relationship import get_dependents, get_rels_path

    path = path.lstrip("/")
    names = set(archive.namelist())
    if get_rels_path(path) in names:
        for relation in get_dependents(archive, get_rels_path(path)):
            if relation.target.lstrip("/") in names:
                yield relation.Type.rpartition("/")[2], relation.target.lstrip("/")


def _write_beside(writer: Writer, archive: Any, path: str, sheet: str) -> None:
    """The remarks, the charts and the words of shapes of a sheet."""
    from atomr_local.indexing.readers.documents.office import write_chart, write_shape_words

    for kind, target in _related(archive, path):
        if kind == "comments":
            root = parse_xml(part(archive, target))
            authors = [one.text or "" for one in root.iterfind("{*}authors/{*}author")]
            for one in root.iter("{*}comment"):
                number = one.get("authorId", "")
                author = authors[int(number)] if number.isdecimal() and int(number) < len(authors) else ""
                text = " ".join("".join(t.text or "" for t in one.iter("{*}t")).split())
                if author.startswith("tc="):  # a conversation, told again for programs that know none
                    author, text = "", text.partition("Comment: ")[2] or text
                writer.at(f"{sheet}!{one.get('ref', 'A1')}")
                writer.line(comment(author, text))
        elif kind == "drawing":
            writer.at(f"{sheet}!A1")
            write_shape_words(writer, parse_xml(part(archive, target)))
            for inner, chart in _related(archive, target):
                if inner == "chart":
                    write_chart(writer, parse_xml(part(archive, chart)))


def _rows(sheet: Any, notes: list[str]) -> Iterator[tuple[int, list[Cell]]]:
    """The rows that have values, with their numbers; a merged cell has its value in each of its rows."""
    merged = Merged()
    ranges, uncounted = _looked_through(sheet)
    if uncounted:
        notes.append(
            f"{uncounted} formulas of {short_line(sheet.title)} have no values: save it in a spreadsheet program"
        )
    sheet.reset_dimensions()  # many programs write others than the sheet has
    for number, row in enumerate(sheet.iter_rows(), 1):
        cells = [_of_sheet(one) for one in row]
        while cells and not cells[-1].text:
            cells.pop()
        if cells:
            yield number, merged.filled(number, cells, ranges.pop(number, {}))


def _looked_through(sheet: Any) -> tuple[dict[int, dict[int, tuple[int, int]]], int]:
    """Row → column from 0 → over how many rows and columns the cell there reaches; and the formulas without values.

    openpyxl passes both over where it reads a sheet row by row.
    """
    from openpyxl.utils import column_index_from_string

    found: dict[int, dict[int, tuple[int, int]]] = {}
    kept = uncounted = 0
    before = b""
    with sheet._get_source() as source:
        while (data := source.read(_READ_AT_ONCE)) and kept < _MOST_MERGED:
            data = before + data
            end = 0
            for match in _MERGED.finditer(data):
                end = match.end()
                first, last = (column_index_from_string(match[place].decode()) - 1 for place in (1, 3))
                rows = int(match[4]) - int(match[2]) + 1
                found.setdefault(int(match[2]), {})[first] = (rows, last - first + 1)
                kept += 1
            for match in _UNCOUNTED.finditer(data):
                end = max(end, match.end())
                uncounted += 1
            before = data[max(end, len(data) - _LONGEST_TAG) :]
    return found, uncounted


def _of_sheet(cell: Any) -> Cell:
    value = cell.value
    if value is None:
        return _EMPTY
    try:
        shape, bold = str(cell.number_format), bool(cell.font and cell.font.b)
    except IndexError:  # the file has no such style
        shape, bold = "General", False
    if isinstance(value, str):
        return Cell(" ".join(value.split()), emphasised=bold)
    return Cell(_shown(value, shape))


_EMPTY = Cell("")


def _shown(value: Any, shape: str) -> str:
    if _HOURS.search(shape) and isinstance(value, datetime | time):
        value = datetime.combine(FIRST_DAY, value) if isinstance(value, time) else value
        value -= FIRST_DAY
    if isinstance(value, timedelta):
        minutes, seconds = divmod(round(value.total_seconds()), 60)
        return f"{minutes // 60}:{minutes % 60:02}" + (f":{seconds:02}" if seconds or "s" in shape else "")
    if isinstance(value, datetime | time) and value.microsecond:  # they are kept as fractions of days
        moment = value if isinstance(value, datetime) else datetime.combine(FIRST_DAY, value)
        moment = moment.replace(microsecond=0) + timedelta(seconds=value.microsecond >= 500_000)
        value = moment if isinstance(value, datetime) else moment.time()
    if isinstance(value, datetime):
        return value.date().isoformat() if value.time() == time() else value.isoformat(sep=" ")
    if isinstance(value, date | time):
        return value.isoformat()
    return str(value) if isinstance(value, bool) else shown_number(str(value), shape)
