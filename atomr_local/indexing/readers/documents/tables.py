"""Spreadsheets of Excel and files of delimited values: rows with the names of their columns, each with its cells."""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import date, datetime, time, timedelta
from io import StringIO
from itertools import chain, islice
from operator import itemgetter
from typing import Any, BinaryIO

from atomr_local.indexing.readers.documents.document import (
    Document,
    UnreadableError,
    Writer,
    comment,
    office_file,
    parse_xml,
    part,
    short_line,
    write_sheet,
)
from atomr_local.indexing.readers.documents.symbols import FIRST_DAY, shown_number
from atomr_local.indexing.readers.documents.text_file import read_text
from atomr_local.indexing.readers.tables import MOST_COLUMNS, Cell, Grid, Merged, Names, kind_of, layout_of

_MOST_MERGED = 100_000  # ranges of a sheet
_MERGED = re.compile(rb'<(?:\w+:)?mergeCell\s[^>]*?ref="([A-Z]{1,3})(\d{1,7}):([A-Z]{1,3})(\d{1,7})"')
# A formula whose result is not kept; one that is an empty text is.
_UNCOUNTED = re.compile(
    rb'<c(?![^<>]*\st="str")[^<>]*>\s*<f(?:[^<>]*/>|[^<>]*>[^<]*</f>)\s*(?:<v\s*/>|<v></v>)?\s*</c>'
)
_READ_AT_ONCE = 1 << 20
_HOURS = re.compile(r"\[h+\]", re.I)
_LONGEST_TAG = 200  # bytes of what names a range


def parse_xlsx(stream: BinaryIO) -> Document:
    from openpyxl import load_workbook

    writer = Writer("cells")
    with office_file(stream, "spreadsheet") as usual:
        book = load_workbook(usual, read_only=True, data_only=True, keep_links=False)
        writer.document.title = short_line(book.properties.title)
        if "xl/styles.xml" not in book._archive.namelist():
            writer.document.notes.append("its formats cannot be read: dates and percents stand there as plain numbers")
        for sheet in book.worksheets:
            writer.heading(1, sheet.title)
            write_sheet(writer, _rows(sheet, writer.document.notes), sheet.title, Names.POSSIBLE)
            _write_beside(writer, book._archive, sheet._worksheet_path, sheet.title)
        for kind, chart in _related(book._archive, "xl/workbook.xml"):
            if kind == "chartsheet":
                writer.heading(1, "Chart")
                _write_beside(writer, book._archive, chart, "Chart")
    return writer.done()


def _related(archive: Any, path: str) -> Iterator[tuple[str, str]]:
    """The type and the path of each part that a part of the file refers to."""
    from openpyxl.packaging.relationship import get_dependents, get_rels_path

    path = path.lstrip("/")
    names = set(archive.namelist())
    if get_rels_path(path) in names:
        for relation in get_dependents(archive, get_rels_path(path)):
            if relation.target.lstrip("/") in names:
                yield relation.Type.rpartition("/")[2], relation.target.lstrip("/")


def _write_beside(writer: Writer, archive: Any, path: str, sheet: str) -> None:
    """The remarks, the charts and the words of shapes of a sheet."""
    from atomr_local.indexing.readers.documents.office import write_chart, write_shape_words

    for kind, target in _related(archive, path):
        if kind == "comments":
            root = parse_xml(part(archive, target))
            authors = [one.text or "" for one in root.iterfind("{*}authors/{*}author")]
            for one in root.iter("{*}comment"):
                number = one.get("authorId", "")
                author = authors[int(number)] if number.isdecimal() and int(number) < len(authors) else ""
                text = " ".join("".join(t.text or "" for t in one.iter("{*}t")).split())
                if author.startswith("tc="):  # a conversation, told again for programs that know none
                    author, text = "", text.partition("Comment: ")[2] or text
                writer.at(f"{sheet}!{one.get('ref', 'A1')}")
                writer.line(comment(author, text))
        elif kind == "drawing":
            writer.at(f"{sheet}!A1")
            write_shape_words(writer, parse_xml(part(archive, target)))
            for inner, chart in _related(archive, target):
                if inner == "chart":
                    write_chart(writer, parse_xml(part(archive, chart)))


def _rows(sheet: Any, notes: list[str]) -> Iterator[tuple[int, list[Cell]]]:
    """The rows that have values, with their numbers; a merged cell has its value in each of its rows."""
    merged = Merged()
    ranges, uncounted = _looked_through(sheet)
    if uncounted:
        notes.append(
            f"{uncounted} formulas of {short_line(sheet.title)} have no values: save it in a spreadsheet program"
        )
    sheet.reset_dimensions()  # many programs write others than the sheet has
    for number, row in enumerate(sheet.iter_rows(), 1):
        cells = [_of_sheet(one) for one in row]
        while cells and not cells[-1].text:
            cells.pop()
        if cells:
            yield number, merged.filled(number, cells, ranges.pop(number, {}))


def _looked_through(sheet: Any) -> tuple[dict[int, dict[int, tuple[int, int]]], int]:
    """Row → column from 0 → over how many rows and columns the cell there reaches; and the formulas without values.

    openpyxl passes both over where it reads a sheet row by row.
    """
    from openpyxl.utils import column_index_from_string

    found: dict[int, dict[int, tuple[int, int]]] = {}
    kept = uncounted = 0
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
            for match in _UNCOUNTED.finditer(data):
                end = max(end, match.end())
                uncounted += 1
            before = data[max(end, len(data) - _LONGEST_TAG) :]
    return found, uncounted


def _of_sheet(cell: Any) -> Cell:
    value = cell.value
    if value is None:
        return _EMPTY
    try:
        shape, bold = str(cell.number_format), bool(cell.font and cell.font.b)
    except IndexError:  # the file has no such style
        shape, bold = "General", False
    if isinstance(value, str):
        return Cell(" ".join(value.split()), emphasised=bold)
    return Cell(_shown(value, shape))


_EMPTY = Cell("")


def _shown(value: Any, shape: str) -> str:
    if _HOURS.search(shape) and isinstance(value, datetime | time):
        value = datetime.combine(FIRST_DAY, value) if isinstance(value, time) else value
        value -= FIRST_DAY
    if isinstance(value, timedelta):
        minutes, seconds = divmod(round(value.total_seconds()), 60)
        return f"{minutes // 60}:{minutes % 60:02}" + (f":{seconds:02}" if seconds or "s" in shape else "")
    if isinstance(value, datetime | time) and value.microsecond:  # they are kept as fractions of days
        moment = value if isinstance(value, datetime) else datetime.combine(FIRST_DAY, value)
        moment = moment.replace(microsecond=0) + timedelta(seconds=value.microsecond >= 500_000)
        value = moment if isinstance(value, datetime) else moment.time()
    if isinstance(value, datetime):
        return value.date().isoformat() if value.time() == time() else value.isoformat(sep=" ")
    if isinstance(value, date | time):
        return value.isoformat()
    return str(value) if isinstance(value, bool) else shown_number(str(value), shape)


# Files of delimited values (CSV): their rows by the delimiter by which most get equally wide (RFC 4180).

_SNIFFED = 1 << 16
_CSV_FIELD = 1 << 20
_DELIMITERS = ";\t|,"  # among equals, commas are likelier in the fields than between them
# What Excel takes for a wish of the file, and not for a row.
_WISH = re.compile(r'"?sep=([^"\'\w\n])"?[ \t;,]*(?:\n|\Z)', re.I)
_ESCAPED = re.compile(r'\\([\\"])')
_MOST_ABOVE = 50  # lines above the names of the columns
_LOOKED_AT = 20  # rows that tell whether names stand above them
_LONGEST_TITLE = 200
_Numbered = tuple[int, list[Cell]]


def parse_csv(stream: BinaryIO) -> Document:
    text = read_text(stream)
    csv.field_size_limit(_CSV_FIELD)
    if wish := _WISH.match(text):
        text = text[wish.end() :]
    dialect = _dialect(text, wish[1] if wish else "")
    if dialect.pop("escapechar", ""):  # other backslashes stay
        text = _ESCAPED.sub(lambda found: '""' if found[1] == '"' else "\\", text)
    writer = Writer("cells")
    read = csv.reader(StringIO(text, newline=""), **dialect)
    rows = enumerate(([Cell(" ".join(field.split())) if field else _EMPTY for field in row] for row in read), 1)
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
