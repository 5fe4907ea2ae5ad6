"""Articles → passages: whole sentences up to a budget of words, with offsets into the article."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_SENTENCE_END = re.compile(r"(?<=[.!?。！？])[\"'”’)\]]*\s+(?=\S)|\n+")
_WORD = re.compile(r"\S+")
# A "word" without spaces (a hostile or broken article) is cut at this many characters.
_LONGEST_WORD = 500


@dataclass(frozen=True, slots=True)
class Passage:
    """`text` is the article's text[start:end]."""

    text: str
    start: int
    end: int


def passages(text: str, budget: int = 120) -> Iterator[Passage]:
    """Passages of at most `budget` words, split between sentences; a longer sentence is split between words."""
    start: int | None = None
    end = count = 0
    for piece_start, piece_end, words in _pieces(text, budget):
        if start is not None and count + words > budget:
            yield Passage(text[start:end], start, end)
            start, count = None, 0
        if start is None:
            start = piece_start
        end = piece_end
        count += words
    if start is not None:
        yield Passage(text[start:end], start, end)


def _pieces(text: str, budget: int) -> Iterator[tuple[int, int, int]]:
    """Sentences as (start, end, words); one over the budget comes in several pieces."""
    for begin, finish in sentences(text):
        spans = list(_words(text, begin, finish))
        for i in range(0, len(spans), budget):
            part = spans[i : i + budget]
            yield part[0][0], part[-1][1], len(part)


def _words(text: str, begin: int, finish: int) -> Iterator[tuple[int, int]]:
    for match in _WORD.finditer(text, begin, finish):
        for at in range(match.start(), match.end(), _LONGEST_WORD):
            yield at, min(at + _LONGEST_WORD, match.end())


def sentences(text: str) -> Iterator[tuple[int, int]]:
    """Offsets (start, end) of the text's sentences, in order."""
    begin = 0
    for boundary in _SENTENCE_END.finditer(text):
        yield begin, boundary.start() if not boundary.group().strip() else boundary.end()
        begin = boundary.end()
    yield begin, len(text)
