"""A table of a wiki page → lines, each a row with the names of its columns."""

from __future__ import annotations

import re
import textwrap
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from atomr_local.indexing.readers.documents.document import heading_row, row_text

MOST_ROWS = 1_000
MOST_COLUMNS = 40
MOST_CELL = 600  # characters
MOST_TABLE = 100_000  # characters
_MOST_SPAN = 1_000
_HEADING_ROWS = 3
_LONGEST_GROUP = 100
_LONGEST_HEADING = 80  # it stands in every row
# The class by which every wiki marks tables of data.
_DATA_CLASSES = frozenset({"wikitable", "sortable", "prettytable"})
_SPAN = re.compile(r"\s*(\d{1,4})")
# Attributes of a cell whose end a template would have given.
_ATTRIBUTES = re.compile(
    r"""^\s*(?:(?:(?:col|row)span|style|class|(?:bg)?color|v?align|width|height|scope|data-sort-[a-z]+)\s*=\s*
    (?:"[^"]*"|'[^']*'|[^\s|"']+)\s*)+""",
    re.X | re.I,
)
_WORDS = re.compile(r"\w")
# A line that goes on with the one before it, which no comma parts.
_GOES_ON = re.compile(r"[(\[–—/&,;:.]")


@dataclass(frozen=True, slots=True)
class Cell:
    text: str
    header: bool = False
    rowspan: int = 1
    colspan: int = 1


@dataclass(slots=True)
class Table:
    """A table as its page has it.

    Attributes:
        attributes: of its element.
        layout: it arranges other things on the page, such as tables.
        lost: what the limits left out, by its name in the plural.
    """

    attributes: Mapping[str, str] = field(default_factory=dict)
    layout: bool = False
    caption: str = ""
    rows: list[list[Cell]] = field(default_factory=list)
    lost: Counter[str] = field(default_factory=Counter)

    @property
    def classes(self) -> frozenset[str]:
        return frozenset(self.attributes.get("class", "").lower().split())

    @property
    def full(self) -> bool:
        """Whether no further row is taken."""
        return len(self.rows) >= MOST_ROWS

    def nest(self) -> None:
        """Note that a table stands within this one."""
        self.layout = self.layout or _DATA_CLASSES.isdisjoint(self.classes)

    def add(self, text: str, *, header: bool, rowspan: str = "", colspan: str = "") -> None:
        """A cell of the last row; the spans as the markup gives them."""
        if not self.rows:
            self.rows.append([])
        row = self.rows[-1]
        if len(row) >= MOST_COLUMNS:
            self.lost["table cells"] += 1
            return
        shown = one_line(_ATTRIBUTES.sub("", text), " " if header else ", ")
        if len(shown) > MOST_CELL:
            shown = f"{shown[:MOST_CELL].rsplit(' ', 1)[0]} …"
            self.lost["ends of table cells"] += 1
        # A rowspan of 0 reaches to the end of the table.
        row.append(Cell(shown, header, _span(rowspan) or _MOST_SPAN, _span(colspan) or 1))


@dataclass(frozen=True, slots=True)
class _Place:
    """What stands at a place of the grid.

    Attributes:
        own: the cell begins in this column.
        goes_on: it reaches into the next row.
    """

    text: str = ""
    header: bool = False
    own: bool = True
    goes_on: bool = False


def one_line(text: str, between: str) -> str:
    """The text on one line, `between` where lines that say something met."""
    lines = [" ".join(line.split()) for line in text.split("\n")]
    shown = ""
    for line in filter(None, lines):
        if shown:
            shown += " " if _GOES_ON.match(line) or shown[-1] in ",;:–—/" else between
        shown += line
    return shown


def table_lines(table: Table) -> list[str]:
    """The rows, one a line, as documents have them: "Name: Ann; Born: 1912". What a limit leaves out is noted in
    `table.lost`.

    A cell that spans rows stands in each; a heading above several columns stands before the names of each. A heading
    across the table stands before each of the rows below it. Of tables for layout, cells of many words stand in lines
    of their own.
    """
    rows = [row for row in table.rows if any(_WORDS.search(cell.text) for cell in row)]
    if table.layout or table.attributes.get("role") == "presentation" or all(len(row) == 1 for row in rows):
        lines = _layout_lines(rows)
    else:
        lines = _data_lines(_grid(rows, table.lost), marked=not _DATA_CLASSES.isdisjoint(table.classes))
    kept: list[str] = []
    size = 0
    for line in lines:
        size += len(line) + 1
        if size > MOST_TABLE:
            table.lost["table rows"] += 1
        else:
            kept.append(line)
    return kept


def _span(given: str) -> int:
    found = _SPAN.match(given)
    return int(found[1]) if found else 1


def _grid(rows: Sequence[Sequence[Cell]], lost: Counter[str]) -> list[list[_Place]]:
    """The rows with each cell at its columns, and in all rows that it spans."""
    grid = []
    # Column → how many further rows the cell above reaches into, and what stands there.
    reaching: dict[int, tuple[int, _Place]] = {}
    for row in rows:
        places: list[_Place] = []
        waiting = list(reversed(row))
        while waiting or len(places) in reaching:
            column = len(places)
            if column >= MOST_COLUMNS:
                lost["table cells"] += len(waiting)
                break
            if column in reaching:
                places.append(_from_above(reaching, column))
                continue
            cell = waiting.pop()
            for i in range(min(cell.colspan, MOST_COLUMNS - column)):
                if column + i in reaching:  # overlapping spans are an error of the page: the one above stays
                    break
                place = _Place(cell.text, cell.header, own=i == 0, goes_on=cell.rowspan > 1)
                places.append(place)
                if place.goes_on:
                    reaching[column + i] = (cell.rowspan - 1, place)
        for column in [column for column in sorted(reaching) if column > len(places)]:
            places += [_Place()] * (column - len(places))
            places.append(_from_above(reaching, column))
        grid.append(places)
    return grid


def _from_above(reaching: dict[int, tuple[int, _Place]], column: int) -> _Place:
    left, place = reaching.pop(column)
    if left > 1:
        reaching[column] = (left - 1, place)
        return place
    return replace(place, goes_on=False)


def _data_lines(grid: list[list[_Place]], *, marked: bool) -> Iterator[str]:
    """The lines of a table of data.

    Args:
        marked: its class says so; its first row may then hold the names of its columns though it is not marked.
    """
    first = 0
    while first < min(_HEADING_ROWS, len(grid) - 1) and _is_heading(grid[first]):
        first += 1
    headings = _headings(grid[:first])
    if not first and marked and len(grid) > 2:
        headings = heading_row([[place.text if place.own else "" for place in row] for row in grid[:2]])
        first = bool(headings)
    group, is_used = "", True
    for number, row in enumerate(grid[first:], first):
        if (text := _group(row)) is not None:
            if not is_used:
                yield group
            group, is_used = text, False
            continue
        if _is_heading(row) and sum(place.own for place in row) > 1:
            headings = _headings([row])
            continue
        line = _line(headings, row)
        # What the next row says too needs no row of its own.
        if line and not (number + 1 < len(grid) and all(place.goes_on for place in row if place.text)):
            is_used = True
            yield f"{group}; {line}" if group else line
    if not is_used:
        yield group


def _layout_lines(rows: Sequence[Sequence[Cell]]) -> Iterator[str]:
    for row in rows:
        if any(len(cell.text) > _LONGEST_GROUP for cell in row):
            yield from (cell.text for cell in row if _WORDS.search(cell.text))
        else:
            yield _line([], [_Place(cell.text, cell.header) for cell in row])


def _line(headings: list[str], row: list[_Place]) -> str:
    values = [place.text if place.own else "" for place in row]
    if not headings and row[0].header and row[0].text:
        rest = row_text([], values[1:])
        return f"{row[0].text}: {rest}" if rest else row[0].text
    return row_text(headings, values)


def _is_heading(row: list[_Place]) -> bool:
    filled = [place for place in row if place.text]
    return bool(filled) and all(place.header for place in filled) and _group(row) is None


def _group(row: list[_Place]) -> str | None:
    """A heading across several columns, which is one of the rows below it; None of other rows."""
    alone = len(row) > 1 and row[0].header and sum(place.own for place in row) == 1
    return row[0].text.rstrip(": ") if alone and 0 < len(row[0].text) <= _LONGEST_GROUP else None


def _headings(rows: list[list[_Place]]) -> list[str]:
    """The names of the columns: of several rows of headings all that stand above a column, each once."""
    width = max(map(len, rows), default=0)
    above = [[row[column].text for row in rows if column < len(row) and row[column].text] for column in range(width)]
    # A colon ends the name where the row is written.
    names = (" ".join(dict.fromkeys(texts)).rstrip(": ") for texts in above)
    return [textwrap.shorten(name, _LONGEST_HEADING, placeholder=" …") for name in names]
