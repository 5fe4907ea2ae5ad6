"""Which rows of a table hold the names of its columns, and whether its first column names what the second one says.

Marks of the document decide where it has them. Else the kinds of the values do: in a table with headings a column of
numbers, amounts or dates has a name above it that is none; in one of labels and values, each row has a value of its
own kind.
"""

from __future__ import annotations

import re
import textwrap
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from itertools import chain, groupby, islice, pairwise
from operator import itemgetter
from typing import Literal

from atomr_local.language.literals import MONTH

# Cells of a table at their places: what spans rows or columns stands wherever it reaches.

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

    @property
    def goes_on(self) -> bool:
        """Whether all that stands in it reaches into the next row."""
        return all(place.goes_on for place in self.places if place.text)


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


def markup_spans(attributes: Mapping[str, str]) -> tuple[int, int]:
    """What the attributes of a cell of HTML say of the rows and columns that it reaches over; 1 where they do not."""
    rows, columns = (_SPAN.match(attributes.get(name, "")) for name in ("rowspan", "colspan"))
    # A rowspan of 0 reaches to the end of the table.
    return (int(rows[1]) if rows else 1) or MOST_SPAN, (int(columns[1]) if columns else 1) or 1


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


def cell_of_lines(text: str, header: bool = False, rowspan: int = 1, colspan: int = 1, *, bold: bool = False) -> Cell:
    """A cell of a document, its lines put together."""
    words = one_line(text, " " if header else ", ", sentences=True)
    return Cell(words, header, rowspan, colspan, bold and bool(words))


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


LONGEST_HEADING = 80  # characters; it stands in every row
_HEADING_ROWS = 3
_LONGEST_NAME = 100
_LONGEST_LABEL = 60
_MOST_LABELS = 20  # rows of a table of labels and values that nothing but their number tells from others
_OF_ONE_KIND = 0.7  # of the values of a column
_FEW_YEARS = 2
_YEAR = re.compile(r"1[0-9]{3}|2[0-9]{3}")
_NUMBER = r"[-+−–±<>≈~]?\s?\d[\d.,'\u00a0\u202f ]*"
_SYMBOL = r"(?:[A-Z]{0,3}[$€£¥₹₽₩]|[A-Z]{3}(?=[ \d]))"
_AMOUNT = re.compile(
    rf"(?P<before>{_SYMBOL})?\s?\(?{_NUMBER}(?:(?:[-–—/×x]|to)\s?{_NUMBER})?\)?\s?(?P<unit>[^\W\d_][^\d]{{0,18}}|[%‰°€$£¥₹₽₩][^\d]{{0,3}})?"
)
_DATE = re.compile(
    rf"""\d{{1,4}}[-./]\d{{1,2}}[-./]\d{{1,4}}(?:[T\ ]\d{{1,2}}:\d{{2}}.*)?
    |(?:\d{{1,2}}(?:st|nd|rd|th|\.)?\s)?{MONTH}(?:\s\d{{1,2}},?)?\s\d{{3,4}}
    |\d{{1,2}}\.?\s[^\W\d_]{{3,12}}\.?\s\d{{4}}""",
    re.X,
)


class Names(Enum):
    """Whether the first row holds the names of the columns where neither marks nor values tell."""

    EXPECTED = "expected"  # as in a file of comma-separated values
    POSSIBLE = "possible"
    UNLIKELY = "unlikely"


@dataclass(frozen=True, slots=True)
class Layout:
    """How a table is read.

    Attributes:
        rows: at its beginning that hold names of columns.
        headings: the names of the columns; "" where there is none.
        labels: it has two columns of which the first names what the second says.
        sure: marks or values tell, not the usual way of tables alone.
        columns: that hold something.
        kinds: what the values of each column are, "" of texts.
    """

    rows: int = 0
    headings: tuple[str, ...] = ()
    labels: bool = False
    sure: bool = False
    columns: tuple[int, ...] = ()
    kinds: tuple[str, ...] = ()


def kind_of(text: str) -> str:
    """What a value is: "date", "number", "amount" with its unit behind, or "" of a text."""
    if len(text) > _LONGEST_LABEL:
        return ""
    if _DATE.fullmatch(text):
        return "date"
    found = _AMOUNT.fullmatch(text)
    if found is None:
        return ""
    unit = (found["before"] or found["unit"] or "").strip().casefold()
    return f"amount {unit}" if unit else "number"


def is_heading(row: Row) -> bool:
    """Whether every cell of the row is marked as a heading, of which one does not reach across the table alone."""
    filled = [place for place in row.places if place.text]
    return bool(filled) and all(place.header for place in filled) and group_of(row) is None


def group_of(row: Row) -> str | None:
    """A heading across several columns, which is one of the rows below it; None of other rows."""
    places = row.places
    alone = len(places) > 1 and places[0].header and sum(place.own for place in places) == 1
    return places[0].text.rstrip(": ") if alone and 0 < len(places[0].text) <= _LONGEST_NAME else None


def names_of(rows: Sequence[Row]) -> tuple[str, ...]:
    """The names of the columns: of several rows of headings all that stand above a column, each once."""
    width = max((len(row.places) for row in rows), default=0)
    above = (
        [row.places[column].text for row in rows if column < len(row.places) and row.places[column].text]
        for column in range(width)
    )
    # A colon ends the name where the row is written.
    names = (" ".join(dict.fromkeys(texts)).rstrip(": ") for texts in above)
    return tuple(textwrap.shorten(name, LONGEST_HEADING, placeholder=" …") for name in names)


def layout_of(rows: Sequence[Row], names: Names, before: Layout | None = None) -> Layout:
    """How the rows at the beginning of a table are read; none of them is empty.

    Args:
        names: decides where nothing else does.
        before: how the rows above an empty row were read, whose columns these may go on with.
    """
    columns = tuple(sorted({column for row in rows for column in row.filled}))
    kinds = tuple(_kind_of_column(rows[1:] or rows, column) for column in columns)
    own = _own_layout(rows, columns, names)
    own = Layout(own.rows, own.headings, own.labels, own.sure, columns, kinds)
    if before is None or not before.headings or (own.sure and not own.labels):
        return own
    values = [
        bool(kind_of(text))
        for column, kind in zip(before.columns, before.kinds, strict=True)
        if kind and (text := _at(rows[0], column).text)
    ]
    inside = set(columns) <= set(before.columns) and before.columns[:1] == columns[:1]
    # Where the table above has values of a kind, the row that follows the empty one has values too, or is of another.
    if inside and (any(values) if values or own.sure else True):
        return Layout(0, before.headings, columns=before.columns, kinds=before.kinds)
    return own


def _own_layout(rows: Sequence[Row], columns: Sequence[int], names: Names) -> Layout:
    marked = 0
    while marked < min(_HEADING_ROWS, len(rows) - 1) and is_heading(rows[marked]):
        marked += 1
    if marked:
        return Layout(marked, names_of(rows[:marked]), sure=True)
    if rows[0].places[columns[0]].header:  # each row says by its own cells what they are
        return Layout(sure=True)
    ending = sum(_at(row, columns[0]).text.endswith(":") for row in rows)
    if len(columns) == 2 and len(rows) > 1 and 2 * ending > len(rows):  # as labels do
        return Layout(labels=True, sure=True)
    if _is_emphasised(rows):
        taken = _unmarked_rows(rows)
        return Layout(taken, names_of(rows[:taken]), sure=True)
    if len(columns) == 2 and (found := _of_two_columns(rows, columns, names)) is not None:
        return found
    return _by_first_row(rows, columns, names)


def _is_emphasised(rows: Sequence[Row]) -> bool:
    """Whether the first row is bold, holds no values, and not all others are bold."""
    first = [rows[0].places[column] for column in rows[0].filled]
    if len(first) < 2 or not all(place.emphasised for place in first):
        return False
    values = [place.text for place in first if kind_of(place.text)]
    if values and not _are_years(values):
        return False
    return any(not row.places[column].emphasised for row in rows[1:] for column in row.filled)


def _of_two_columns(rows: Sequence[Row], columns: Sequence[int], names: Names) -> Layout | None:
    """Labels with values, if the table is such; None where it has headings, or nothing tells."""
    labels = [_at(row, columns[0]).text for row in rows]
    values = [_at(row, columns[1]).text for row in rows]
    if not _could_be_labels(labels):
        return None
    labelled = Layout(labels=True, sure=True)
    if all(_at(row, columns[0]).emphasised and not _at(row, columns[1]).emphasised for row in rows):
        return labelled
    below = [kind_of(value) for value in values[1:] if value]
    if values[0] and kind_of(values[0]) and not (_YEAR.fullmatch(values[0]) and _is_of_one_kind(below)):
        return labelled
    if len(rows) == 1 or _is_of_one_kind(below) or names is not Names.POSSIBLE:
        return None
    # Values of several kinds, or texts: of a short table its rows say no more than is there.
    return Layout(labels=True, sure=any(below)) if any(below) or len(rows) <= _MOST_LABELS else None


def _could_be_labels(texts: Sequence[str]) -> bool:
    """Whether each is filled, short, no value, and no other's."""
    plain = [text.rstrip(": ").casefold() for text in texts]
    return (
        len(set(plain)) == len(plain)
        and all(plain)
        and all(len(text) <= _LONGEST_LABEL and not kind_of(text) for text in texts)
    )


def _by_first_row(rows: Sequence[Row], columns: Sequence[int], names: Names) -> Layout:
    """The names of the columns in an unmarked first row, where it looks like them."""
    first = [_at(rows[0], column).text for column in columns]
    filled = [text for text in first if text]
    of_values = [text for text in filled if kind_of(text)]
    if len(rows) < 2 or len(filled) < 2 or any(len(text) > _LONGEST_NAME for text in filled):
        return Layout()
    taken = _unmarked_rows(rows)
    sure = _stands_out(rows[0], rows[taken:], columns)
    if of_values and not (sure and _are_years(of_values)):
        return Layout()
    # A name may be missing, mostly that of the first column; more only where values tell.
    whole = len(filled) >= len(first) - 1 and len(set(filled)) == len(filled) and names is not Names.UNLIKELY
    if 2 * len(filled) < len(first) or not (sure or whole):
        return Layout()
    return Layout(taken, names_of(rows[:taken]), sure=sure)


def _unmarked_rows(rows: Sequence[Row]) -> int:
    """How many rows hold names: one, and the next where a cell of the first reaches over several columns."""
    places = rows[0].places
    if len(rows) < 3 or all(place.own for place in places if place.text):
        return 1
    second = [rows[1].places[column].text for column in rows[1].filled]
    return 2 if len(second) > 1 and not any(kind_of(text) and not _YEAR.fullmatch(text) for text in second) else 1


def _stands_out(first: Row, others: Sequence[Row], columns: Sequence[int]) -> bool:
    """Whether the first row has a text, or a year, above values of one kind that are no such."""
    for column in columns:
        text = _at(first, column).text
        below = [_at(row, column).text for row in others]
        kinds = [kind_of(value) for value in below if value]
        if not text or not kinds or not _is_of_one_kind(kinds):
            continue
        if not kind_of(text) or (_YEAR.fullmatch(text) and not all(_YEAR.fullmatch(value) for value in below if value)):
            return True
    return False


def _are_years(texts: Sequence[str]) -> bool:
    """Whether they are years in order, as they stand above columns."""
    if len(texts) < _FEW_YEARS or not all(_YEAR.fullmatch(text) for text in texts):
        return False
    numbers = [int(text) for text in texts]
    return numbers in (sorted(set(numbers)), sorted(set(numbers), reverse=True))


def _is_of_one_kind(kinds: Sequence[str]) -> bool:
    """Whether most of them are of one kind, and no texts."""
    counts = Counter(kinds)
    most = max((counts[kind] for kind in counts if kind), default=0)
    return most > 0 and most >= _OF_ONE_KIND * len(kinds)


def _kind_of_column(rows: Sequence[Row], column: int) -> str:
    kinds = [kind_of(text) for row in rows if (text := _at(row, column).text)]
    return Counter(kinds).most_common(1)[0][0] if _is_of_one_kind(kinds) else ""


def _at(row: Row, column: int) -> Place:
    return row.places[column] if column < len(row.places) else Place()


# Rows of a table → lines with the names of their columns, for every format.

MOST_COLUMNS = 16_384  # as many as spreadsheets have
_LOOKED_AT = 30  # rows that tell how a table is read
_AT_ONCE = 40  # columns of a line; a wider row makes several, each with what its first column says
_LONGEST_TITLE = 200
_LONGEST_UNTOLD = 24  # characters of the name of an empty column


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
    """Reads the rows of a table, or of a sheet with several, once.

    An empty row may end a table: the next then has titles and headings of its own, or goes on with the columns above.
    A heading across the table stands before each row below it. A cell that spans rows stands in each.

    Args:
        names: whether the first row holds the names of the columns where nothing else tells.
        most_columns: what is beyond is counted in `grid.left_out` only.
    """

    def __init__(self, names: Names = Names.POSSIBLE, most_columns: int = MOST_COLUMNS) -> None:
        self._names = names
        self.grid = Grid(most_columns)
        self._before: Layout | None = None  # of a table above

    def lines(self, rows: Iterable[tuple[int, Sequence[Cell]]]) -> Iterator[Line]:
        """The lines of the rows, each as soon as it is known.

        Args:
            rows: with their numbers in order; a row whose number is left out is empty.
        """
        for number, (_, table) in enumerate(groupby(self._numbered(rows), itemgetter(0)), 1):
            for line in self._of_table(row for _, row in table):
                yield replace(line, table=number)

    def _numbered(self, rows: Iterable[tuple[int, Sequence[Cell]]]) -> Iterator[tuple[int, Row]]:
        """The rows that are not empty, with how many empty ones stand above, where that ends a table."""
        above = before = 0
        for number, cells in rows:
            row = self.grid.row(number, cells)
            above += row.empty or number > before + 1
            before = number
            if not row.empty:
                yield above, row

    def _of_table(self, rows: Iterator[Row]) -> Iterator[Line]:
        first = list(islice(rows, _LOOKED_AT))
        titles = _titles(first)
        for i, row in enumerate(first[:titles]):
            column = row.filled[0]
            yield Line(row.places[column].text, row.number, column, column, kind="row" if i else "title")
        first = first[titles:]
        layout = layout_of(first, self._names, None if titles else self._before)
        if layout.headings or self._before is None:
            self._before = layout
        body = _Body(layout, first[: layout.rows])
        for one, following in pairwise(chain(first[layout.rows :], rows, (None,))):
            # What the next row says too needs no row of its own.
            if one is not None and (following is None or not one.goes_on):
                yield from body.row(one)
        yield from body.end()


class _Body:
    """The rows of one table, below those at its beginning that hold the names of its columns."""

    def __init__(self, layout: Layout, names: Sequence[Row]) -> None:
        self._layout = layout
        self._headings = layout.headings
        self._above: tuple[str, ...] = ()  # the names before these
        self._unused = names  # rows of names below which no other row stood yet
        self._names = names  # the last rows of names
        self._used: set[int] = set()  # columns whose names are told in full
        self._group = Line("", 0)  # the heading across the table
        self._group_used = True

    def row(self, row: Row) -> Iterator[Line]:
        """What is told once this row is known."""
        if (group := group_of(row)) is not None:
            yield from self._end_group()
            self._group, self._group_used = Line(group, row.number), False
        elif is_heading(row) and sum(place.own for place in row.places) > 1:
            yield from self._names_alone()
            self._above, self._headings = self._headings, names_of([row])
            self._unused = self._names = [row]
            self._used = set()
        else:
            self._unused = []
            for line in self._lines(row):
                self._group_used = True
                yield replace(line, text=f"{self._group.text}; {line.text}") if self._group.text else line

    def end(self) -> Iterator[Line]:
        """What is left."""
        yield from self._end_group()
        yield from self._names_alone()

    def _end_group(self) -> Iterator[Line]:
        """A heading across the table below which nothing stood, alone."""
        if not self._group_used:
            yield self._group

    def _names_alone(self) -> Iterator[Line]:
        """Rows that were taken for names, and below which nothing stood."""
        for row in self._unused:
            yield from _pieces(row, self._above, row.filled)
        for row in self._names if not self._unused else ():
            left = [column for column in row.filled if column not in self._used]
            # The name of an empty column says little, but what is as long as a sentence, or most of the row, does.
            most = 2 * len(left) > len(row.filled) > 1
            if said := [one for one in left if most or len(row.places[one].text) > _LONGEST_UNTOLD]:
                yield from _pieces(row, (), said)

    def _lines(self, row: Row) -> Iterator[Line]:
        filled = row.filled
        if not filled:
            return
        if self._layout.labels:
            yield _labelled(row, filled)
        elif not self._headings:
            yield from _unnamed(row, filled)
        elif len(filled) == 1 and filled[0] == self._layout.columns[0] and len(self._layout.columns) > 2:
            # A remark, or a heading of the rows below it: it has no value of its own.
            yield Line(row.places[filled[0]].text, row.number, filled[0], filled[0])
        else:
            cut = {column for column, name in enumerate(self._headings) if name.endswith(" …")}
            self._used.update({*filled} - cut)
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
