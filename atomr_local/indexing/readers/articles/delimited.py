"""Reads CSV and TSV files whose first line names the columns; a record is a row."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path

from atomr_local.errors import InputError
from atomr_local.indexing.readers.base import Article, Redirect
from atomr_local.indexing.readers.columns import Columns, mapped_article
from atomr_local.indexing.readers.lines import LineReader, Skipped

_DELIMITERS = ",\t;|"
_LONGEST_FIELD = 8 << 20
_LONGEST_HEADING = 64
_LINES = 40
# Headings that tables of texts have; other tables are named by --format.
_USUAL = frozenset({"id", "title", "text", "name", "content", "body", "url", "description", "abstract", "passage"})


class DelimitedReader:
    """The articles of a file of rows, separated by commas, tabs, semicolons or bars."""

    def __init__(self, path: Path, columns: Columns | None = None) -> None:
        self.path = path
        self._columns = columns or Columns()
        self._lines = LineReader(path)

    @property
    def position(self) -> int:
        return self._lines.position

    def records(self, skipped: Skipped, *, after: int = 0) -> Iterator[Article | Redirect]:
        self._lines = LineReader(self.path)
        csv.field_size_limit(_LONGEST_FIELD)
        lines = self._texts()
        first = next(lines, "")
        headings = _row(first, delimiter := _delimiter(first))
        self._check(headings)
        row = 0
        try:
            for values in csv.reader(lines, delimiter=delimiter):
                if not values:
                    continue
                row += 1
                if row <= after:
                    continue
                if len(values) > len(headings):
                    skipped.add(self.path, row, f"{len(values)} values where there are {len(headings)} columns")
                    continue
                try:
                    record = dict(zip(headings, values, strict=False))
                    yield mapped_article(record, self._columns, self.path, row, rows=True)
                except ValueError as error:
                    skipped.add(self.path, row, str(error))
        except csv.Error as error:
            raise InputError(f"{self.path}, after row {row}: not CSV: {error}") from error

    def _texts(self) -> Iterator[str]:
        for number, line in self._lines:
            try:
                yield f"{line.decode('utf-8')}\n"
            except UnicodeDecodeError as error:
                raise InputError(
                    f"{self.path}, line {number}: not UTF-8",
                    hint="Save the table as UTF-8, or as UTF-16 with its mark.",
                ) from error

    def _check(self, headings: list[str]) -> None:
        wanted = self._columns.names()
        named = (self._columns.id, self._columns.title, wanted[2])
        missing = [name for name in named if name and name not in headings]
        if missing:
            shown = ", ".join(headings[:20])[:400]
            raise InputError(
                f"{self.path}: no column {', '.join(missing)}; its first line names {shown or 'nothing'}",
                hint="Say which columns are meant with --id, --title and --text.",
            )


def looks_delimited(head: bytes) -> bool:
    """Whether this is the beginning of a table of texts: headings that such tables have, and rows as wide as them."""
    lines = head.decode("utf-8", "replace").splitlines()[:_LINES]
    if len(lines) < 2 or not lines[0].strip() or lines[0].lstrip()[0] in "{[<":
        return False
    delimiter = _delimiter(lines[0])
    headings = [item.strip().casefold() for item in _row(lines[0], delimiter)]
    if len(headings) < 2 or len(set(headings)) < len(headings) or not _USUAL.intersection(headings):
        return False
    return all(0 < len(item) <= _LONGEST_HEADING for item in headings) and any(delimiter in line for line in lines[1:])


def _delimiter(line: str) -> str:
    return max(_DELIMITERS, key=line.count)


def _row(line: str, delimiter: str) -> list[str]:
    try:
        return [item.strip() for item in next(csv.reader([line], delimiter=delimiter), [])]
    except csv.Error:
        return []
