"""Reads the text that WikiExtractor writes: <doc id= url= title=> … </doc>; a record is such an element."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from pathlib import Path

from atomr_local.errors import InputError
from atomr_local.indexing.readers.base import Article, Redirect
from atomr_local.indexing.readers.lines import LineReader, Skipped
from atomr_local.indexing.readers.wikipedia.plain_text import tidied

_OPENING = re.compile(r'\s*<doc\s+((?:[a-z_]{1,20}="[^"]*"\s*)+)>\s*')
_ATTRIBUTE = re.compile(r'([a-z_]+)="([^"]*)"')
_TAG = re.compile(r"</?[^\W\d_][^<>\n]{0,300}>")
_LONGEST = 8 << 20


class ExtractedReader:
    """The articles of one file that WikiExtractor wrote."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lines = LineReader(path)

    @property
    def position(self) -> int:
        return self._lines.position

    def records(self, skipped: Skipped, *, after: int = 0) -> Iterator[Article | Redirect]:
        self._lines = LineReader(self.path)
        record = size = 0
        open_now: dict[str, str] | None = None
        body: list[str] = []
        for number, line in self._lines:
            text = line.decode("utf-8", "replace")
            if open_now is None:
                if not text.strip():
                    continue
                found = _OPENING.fullmatch(text)
                if found is None:
                    raise InputError(
                        f"{self.path}, line {number}: not <doc …>", hint="Is this the text that WikiExtractor writes?"
                    )
                open_now = {key: html.unescape(value) for key, value in _ATTRIBUTE.findall(found[1])}
                body, size, record = [], 0, record + 1
            elif text.strip() == "</doc>":
                if record > after:
                    try:
                        yield _article(open_now, body, record, too_long=size > _LONGEST)
                    except ValueError as error:
                        skipped.add(self.path, record, str(error))
                open_now = None
            else:
                size += len(text)
                if record > after and size <= _LONGEST:
                    body.append(text)
        if open_now is not None:
            raise InputError(
                f"{self.path}, after article {record - 1}: the file is cut short", hint="Is the download complete?"
            )
        if not record:
            raise InputError(f"{self.path}: no article in it")


def _article(head: dict[str, str], body: list[str], record: int, *, too_long: bool) -> Article:
    identifier, title = head.get("id", "").strip(), head.get("title", "").strip()
    if not identifier or not title:
        raise ValueError("a <doc> without id or title")
    if too_long:
        raise ValueError("longer than any page of a wiki")
    lines = [html.unescape(line) for line in body]
    while lines and lines[0].strip() in {"", title}:
        del lines[0]
    text = tidied(_TAG.sub("", "\n".join(lines)))
    if not text:
        raise ValueError(f"{title}: no text")
    url = head.get("url", "")
    return Article(identifier, title, text, None, {"url": url} if url else {}, record=record)
