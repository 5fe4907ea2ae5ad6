"""CSV and spreadsheets: rows with the names of their columns, each with its cells."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from datetime import date, datetime, time
from io import StringIO
from itertools import chain
from typing import Any, BinaryIO

from atomr_local.indexing.readers.documents.document import (
    Document,
    UnreadableError,
    Writer,
    heading_row,
    row_text,
)
from atomr_local.indexing.readers.documents.encoding import decoded
from atomr_local.indexing.readers.documents.text_file import read_bytes
from atomr_local.indexing.readers.documents.zip_limits import open_zip

_MOST_COLUMNS = 500
_SNIFFED = 1 << 16
_CSV_FIELD = 1 << 20


def parse_csv(stream: BinaryIO) -> Document:
    text = decoded(read_bytes(stream))
    csv.field_size_limit(_CSV_FIELD)
    try:
        dialect: Any = csv.Sniffer().sniff(text[:_SNIFFED], delimiters=",;\t|")
    except csv.Error:
        dialect = csv.excel_tab if text[:_SNIFFED].count("\t") > text[:_SNIFFED].count(",") else csv.excel
    writer = Writer("cells")
    try:
        write_rows(writer, (row[:_MOST_COLUMNS] for row in csv.reader(StringIO(text, newline=""), dialect)))
    except csv.Error as error:
        raise UnreadableError(f"its rows cannot be told apart: {error}") from error
    return writer.done()


def parse_xlsx(stream: BinaryIO) -> Document:
    from openpyxl import load_workbook

    with open_zip(stream):
        stream.seek(0)
    writer = Writer("cells")
    try:
        book = load_workbook(stream, read_only=True, data_only=True, keep_links=False)
        writer.document.title = " ".join(str(book.properties.title or "").split())[:300]
        for sheet in book.worksheets:
            writer.heading(1, sheet.title)
            rows = ([_cell_text(value) for value in row[:_MOST_COLUMNS]] for row in sheet.iter_rows(values_only=True))
            write_rows(writer, rows, sheet.title)
    except UnreadableError:
        raise
    except Exception as error:  # openpyxl raises whatever the damaged XML leads to
        raise UnreadableError(f"its spreadsheet is damaged: {type(error).__name__}: {error}") from error
    return writer.done()


def write_rows(writer: Writer, rows: Iterator[list[str]], sheet: str = "") -> None:
    """A table whose rows are counted from 1: each as a line at its cells."""
    numbered = ((number, row) for number, row in enumerate(rows, 1) if any(cell.strip() for cell in row))
    first = next(numbered, None)
    if first is None:
        return
    second = next(numbered, None)
    headings = heading_row([first[1], second[1]]) if second is not None else []
    shown = [] if headings else [first]
    shown += [second] if second is not None else []
    for number, row in chain(shown, numbered):
        _write_row(writer, headings, number, row, sheet)


def _write_row(writer: Writer, headings: list[str], number: int, row: list[str], sheet: str) -> None:
    last = max(i for i, cell in enumerate(row) if cell.strip())
    cells = f"A{number}:{column_name(last)}{number}" if last else f"A{number}"
    writer.at(f"{sheet}!{cells}" if sheet else cells)
    writer.line(row_text(headings, row))


def column_name(index: int) -> str:
    """The letters of a column, counted from 0: A, B, …, Z, AA."""
    name = ""
    index += 1
    while index:
        index, rest = divmod(index - 1, 26)
        name = chr(65 + rest) + name
    return name


def _cell_text(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, datetime):
        return value.date().isoformat() if value.time() == time() else value.isoformat(sep=" ")
    if isinstance(value, date | time):
        return value.isoformat()
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)
