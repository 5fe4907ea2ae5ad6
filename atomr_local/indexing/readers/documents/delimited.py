"""Files of delimited values (CSV): their rows by the delimiter by which most get equally wide (RFC 4180)."""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from io import StringIO
from itertools import chain, islice
from operator import itemgetter
from typing import Any, BinaryIO

from atomr_local.indexing.readers.documents.document import Document, UnreadableError, Writer, write_sheet
from atomr_local.indexing.readers.documents.text_file import read_bytes
from atomr_local.indexing.readers.lines import decoded
from atomr_local.indexing.readers.tables import MOST_COLUMNS, Cell, Grid, Names, kind_of, layout_of

_SNIFFED = 1 << 16
_CSV_FIELD = 1 << 20
_DELIMITERS = ";\t|,"  # among equals, commas are likelier in the fields than between them
# What Excel takes for a wish of the file, and not for a row.
_WISH = re.compile(r'"?sep=([^"\'\w\n])"?[ \t;,]*(?:\n|\Z)', re.I)
_ESCAPED = re.compile(r'\\([\\"])')
_MOST_ABOVE = 50  # lines above the names of the columns
_LOOKED_AT = 20  # rows that tell whether names stand above them
_LONGEST_TITLE = 200
_EMPTY = Cell("")
_Numbered = tuple[int, list[Cell]]


def parse_csv(stream: BinaryIO) -> Document:
    text = decoded(read_bytes(stream))
    csv.field_size_limit(_CSV_FIELD)
    if wish := _WISH.match(text):
        text = text[wish.end() :]
    dialect = _dialect(text, wish[1] if wish else "")
    if dialect.pop("escapechar", ""):  # other backslashes stay
        text = _ESCAPED.sub(lambda found: '""' if found[1] == '"' else "\\", text)
    writer = Writer("cells")
    read = csv.reader(StringIO(text, newline=""), **dialect)
    rows = enumerate(([_cell(field) for field in row] for row in read), 1)
    try:
        first = list(islice(rows, _MOST_ABOVE + _LOOKED_AT))
        above = _above_names(first)
        _write_above(writer, first[:above])
        write_sheet(writer, chain(first[above:], rows), "", Names.EXPECTED)
    except csv.Error as error:
        raise UnreadableError(f"its rows cannot be told apart: {error}") from error
    return writer.done()


def _dialect(text: str, wished: str) -> dict[str, Any]:
    """How the fields are told apart, as :func:`csv.reader` takes it.

    Args:
        wished: the delimiter that the file asks for; "" if it does not.
    """
    sample = text[:_SNIFFED]
    cut = len(sample) < len(text)
    lines = [line for line in sample.split("\n") if line.strip()]
    found: list[tuple[tuple[float, int, int], dict[str, Any]]] = []
    for delimiter in wished or _DELIMITERS:
        if not wished and delimiter not in sample:
            continue
        for order, quoting in enumerate(_quotings(sample, lines, delimiter)):
            dialect = {"delimiter": delimiter, "skipinitialspace": delimiter != " ", **quoting}
            evenness, width = _evenness(sample, dialect, cut=cut)
            found.append(((evenness, -order, width), dialect))
    return max(found, key=itemgetter(0))[1] if found else {"delimiter": ",", "skipinitialspace": True}


def _quotings(sample: str, lines: Sequence[str], delimiter: str) -> Iterator[dict[str, Any]]:
    """The ways in which fields may be quoted, the likeliest first. An apostrophe alone quotes nothing."""
    if '"' not in sample and all(line.startswith("'") and f"'{delimiter}" in line for line in lines):
        yield {"quotechar": "'"}
    yield {}
    if '\\"' in sample:
        yield {"escapechar": "\\"}
    if '"' in sample:
        yield {"quoting": csv.QUOTE_NONE}


def _evenness(sample: str, dialect: dict[str, Any], *, cut: bool) -> tuple[float, int]:
    """The share of rows that are of the usual width, less where a field holds another delimiter, and this width.

    Args:
        cut: the last row may be incomplete.
    """
    try:
        rows = [row for row in csv.reader(StringIO(sample, newline=""), **dialect) if any(map(str.strip, row))]
    except csv.Error:
        return -1.0, 0
    rows = rows[:-1] if cut and len(rows) > 1 else rows
    widths = Counter(len(row) for row in rows if len(row) > 1)
    if not widths:
        return -1.0, 0
    width, even = max(widths.items(), key=lambda item: (item[1], item[0]))
    others = set(_DELIMITERS) - {dialect["delimiter"]}
    mixed = sum(any(others & set(field) and not kind_of(field.strip()) for field in row) for row in rows)
    return (even - mixed / 2) / len(rows), width


def _above_names(rows: Sequence[_Numbered]) -> int:
    """How many rows stand above the names of the columns: narrower ones, such as a title and what the file is about."""
    widths = Counter(_width(cells) for _, cells in rows if _width(cells) > 1)
    if not widths:
        return 0
    wide = max(widths.items(), key=lambda item: (item[1], item[0]))[0]
    above = next((i for i, (_, cells) in enumerate(rows) if _width(cells) >= wide), 0)
    if not 0 < above <= _MOST_ABOVE:
        return 0
    if not _width(rows[above - 1][1]) or all(_width(cells) < 2 for _, cells in rows[:above]):
        return above  # an empty row parts them, or they have one cell each
    grid = Grid(MOST_COLUMNS)
    table = [grid.row(number, cells) for number, cells in rows[above : above + _LOOKED_AT] if _width(cells)]
    layout = layout_of(table, Names.EXPECTED, None)
    return above if layout.sure and layout.headings else 0


def _write_above(writer: Writer, rows: Sequence[_Numbered]) -> None:
    """The rows above the names of the columns: the title as a heading, others as labels and values."""
    filled = [(number, cells) for number, cells in rows if _width(cells)]
    if filled and _width(filled[0][1]) == 1 and len(filled[0][1][0].text) <= _LONGEST_TITLE:
        writer.document.title = filled.pop(0)[1][0].text.lstrip("# ")
        writer.heading(1, writer.document.title)
    write_sheet(writer, filled, "", Names.POSSIBLE)


def _width(cells: Sequence[Cell]) -> int:
    """The number of the last cell with words; 0 where there is none."""
    return max((i for i, cell in enumerate(cells, 1) if cell.text), default=0)


def _cell(text: str) -> Cell:
    return Cell(" ".join(text.split())) if text and not text.isspace() else _EMPTY
