"""Cells of a table at their places: what spans rows or columns stands wherever it reaches."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

MOST_SPAN = 1_000  # rows or columns of one cell
_WORDS = re.compile(r"\w")
_SPAN = re.compile(r"\s*(\d{1,4})")
_LONGEST_ITEM = 40  # characters; "Ann Lee Jr." is no sentence
# A line that goes on with the one before it, which no comma parts.
_GOES_ON = re.compile(r"[(\[–—/&,;:.]")


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell as its row has it.

    Attributes:
        header: the document marks it as a heading, of a column or of its row.
        emphasised: it looks like one: its words are bold.
        rowspan: rows that it reaches over, from 1; `colspan` likewise.
    """

    text: str
    header: bool = False
    rowspan: int = 1
    colspan: int = 1
    emphasised: bool = False


@dataclass(frozen=True, slots=True)
class Place:
    """What stands at a place of the grid.

    Attributes:
        own: the cell begins in this column.
        goes_on: it reaches into the next row.
    """

    text: str = ""
    header: bool = False
    own: bool = True
    goes_on: bool = False
    emphasised: bool = False

    @property
    def shown(self) -> str:
        """Its text, once for all columns that it reaches over."""
        return self.text if self.own else ""


@dataclass(frozen=True, slots=True)
class Row:
    """A row of the grid; `number` is its own, as the document counts."""

    number: int
    places: tuple[Place, ...]

    @property
    def filled(self) -> list[int]:
        """The columns in which a cell with text begins."""
        return [column for column, place in enumerate(self.places) if place.own and place.text]

    @property
    def empty(self) -> bool:
        return not any(place.text for place in self.places)


class Grid:
    """Puts the cells of one row after the other at their columns.

    Args:
        most_columns: what is beyond is counted in `left_out` only.

    Attributes:
        left_out: cells beyond the last column.
    """

    def __init__(self, most_columns: int) -> None:
        self.left_out = 0
        self._most = most_columns
        # Column → how many further rows the cell above reaches into, and what stands there.
        self._reaching: dict[int, tuple[int, Place]] = {}

    def row(self, number: int, cells: Sequence[Cell]) -> Row:
        """The next row."""
        places: list[Place] = []
        waiting = list(reversed(cells))
        while waiting or len(places) in self._reaching:
            column = len(places)
            if column >= self._most:
                self.left_out += sum(bool(cell.text) for cell in waiting)
                break
            if column in self._reaching:
                places.append(self._from_above(column))
                continue
            self._put(waiting.pop(), places)
        for column in [column for column in sorted(self._reaching) if column > len(places)]:
            places += [Place()] * (column - len(places))
            places.append(self._from_above(column))
        return Row(number, tuple(places))

    def _put(self, cell: Cell, places: list[Place]) -> None:
        column = len(places)
        for i in range(max(1, min(cell.colspan, self._most - column))):
            if column + i in self._reaching:  # overlapping spans are an error of the document: the one above stays
                break
            place = Place(cell.text, cell.header, i == 0, cell.rowspan > 1, cell.emphasised)
            places.append(place)
            if place.goes_on:
                self._reaching[column + i] = (cell.rowspan - 1, place)

    def _from_above(self, column: int) -> Place:
        left, place = self._reaching.pop(column)
        if left > 1:
            self._reaching[column] = (left - 1, place)
            return place
        return replace(place, goes_on=False)


def markup_span(given: str) -> int:
    """What an attribute of HTML says of rows or columns that a cell reaches over; 1 where it says nothing."""
    found = _SPAN.match(given)
    return int(found[1]) if found else 1


def says_something(text: str) -> bool:
    """Whether there is a letter or a digit in it."""
    return _WORDS.search(text) is not None


def one_line(text: str, between: str, *, sentences: bool = False) -> str:
    """The text on one line, `between` where lines that say something met.

    Args:
        sentences: a long line that ends as a sentence does is followed by a space alone.
    """
    lines = [" ".join(line.split()) for line in text.split("\n")]
    shown = before = ""
    for line in filter(None, lines):
        if shown:
            ended = sentences and len(before) > _LONGEST_ITEM and before[-1] in ".!?。"
            shown += " " if ended or _GOES_ON.match(line) or shown[-1] in ",;:–—/" else between
        shown += line
        before = line
    return shown


def row_text(headings: Sequence[str], values: Sequence[str]) -> str:
    """A row of a table as a sentence: "Name: Ann; Born: 1912"."""
    parts = []
    for i, value in enumerate(values):
        if value := " ".join(value.split()):
            name = headings[i] if i < len(headings) else ""
            parts.append(f"{name}: {value}" if name else value)
    return "; ".join(parts)


def column_name(index: int) -> str:
    """The letters of a column, counted from 0: A, B, …, Z, AA."""
    name = ""
    index += 1
    while index:
        index, rest = divmod(index - 1, 26)
        name = chr(65 + rest) + name
    return name


class Merged:
    """Gives the rows of a sheet, which come with their numbers, the values of merged cells that reach into them."""

    def __init__(self) -> None:
        # Column → the last row of the cell that reaches down there, and the cell.
        self._open: dict[int, tuple[int, Cell]] = {}

    def filled(self, number: int, cells: Sequence[Cell], begin: Mapping[int, tuple[int, int]]) -> list[Cell]:
        """The row's cells with those from above, and with what cells reach over in the row itself.

        Args:
            cells: one for each column, empty where another covers it.
            begin: column from 0 → over how many rows and columns the cell there reaches.
        """
        row = list(cells)
        for column, (until, cell) in list(self._open.items()):
            if until < number:
                del self._open[column]
            elif column < len(row) and not row[column].text:
                row[column] = cell
        for column, (rows, columns) in begin.items():
            if column >= len(row) or not row[column].text:
                continue
            cell = row[column]
            if rows > 1:
                for i in range(columns):
                    self._open[column + i] = (number + rows - 1, cell if i == 0 else Cell(""))
            if columns > 1:
                row[column] = replace(cell, colspan=columns)
        return _without_covered(row)


def _without_covered(row: Sequence[Cell]) -> list[Cell]:
    """The cells of a row without the empty ones that others reach over."""
    kept: list[Cell] = []
    covered = 0
    for cell in row:
        if covered and not cell.text:
            covered -= 1
            continue
        if covered:  # the document says that a cell is covered, and gives it words
            kept[-1] = replace(kept[-1], colspan=kept[-1].colspan - covered)
        kept.append(cell)
        covered = cell.colspan - 1
    return kept
