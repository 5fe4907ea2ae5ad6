"""Reads JSON lines with {"id", "title", "text"}; other keys are kept as metadata."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from atomr_local.indexing.readers.base import Article, Redirect, article_texts, encodable
from atomr_local.indexing.readers.lines import LineReader, Skipped, parsed


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
    hint = 'A corpus has lines such as {"id": "1", "title": "Paris", "text": "Paris is the capital of France."}'
    for number, article in parsed(lines, skipped, parse_article, claim="", hint=hint, may_be_empty=False):
        yield replace(article, record=number)


def parse_article(line: bytes) -> Article:
    """The article on the line.

    Raises:
        ValueError: it is none; the message says why.
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
    identifier, title, text = map(encodable, article_texts(*(data.pop(key, None) for key in ("id", "title", "text"))))
    qid = data.pop("qid", None)
    return Article(identifier, title, text, encodable(qid) if isinstance(qid, str) else None, data)
