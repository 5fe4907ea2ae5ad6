"""Reads Parquet files like `wikimedia/wikipedia`: columns id, url, title and text; a record is a row."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from atomr_local.errors import InputError
from atomr_local.indexing.readers.base import (
    Article,
    LineArticles,
    Redirect,
    Section,
    article_texts,
    encodable,
)
from atomr_local.indexing.readers.lines import LineReader, Skipped, parsed
from atomr_local.system.files import open_regular

# Which columns or keys of a record are an article's id, title and text.

_TITLE_WORDS = 8


@dataclass(frozen=True, slots=True)
class Columns:
    """Names of columns or keys, "" where the user gave none; in JSON "body.value" is the key "value" within "body"."""

    id: str = ""
    title: str = ""
    text: str = ""

    @property
    def given(self) -> bool:
        """Whether the user gave one."""
        return bool(self.id or self.title or self.text)

    def names(self) -> tuple[str, str, str]:
        """Where id, title and text are looked for."""
        return self.id or "id", self.title or "title", self.text or "text"

    def as_settings(self) -> dict[str, str]:
        """As the ledger and the manifest keep them."""
        return asdict(self)


def mapped_article(record: Mapping[str, Any], columns: Columns, path: Path, number: int, *, rows: bool) -> Article:
    """The article that a record holds. What is used of it for nothing else is metadata.

    An id that no column is named for is the place in the file where the records are `rows` or columns were given; a
    title that is missing there is the beginning of the text.

    Raises:
        ValueError: something is missing; the message says what, and which columns there are.
    """
    names = columns.names()
    identifier, title, text = (_value(record, name) for name in names)
    if rows or columns.given:
        if not columns.id and identifier in (None, ""):
            identifier = f"{path.name}:{number}"
        if not columns.title and not (isinstance(title, str) and title.strip()) and isinstance(text, str):
            title = " ".join(text.split()[:_TITLE_WORDS])
    if columns.title and isinstance(title, int | float) and not isinstance(title, bool):
        title = str(title)
    identifier, title, text = map(encodable, article_texts(identifier, title, text, names))
    used = {*columns.names(), "qid"}
    rest = {key: value for key, value in record.items() if key not in used}
    qid = record.get("qid")
    return Article(
        identifier, title, text, encodable(qid) if isinstance(qid, str) and qid else None, rest, record=number
    )


def _value(record: Mapping[str, Any], name: str) -> Any:
    if name in record:
        return record[name]
    found: Any = record
    for part in name.split("."):
        if not isinstance(found, Mapping):
            return None
        found = found.get(part)
    return found


def _must_have(path: Path, wanted: Iterable[str], there: Sequence[str], told: str) -> None:
    """Refuse a file without a column that is wanted; `told` says which there are."""
    if missing := [name for name in wanted if name and name not in there]:
        raise InputError(
            f"{path}: no column {', '.join(missing)}; {told}",
            hint="Say which columns are meant with --id, --title and --text.",
        )


class _MappedLines(LineArticles):
    """What readers of lines whose columns or keys the user may name share."""

    def __init__(self, path: Path, columns: Columns | None = None) -> None:
        super().__init__(path)
        self._columns = columns or Columns()


# Reads CSV and TSV files whose first line names the columns; a record is a row.

_DELIMITERS = ",\t;|"
_LONGEST_FIELD = 8 << 20
_LONGEST_HEADING = 64
_LINES = 40
# Headings that tables of texts have; other tables are named by --format.
_USUAL = frozenset({"id", "title", "text", "name", "content", "body", "url", "description", "abstract", "passage"})


class DelimitedReader(_MappedLines):
    """The articles of a file of rows, separated by commas, tabs, semicolons or bars."""

    def records(self, skipped: Skipped, *, after: int = 0) -> Iterator[Article | Redirect]:
        self._lines = LineReader(self.path)
        csv.field_size_limit(_LONGEST_FIELD)
        lines = self._texts()
        first = next(lines, "")
        headings = _row(first, delimiter := _delimiter(first))
        wanted = (self._columns.id, self._columns.title, self._columns.names()[2])
        shown = ", ".join(headings[:20])[:400]
        _must_have(self.path, wanted, headings, f"its first line names {shown or 'nothing'}")
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


# Reads JSON lines with {"id", "title", "text"}, or with the keys that the user names; others are kept as metadata.

_COLUMNS = Columns()
_SAMPLE = 'Lines should be such as {"id": "1", "title": "Paris", "text": "Paris is the capital of France."}'
_OTHERS = (
    "This is no JSON. Read as they are: JSON lines, CSV with a line of headings, MediaWiki dumps, Parquet, ZIM and "
    "WikiExtractor's text; --format names one."
)


class JsonLinesReader(_MappedLines):
    """The articles of a file of JSON lines; a record is a line."""

    def records(self, skipped: Skipped, *, after: int = 0) -> Iterator[Article | Redirect]:
        self._lines = LineReader(self.path, after)
        return read_corpus(self._lines, skipped, self._columns)


def read_corpus(lines: LineReader, skipped: Skipped, columns: Columns = _COLUMNS) -> Iterator[Article]:
    """The articles of a file; unusable lines are counted in `skipped`.

    Raises:
        InputError: none of the first 200 filled lines is an article.
    """
    at = 0

    def numbered() -> Iterator[tuple[int, bytes]]:
        nonlocal at
        for number, line in lines:
            at = number
            yield number, line

    def parse(line: bytes) -> Article:
        return mapped_article(_object(line), columns, lines.path, at, rows=False)

    for _, article in parsed(lines, skipped, parse, numbered(), claim="", hint=_hint, may_be_empty=False):
        yield article


def _hint(first: bytes) -> str:
    """What to do with a file that holds no article, from its first filled line."""
    text = first.strip()
    try:
        record = _object(text)
    except ValueError:
        if text.startswith(b"["):
            return "This is an array. Write one object a line, for example with: jq -c '.[]' FILE > lines.jsonl"
        if text.startswith(b"{"):
            return f"An object stands on one line. Several lines become one with: jq -c . FILE > lines.jsonl. {_SAMPLE}"
        return _OTHERS if text else _SAMPLE
    keys = ", ".join(list(record)[:12])
    return f"Say which keys are meant with --id, --title and --text. There are: {keys or 'none'}. {_SAMPLE}"


def _object(line: bytes) -> dict[str, Any]:
    """The object on the line.

    Raises:
        ValueError: there is none; the message says why.
    """
    try:
        data = json.loads(line)
    except UnicodeDecodeError:
        raise ValueError("not UTF-8") from None
    except json.JSONDecodeError as error:
        raise ValueError(f"not JSON ({error})") from None
    except RecursionError:
        raise ValueError("nested too deeply") from None
    if not isinstance(data, dict):
        raise ValueError("not a JSON object")
    return data


_QID_COLUMNS = ("qid", "wikidata_id", "wikibase_item")
_QID = re.compile(r"Q[1-9]\d{0,11}")
_ROWS = 64
_MAX_TEXT = 8 << 20
_HEADING_WORDS = 10
_HEADING_CHARACTERS = 80


class ParquetReader:
    """The articles of one file; row groups that were read before are not read again on resuming."""

    def __init__(self, path: Path, columns: Columns | None = None) -> None:
        self.path = path
        self._wanted = columns or Columns()
        self.position = 0

    def records(self, skipped: Skipped, *, after: int = 0) -> Iterator[Article | Redirect]:
        import pyarrow as pa

        row = 0
        try:
            for row, values in self._rows(after):
                article = self._article(row, values, skipped)
                if article is not None:
                    yield article
        except OSError as error:
            reason = error.strerror or str(error)
            raise InputError(f"{self.path}, after row {row}: cannot be read: {reason}") from error
        except pa.ArrowException as error:
            reason = str(error).splitlines()[0] if str(error) else type(error).__name__
            raise InputError(f"{self.path}, after row {row}: a damaged Parquet file: {reason}") from error

    def _rows(self, after: int) -> Iterator[tuple[int, dict[str, Any]]]:
        import pyarrow.parquet as pq

        # With a buffer, a column of a row group is read in steps and not as a whole.
        with (
            open_regular(self.path),
            pq.ParquetFile(self.path, buffer_size=1 << 20, pre_buffer=False) as file,
        ):
            columns = self._columns(file.schema_arrow)
            row = 0
            for number in range(file.metadata.num_row_groups):
                group = file.metadata.row_group(number)
                size = sum(group.column(i).total_compressed_size for i in range(group.num_columns))
                start, begin = self.position, row
                if begin + group.num_rows > after:
                    batches = file.iter_batches(_ROWS, row_groups=[number], columns=columns, use_threads=False)
                    for batch in batches:
                        for values in batch.to_pylist():
                            row += 1
                            if row > after:
                                yield row, values
                        self.position = start + size * (row - begin) // max(1, group.num_rows)
                row = begin + group.num_rows
                self.position = start + size

    def _columns(self, schema: Any) -> list[str]:
        import pyarrow as pa

        names = self._wanted.names()
        needed = [self._wanted.id, self._wanted.title, names[2]] if self._wanted.given else names
        _must_have(self.path, needed, schema.names, f"it has {', '.join(schema.names[:20])}")
        for name in {names[1], names[2]}.intersection(schema.names):
            kind = schema.field(name).type
            if not (pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)):
                raise InputError(f"{self.path}: the column {name} holds {kind}, not text")
        return [name for name in dict.fromkeys((*names, "url", *_QID_COLUMNS)) if name in schema.names]

    def _article(self, row: int, values: dict[str, Any], skipped: Skipped) -> Article | None:
        try:
            article = mapped_article(values, self._wanted, self.path, row, rows=False)
            if len(article.text) > _MAX_TEXT:
                raise ValueError("longer than any page of a wiki")
        except ValueError as error:
            skipped.add(self.path, row, str(error))
            return None
        named = (str(values.get(name)) for name in _QID_COLUMNS)
        qid = next((name for name in named if _QID.fullmatch(name)), None)
        url = values.get("url")
        metadata = {"url": url} if isinstance(url, str) and url else {}
        return replace(article, qid=qid, metadata=metadata, sections=plain_sections(article.text))


def plain_sections(text: str) -> tuple[Section, ...]:
    """The sections of a text whose headings are paragraphs of a few words without a full stop.

    That is all that this layout leaves of a heading; the words stay in the text, so that a wrong guess loses nothing.
    """
    sections: list[Section] = []
    at = 0
    paragraphs = text.split("\n\n")
    for number, paragraph in enumerate(paragraphs):
        line = paragraph.strip()
        has_text = number + 1 < len(paragraphs) and not _is_heading(paragraphs[number + 1].strip())
        if number and has_text and _is_heading(line):
            sections.append(Section(at, " ".join(line.split())))
        at += len(paragraph) + 2
    return tuple(sections)


def _is_heading(line: str) -> bool:
    return (
        0 < len(line) <= _HEADING_CHARACTERS
        and "\n" not in line
        and len(line.split()) <= _HEADING_WORDS
        and line[-1] not in '.!?:;,…。！？"”»'
    )
