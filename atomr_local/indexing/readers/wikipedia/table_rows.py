"""A table of a wiki page → lines, each a row with the names of its columns."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from atomr_local.indexing.readers.tables.cells import MOST_SPAN, Cell, markup_span, one_line, row_text, says_something
from atomr_local.indexing.readers.tables.headings import Names
from atomr_local.indexing.readers.tables.lines import TableLines

MOST_ROWS = 1_000
MOST_COLUMNS = 40
MOST_CELL = 600  # characters
MOST_TABLE = 100_000  # characters
_LONGEST_CELL = 100  # of a row of a table for layout
# The class by which every wiki marks tables of data.
_DATA_CLASSES = frozenset({"wikitable", "sortable", "prettytable"})
# Attributes of a cell whose end a template would have given.
_ATTRIBUTES = re.compile(
    r"""^\s*(?:(?:(?:col|row)span|style|class|(?:bg)?color|v?align|width|height|scope|data-sort-[a-z]+)\s*=\s*
    (?:"[^"]*"|'[^']*'|[^\s|"']+)\s*)+""",
    re.X | re.I,
)


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
        row.append(Cell(shown, header, markup_span(rowspan) or MOST_SPAN, markup_span(colspan) or 1))


def table_lines(table: Table) -> list[str]:
    """The rows, one a line, as documents have them: "Name: Ann; Born: 1912". What a limit leaves out is noted in
    `table.lost`.

    A cell that spans rows stands in each; a heading above several columns stands before the names of each. A heading
    across the table stands before each of the rows below it. Of tables for layout, cells of many words stand in lines
    of their own.
    """
    rows = [row for row in table.rows if any(says_something(cell.text) for cell in row)]
    if table.layout or table.attributes.get("role") == "presentation" or all(len(row) == 1 for row in rows):
        lines = _layout_lines(rows)
    else:
        lines = _data_lines(rows, table.lost, marked=not _DATA_CLASSES.isdisjoint(table.classes))
    kept: list[str] = []
    size = 0
    for line in lines:
        size += len(line) + 1
        if size > MOST_TABLE:
            table.lost["table rows"] += 1
        else:
            kept.append(line)
    return kept


def _data_lines(rows: Sequence[Sequence[Cell]], lost: Counter[str], *, marked: bool) -> Iterator[str]:
    """The lines of a table of data.

    Args:
        marked: its class says so; its first row may then hold the names of its columns though it is not marked.
    """
    lines = TableLines(Names.EXPECTED if marked and len(rows) > 2 else Names.UNLIKELY, MOST_COLUMNS)
    for number, row in enumerate(rows, 1):
        yield from (line.text for line in lines.row(number, row))
    yield from (line.text for line in lines.end())
    lost["table cells"] += lines.left_out


def _layout_lines(rows: Sequence[Sequence[Cell]]) -> Iterator[str]:
    for row in rows:
        if any(len(cell.text) > _LONGEST_CELL for cell in row):
            yield from (cell.text for cell in row if says_something(cell.text))
        else:
            yield _labelled_text(row)


def _labelled_text(row: Sequence[Cell]) -> str:
    """A row whose first cell may be a heading of the others."""
    rest = row_text((), [cell.text for cell in row[1:]])
    return f"{row[0].text}: {rest}" if row[0].header and row[0].text and rest else row_text((), [c.text for c in row])
