"""Reads JSON lines with {"id", "title", "text"}, or with the keys that the user names; others are kept as metadata."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from atomr_local.indexing.readers.base import Article, Redirect
from atomr_local.indexing.readers.columns import Columns, mapped_article
from atomr_local.indexing.readers.lines import LineReader, Skipped, parsed

_COLUMNS = Columns()
_SAMPLE = 'Lines should be such as {"id": "1", "title": "Paris", "text": "Paris is the capital of France."}'
_OTHERS = (
    "This is no JSON. Read as they are: JSON lines, CSV with a line of headings, MediaWiki dumps, Parquet, ZIM and "
    "WikiExtractor's text; --format names one."
)


class JsonLinesReader:
    """The articles of a file of JSON lines; a record is a line."""

    def __init__(self, path: Path, columns: Columns | None = None) -> None:
        self.path = path
        self._columns = columns or Columns()
        self._lines = LineReader(path)

    @property
    def position(self) -> int:
        return self._lines.position

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


def parse_article(line: bytes) -> Article:
    """The article on the line.

    Raises:
        ValueError: it is none; the message says why.
    """
    return mapped_article(_object(line), _COLUMNS, Path(), 0, rows=False)


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
