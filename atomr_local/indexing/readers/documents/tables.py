"""CSV and spreadsheets: rows with the names of their columns, each with its cells."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from datetime import date, datetime, time
from io import StringIO
from typing import Any, BinaryIO

from atomr_local.indexing.readers.documents.document import (
    Document,
    UnreadableError,
    Writer,
    office_file,
    write_sheet,
)
from atomr_local.indexing.readers.documents.text_file import read_bytes
from atomr_local.indexing.readers.lines import decoded
from atomr_local.indexing.readers.tables import Cell, Merged, Names

_SNIFFED = 1 << 16
_CSV_FIELD = 1 << 20
_MOST_MERGED = 100_000  # ranges of a sheet
_MERGED = re.compile(rb'<(?:\w+:)?mergeCell\s[^>]*?ref="([A-Z]{1,3})(\d{1,7}):([A-Z]{1,3})(\d{1,7})"')
_READ_AT_ONCE = 1 << 20
_LONGEST_TAG = 200  # bytes of what names a range


def parse_csv(stream: BinaryIO) -> Document:
    text = decoded(read_bytes(stream))
    csv.field_size_limit(_CSV_FIELD)
    try:
        dialect: Any = csv.Sniffer().sniff(text[:_SNIFFED], delimiters=",;\t|")
    except csv.Error:
        dialect = csv.excel_tab if text[:_SNIFFED].count("\t") > text[:_SNIFFED].count(",") else csv.excel
    writer = Writer("cells")
    rows = csv.reader(StringIO(text, newline=""), dialect)
    try:
        write_sheet(writer, enumerate(([_cell(text) for text in row] for row in rows), 1), "", Names.EXPECTED)
    except csv.Error as error:
        raise UnreadableError(f"its rows cannot be told apart: {error}") from error
    return writer.done()


def parse_xlsx(stream: BinaryIO) -> Document:
    from openpyxl import load_workbook

    writer = Writer("cells")
    with office_file(stream, "spreadsheet", most=None):
        book = load_workbook(stream, read_only=True, data_only=True, keep_links=False)
        writer.document.title = " ".join(str(book.properties.title or "").split())[:300]
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


def _cell(text: str) -> Cell:
    return Cell(" ".join(text.split())) if text and not text.isspace() else _EMPTY


_EMPTY = Cell("")


def _shown(value: object, cell: Any) -> str:
    if isinstance(value, datetime):
        return value.date().isoformat() if value.time() == time() else value.isoformat(sep=" ")
    if isinstance(value, date | time):
        return value.isoformat()
    if isinstance(value, int | float) and not isinstance(value, bool) and "%" in str(cell.number_format):
        return f"{round(value * 100, 6):g}%"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)
