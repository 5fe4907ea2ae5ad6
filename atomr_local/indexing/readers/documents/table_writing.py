"""Tables of documents as lines of their text, and sheets of spreadsheets with the cells of each row."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from atomr_local.indexing.readers.documents.document import Writer
from atomr_local.indexing.readers.tables.cells import Cell, column_name
from atomr_local.indexing.readers.tables.headings import Names
from atomr_local.indexing.readers.tables.lines import MOST_COLUMNS, Line, TableLines


def write_table(
    writer: Writer,
    rows: Sequence[Sequence[Cell]],
    *,
    places: Sequence[int | str] = (),
    names: Names = Names.POSSIBLE,
    caption: str = "",
) -> None:
    """The rows of a table in running text, with the names of its columns where it has them.

    Args:
        places: where each row stands; without them all stand at the place that the writer is at.
        names: whether the first row holds the names where nothing else tells.
        caption: stands before the rows.
    """
    writer.paragraph(" ".join(caption.split()))
    if all(len(row) < 2 for row in rows):  # for layout, or a frame
        for number, row in enumerate(rows):
            if places:
                writer.at(places[number])
            for cell in row:
                writer.paragraph(" ".join(cell.text.split()))
        return
    lines = TableLines(names)

    def put(found: Iterable[Line]) -> None:
        for line in found:
            if places:
                writer.at(places[line.number])
            writer.line(line.text)

    for number, row in enumerate(rows):
        put(lines.row(number, row))
    put(lines.end())
    _tell_left_out(writer, lines)


def write_sheet(writer: Writer, rows: Iterable[tuple[int, Sequence[Cell]]], sheet: str, names: Names) -> None:
    """A sheet: each row as a line at its cells, each table's title as a heading below the sheet's.

    Args:
        rows: with their numbers, from 1, in order; rows that are left out are empty.
        sheet: its name; "" of a file of rows alone.
    """
    lines = TableLines(names)
    table = 1

    def put(found: Iterable[Line]) -> None:
        nonlocal table
        for line in found:
            if line.table != table:
                table = line.table
                writer.heading(1, sheet)  # ends the heading of the table before
            first, last = (f"{column_name(column)}{line.number}" for column in (line.first, line.last))
            cells = first if first == last else f"{first}:{last}"
            writer.at(f"{sheet}!{cells}" if sheet else cells)
            if line.kind == "title" and sheet:
                writer.heading(2, line.text)
            else:
                writer.line(line.text)

    before = 0
    for number, row in rows:
        if number > before + 1:
            put(lines.row(number - 1, ()))
        put(lines.row(number, row))
        before = number
    put(lines.end())
    _tell_left_out(writer, lines)


def _tell_left_out(writer: Writer, lines: TableLines) -> None:
    if lines.left_out:
        cells = "1 cell" if lines.left_out == 1 else f"{lines.left_out} cells"
        writer.document.notes.append(
            f"{cells} beyond column {MOST_COLUMNS} of a table {'is' if lines.left_out == 1 else 'are'} left out"
        )
