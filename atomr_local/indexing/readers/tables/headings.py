"""Which rows of a table hold the names of its columns, and whether its first column names what the second one says.

Marks of the document decide where it has them. Else the kinds of the values do: in a table with headings a column of
numbers, amounts or dates has a name above it that is none; in one of labels and values, each row has a value of its
own kind.
"""

from __future__ import annotations

import re
import textwrap
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from atomr_local.indexing.readers.tables.cells import Place, Row
from atomr_local.language.months import MONTH

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
    if len(columns) == 2 and _ends_in_colons(rows, columns[0]):
        return Layout(labels=True, sure=True)
    if _is_emphasised(rows):
        taken = _unmarked_rows(rows)
        return Layout(taken, names_of(rows[:taken]), sure=True)
    if len(columns) == 2 and (found := _of_two_columns(rows, columns, names)) is not None:
        return found
    return _by_first_row(rows, columns, names)


def _ends_in_colons(rows: Sequence[Row], column: int) -> bool:
    """Whether most cells of the column end as labels do."""
    return len(rows) > 1 and 2 * sum(_at(row, column).text.endswith(":") for row in rows) > len(rows)


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
    emphasised = all(_at(row, columns[0]).emphasised and not _at(row, columns[1]).emphasised for row in rows)
    if emphasised:
        return labelled
    below = [kind_of(value) for value in values[1:] if value]
    if values[0] and kind_of(values[0]) and not (_YEAR.fullmatch(values[0]) and _is_of_one_kind(below)):
        return labelled
    if len(rows) == 1 or _is_of_one_kind(below):
        return None
    if names is not Names.POSSIBLE:
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
