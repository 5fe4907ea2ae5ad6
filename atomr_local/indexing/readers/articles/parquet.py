"""Reads Parquet files like `wikimedia/wikipedia`: columns id, url, title and text; a record is a row."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from atomr_local.errors import InputError
from atomr_local.indexing.readers.base import Article, Redirect, Section
from atomr_local.indexing.readers.columns import Columns, mapped_article
from atomr_local.indexing.readers.lines import Skipped
from atomr_local.input_files import open_regular

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
        missing = [name for name in needed if name and name not in schema.names]
        if missing:
            raise InputError(
                f"{self.path}: no column {', '.join(missing)}; it has {', '.join(schema.names[:20])}",
                hint="Say which columns are meant with --id, --title and --text.",
            )
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
        qid = next((values[name] for name in _QID_COLUMNS if _is_qid(values.get(name))), None)
        url = values.get("url")
        metadata = {"url": url} if isinstance(url, str) and url else {}
        return replace(article, qid=qid, metadata=metadata, sections=plain_sections(article.text))


def _is_qid(value: object) -> bool:
    return isinstance(value, str) and bool(_QID.fullmatch(value))


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
