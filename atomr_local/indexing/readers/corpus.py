"""Corpora as JSON lines: {"id", "title", "text"}; other keys are kept as metadata."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from atomr_local.errors import InputError
from atomr_local.indexing.readers.lines import LineReader, Skipped

_TRIAL = 200


@dataclass(frozen=True, slots=True)
class Article:
    """One article; `qid` is its Wikidata entity where the corpus gives it."""

    id: str
    title: str
    text: str
    qid: str | None = None
    metadata: dict[str, Any] = field(default_factory=dict)


def read_corpus(lines: LineReader, skipped: Skipped) -> Iterator[Article]:
    """The articles of a file; unusable lines are counted in `skipped`.

    Raises:
        InputError: none of the first 200 filled lines is an article.
    """
    usable = filled = 0
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
        yield article
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
        _encodable(identifier),
        _encodable(title),
        _encodable(text),
        _encodable(qid) if isinstance(qid, str) else None,
        data,
    )


def _encodable(text: str) -> str:
    # JSON may hold lone surrogates, which no UTF-8 store takes.
    return text.encode("utf-8", "replace").decode("utf-8")
