"""Splits articles into passages: whole sentences up to a word limit, with offsets into the article."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from atomr_local.indexing.readers.base import Section
from atomr_local.language.scripts import WORD

# Scripts without spaces between words have none between sentences either.
_SENTENCE_END = re.compile(r"(?<=[.!?。！？])[\"'”’)\]]*\s+(?=\S)|(?<=[。！？])[」』”’）】]*(?=[^\s」』”’）】])|\n+")
# A "word" without spaces (a hostile or broken article) is cut at this many characters.
_LONGEST_WORD = 500
# A section of fewer words says too little for a passage of its own; it goes with the one before it.
_SHORT_WORDS = 20


@dataclass(frozen=True, slots=True)
class Passage:
    """`text` is the article's text[start:end]; `section` the heading that it begins under, "" for the lead."""

    text: str
    start: int
    end: int
    section: str = ""


def passages(text: str, budget: int = 120, sections: Sequence[Section] = ()) -> Iterator[Passage]:
    """Passages of at most `budget` words, split between sentences; a longer sentence is split between words.

    None reaches over the beginning of a section, but for sections too short to stand alone.

    Args:
        sections: where the sections of the text begin, in order.
    """
    start: int | None = None
    end = count = 0
    heading = ""
    for section_start, section_end, title in _stretches(text, sections):
        for number, (piece_start, piece_end, words) in enumerate(_pieces(text, budget, section_start, section_end)):
            if start is not None and (
                count + words > budget
                or (number == 0 and not _is_short(text, piece_start, section_end, budget - count))
            ):
                yield Passage(text[start:end], start, end, heading)
                start, count = None, 0
            if start is None:
                start, heading = piece_start, title
            end = piece_end
            count += words
    if start is not None:
        yield Passage(text[start:end], start, end, heading)


def _stretches(text: str, sections: Sequence[Section]) -> Iterator[tuple[int, int, str]]:
    """The lead and the sections as (start, end, heading)."""
    begin, heading = 0, ""
    for section in sections:
        yield begin, section.start, heading
        begin, heading = section.start, section.heading
    yield begin, len(text), heading


def _is_short(text: str, begin: int, finish: int, room: int) -> bool:
    """Whether all that stands there is a few words, and they fit in the room."""
    words = sum(1 for _ in islice(_words(text, begin, finish), _SHORT_WORDS))
    return words < _SHORT_WORDS and words <= room


def _pieces(text: str, budget: int, start: int, end: int) -> Iterator[tuple[int, int, int]]:
    """Sentences of text[start:end] as (start, end, words); one over the budget comes in several pieces."""
    for begin, finish in sentences(text, start, end):
        spans = list(_words(text, begin, finish))
        for i in range(0, len(spans), budget):
            part = spans[i : i + budget]
            yield part[0][0], part[-1][1], len(part)


def _words(text: str, begin: int, finish: int) -> Iterator[tuple[int, int]]:
    for match in WORD.finditer(text, begin, finish):
        for at in range(match.start(), match.end(), _LONGEST_WORD):
            yield at, min(at + _LONGEST_WORD, match.end())


def sentences(text: str, start: int = 0, end: int | None = None) -> Iterator[tuple[int, int]]:
    """Offsets (start, end) of the sentences of text[start:end], in order."""
    begin, end = start, len(text) if end is None else end
    for boundary in _SENTENCE_END.finditer(text, start, end):
        yield begin, boundary.start() if not boundary.group().strip() else boundary.end()
        begin = boundary.end()
    yield begin, end
