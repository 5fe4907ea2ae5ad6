"""Corpora as JSON lines: {"id", "title", "text"}; other keys are kept as metadata."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from atomr_local.errors import InputError
from atomr_local.indexing.readers.articles import Article, Redirect, encodable
from atomr_local.indexing.readers.lines import LineReader, Skipped

__all__ = ["Article", "JsonLinesReader", "parse_article", "read_corpus"]

_TRIAL = 200


class JsonLinesReader:
    """The articles of a file of JSON lines, plain, gzip or bzip2; a record is a line."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lines = LineReader(path)

    @property
    def position(self) -> int:
        return self._lines.position

    def records(self, skipped: Skipped, *, after: int = 0) -> Iterator[Article | Redirect]:
        self._lines = LineReader(self.path, after)
        return read_corpus(self._lines, skipped)


def read_corpus(lines: LineReader, skipped: Skipped) -> Iterator[Article]:
    """The articles of a file; unusable lines are counted in `skipped`.

    Raises:
        InputError: none of the first 200 filled lines is an article.
    """
    # Whoever goes on after a line has read an article before it.
    usable, filled = int(lines.after > 0), 0
    first: tuple[int, str] | None = None
    for number, line in lines:
        if not line.strip():
            continue
        filled += 1
        try:
            article = parse_article(line)
        except ValueError as error:
            skipped.add(lines.path, number, str(error))
            first = first or (number, str(error))
            if not usable and filled >= _TRIAL:
                break
            continue
        usable += 1
        yield replace(article, record=number)
    if not usable:
        place, reason = first or (1, "the file is empty")
        raise InputError(
            f"{lines.path}, line {place}: {reason}",
            hint='A corpus has lines such as {"id": "1", "title": "Paris", "text": "Paris is the capital of France."}',
        )


def parse_article(line: bytes) -> Article:
    """The article on the line.

    Raises:
        ValueError: it is none; the message says why.
    """
    try:
        data = json.loads(line)
    except UnicodeDecodeError:
        raise ValueError("not UTF-8") from None
    except RecursionError:
        raise ValueError("nested too deeply") from None
    if not isinstance(data, dict):
        raise ValueError("not a JSON object")
    identifier = data.pop("id", None)
    if isinstance(identifier, int) and not isinstance(identifier, bool):
        identifier = str(identifier)
    title, text, qid = data.pop("title", None), data.pop("text", None), data.pop("qid", None)
    for key, value in (("id", identifier), ("title", title), ("text", text)):
        if not isinstance(value, str) or not value.strip():
            raise ValueError(f'"{key}" is missing or no text')
    return Article(
        encodable(identifier),
        encodable(title),
        encodable(text),
        encodable(qid) if isinstance(qid, str) else None,
        data,
    )
