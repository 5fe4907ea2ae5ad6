"""Rows of a table → lines with the names of their columns, for every format."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from atomr_local.indexing.readers.tables.cells import Cell, Grid, Row, row_text
from atomr_local.indexing.readers.tables.headings import Layout, Names, group_of, is_heading, layout_of, names_of

MOST_COLUMNS = 16_384  # as many as spreadsheets have
_LOOKED_AT = 30  # rows that tell how a table is read
_AT_ONCE = 40  # columns of a line; a wider row makes several, each with what its first column says
_LONGEST_TITLE = 200


@dataclass(frozen=True, slots=True)
class Line:
    """A line of text that a table gives.

    Attributes:
        number: of its row, as the document counts.
        first: the first column that it shows, from 0, and `last` the last.
        table: which table of the sheet, from 1.
        kind: "title" stands above a table, and is no row of it.
    """

    text: str
    number: int
    first: int = 0
    last: int = 0
    table: int = 1
    kind: Literal["row", "title"] = "row"


class TableLines:
    """Takes the rows of a table, or of a sheet with several, one after the other.

    An empty row may end a table: the next then has titles and headings of its own, or goes on with the columns above.
    A heading across the table stands before each row below it. A cell that spans rows stands in each.

    Args:
        names: whether the first row holds the names of the columns where nothing else tells.
        most_columns: what is beyond is counted in `left_out` only.
    """

    def __init__(self, names: Names = Names.POSSIBLE, most_columns: int = MOST_COLUMNS) -> None:
        self._names = names
        self._grid = Grid(most_columns)
        self._waiting: list[Row] = []
        self._layout: Layout | None = None  # of the table that is being read
        self._before: Layout | None = None  # of the one above an empty row
        self._headings: tuple[str, ...] = ()
        self._above: tuple[str, ...] = ()  # the names before these
        self._unused: list[Row] = []  # rows of names below which no other row stood yet
        self._group = ""
        self._group_used = True
        self._group_row = 0
        self._held: Row | None = None
        self._table = 0

    @property
    def left_out(self) -> int:
        """How many cells with text were beyond the last column."""
        return self._grid.left_out

    def row(self, number: int, cells: Sequence[Cell]) -> Iterator[Line]:
        """The lines that are told once this row is known."""
        yield from (replace(line, table=self._table) for line in self._take(number, cells))

    def end(self) -> Iterator[Line]:
        """The lines that are left."""
        yield from (replace(line, table=self._table) for line in self._end_table())
        self._before = None

    def _take(self, number: int, cells: Sequence[Cell]) -> Iterator[Line]:
        row = self._grid.row(number, cells)
        if row.empty:
            yield from self._end_table()
        elif self._layout is not None:
            yield from self._next(row)
        else:
            self._waiting.append(row)
            if len(self._waiting) >= _LOOKED_AT:
                yield from self._begin()

    def _begin(self) -> Iterator[Line]:
        rows, self._waiting = self._waiting, []
        titles = _titles(rows)
        self._table += 1
        for i, row in enumerate(rows[:titles]):
            text = row.places[row.filled[0]].text
            column = row.filled[0]
            yield Line(text, row.number, column, column, kind="row" if i else "title")
        rows = rows[titles:]
        self._layout = layout_of(rows, self._names, None if titles else self._before)
        self._above, self._headings = (), self._layout.headings
        self._unused = rows[: self._layout.rows]
        for row in rows[self._layout.rows :]:
            yield from self._next(row)

    def _end_table(self) -> Iterator[Line]:
        if self._waiting:
            yield from self._begin()
        if self._held is not None:
            held, self._held = self._held, None
            yield from self._shown(held)
        yield from self._end_group()
        yield from self._names_alone()
        if self._layout is not None and (self._layout.headings or self._before is None):
            self._before = self._layout
        self._layout, self._headings = None, ()

    def _next(self, row: Row) -> Iterator[Line]:
        """The row before this one, which is known to be whole now."""
        held, self._held = self._held, row
        # What the next row says too needs no row of its own.
        if held is not None and not all(place.goes_on for place in held.places if place.text):
            yield from self._shown(held)

    def _shown(self, row: Row) -> Iterator[Line]:
        if (group := group_of(row)) is not None:
            yield from self._end_group()
            self._group, self._group_used, self._group_row = group, False, row.number
            return
        if is_heading(row) and sum(place.own for place in row.places) > 1:
            yield from self._names_alone()
            self._above, self._headings, self._unused = self._headings, names_of([row]), [row]
            return
        self._unused = []
        for line in self._lines(row):
            self._group_used = True
            text = f"{self._group}; {line.text}" if self._group else line.text
            yield Line(text, line.number, line.first, line.last)

    def _end_group(self) -> Iterator[Line]:
        """A heading across the table below which nothing stood, alone."""
        if not self._group_used:
            yield Line(self._group, self._group_row)
        self._group, self._group_used = "", True

    def _names_alone(self) -> Iterator[Line]:
        """Rows that were taken for names, and below which nothing stood."""
        rows, self._unused = self._unused, []
        for row in rows:
            yield from _pieces(row, self._above, row.filled)

    def _lines(self, row: Row) -> Iterator[Line]:
        filled = row.filled
        if not filled:
            return
        assert self._layout is not None
        if self._layout.labels:
            yield _labelled(row, filled)
        elif not self._headings:
            yield from _unnamed(row, filled)
        elif len(filled) == 1 and filled[0] == self._layout.columns[0] and len(self._layout.columns) > 2:
            # A remark, or a heading of the rows below it: it has no value of its own.
            yield Line(row.places[filled[0]].text, row.number, filled[0], filled[0])
        else:
            yield from _pieces(row, self._headings, filled)


def _titles(rows: Sequence[Row]) -> int:
    """How many rows at the beginning are titles: of one cell, above a row of several."""
    count = 0
    for row in rows:
        filled = row.filled
        if len(filled) != 1 or len(row.places[filled[0]].text) > _LONGEST_TITLE or group_of(row) is not None:
            break
        count += 1
    return count if count < len(rows) and len(rows[count].filled) > 1 else 0


def _labelled(row: Row, filled: Sequence[int]) -> Line:
    texts = [row.places[column].text for column in filled]
    first = texts[0].rstrip(": ") if len(texts) > 1 else texts[0]
    return Line(": ".join((first, row_text((), texts[1:]))) if texts[1:] else first, row.number, filled[0], filled[-1])


def _unnamed(row: Row, filled: Sequence[int]) -> Iterator[Line]:
    """A row without names of columns; where its headings stand before their values, with these."""
    if not row.places[filled[0]].header:
        yield from _pieces(row, (), filled)
        return
    parts: list[tuple[str, list[str]]] = []
    for column in filled:
        place = row.places[column]
        if place.header:
            parts.append((place.text, []))
        else:
            parts[-1][1].append(place.text)
    shown = (f"{label.rstrip(': ')}: {row_text((), values)}" if values else label for label, values in parts)
    yield Line("; ".join(shown), row.number, filled[0], filled[-1])


def _pieces(row: Row, headings: Sequence[str], filled: Sequence[int]) -> Iterator[Line]:
    """The row as a line, a wide one as several."""
    names = {column: headings[column] if column < len(headings) else "" for column in filled}
    for begin in range(0, len(filled), _AT_ONCE):
        columns = list(filled[begin : begin + _AT_ONCE])
        shown = [filled[0], *columns] if begin else columns
        text = row_text([names[column] for column in shown], [row.places[column].text for column in shown])
        yield Line(text, row.number, columns[0], columns[-1])
