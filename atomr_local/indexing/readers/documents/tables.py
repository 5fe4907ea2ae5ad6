"""Spreadsheets of Excel: rows with the names of their columns, each with its cells."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date, datetime, time
from typing import Any, BinaryIO

from atomr_local.indexing.readers.documents.document import (
    Document,
    Writer,
    office_file,
    short_line,
    write_sheet,
)
from atomr_local.indexing.readers.tables import Cell, Merged, Names

_MOST_MERGED = 100_000  # ranges of a sheet
_MERGED = re.compile(rb'<(?:\w+:)?mergeCell\s[^>]*?ref="([A-Z]{1,3})(\d{1,7}):([A-Z]{1,3})(\d{1,7})"')
_READ_AT_ONCE = 1 << 20
_LITERAL = re.compile(r'"[^"]*"|\\.')  # of a format: what stands there as it is
_ZEROS = re.compile("0{2,20}")  # a format that shows the zeros in front, such as of postal codes
_LONGEST_TAG = 200  # bytes of what names a range


def parse_xlsx(stream: BinaryIO) -> Document:
    from openpyxl import load_workbook

    writer = Writer("cells")
    with office_file(stream, "spreadsheet", most=None) as usual:
        book = load_workbook(usual, read_only=True, data_only=True, keep_links=False)
        writer.document.title = short_line(book.properties.title)
        for sheet in book.worksheets:
            writer.heading(1, sheet.title)
            write_sheet(writer, _rows(sheet), sheet.title, Names.POSSIBLE)
    return writer.done()


def _rows(sheet: Any) -> Iterator[tuple[int, list[Cell]]]:
    """The rows that have values, with their numbers; a merged cell has its value in each of its rows."""
    merged = Merged()
    ranges = _merged_ranges(sheet)
    sheet.reset_dimensions()  # many programs write others than the sheet has
    for number, row in enumerate(sheet.iter_rows(), 1):
        cells = [_of_sheet(one) for one in row]
        while cells and not cells[-1].text:
            cells.pop()
        if cells:
            yield number, merged.filled(number, cells, ranges.pop(number, {}))


def _merged_ranges(sheet: Any) -> dict[int, dict[int, tuple[int, int]]]:
    """Row → column from 0 → over how many rows and columns the cell there reaches.

    openpyxl passes them over where it reads a sheet row by row; they stand behind the rows.
    """
    from openpyxl.utils import column_index_from_string

    found: dict[int, dict[int, tuple[int, int]]] = {}
    kept = 0
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
            before = data[max(end, len(data) - _LONGEST_TAG) :]
    return found


def _of_sheet(cell: Any) -> Cell:
    value = cell.value
    if value is None:
        return _EMPTY
    if isinstance(value, str):
        return Cell(" ".join(value.split()), emphasised=bool(cell.font and cell.font.b))
    return Cell(_shown(value, cell))


_EMPTY = Cell("")


def _shown(value: object, cell: Any) -> str:
    if isinstance(value, datetime):
        return value.date().isoformat() if value.time() == time() else value.isoformat(sep=" ")
    if isinstance(value, date | time):
        return value.isoformat()
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    shape = _LITERAL.sub("", str(cell.number_format))
    if "%" in shape:
        return f"{_number(round(value * 100, 6))}%"
    if _ZEROS.fullmatch(shape) and float(value).is_integer():
        return f"{int(value):0{len(shape)}d}"
    return _number(value)


def _number(value: float) -> str:
    """A number as Excel keeps it: with 15 digits, so that sums show no traces of binary fractions."""
    if isinstance(value, int):
        return str(value)
    return str(int(value)) if value.is_integer() else str(float(f"{value:.15g}"))
