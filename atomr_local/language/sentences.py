"""Where sentences and words of a text begin and end, in any script."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache
from itertools import accumulate
from typing import Any

from atomr_local.language.scripts import UNSPACED

_LINES = re.compile(r"\n+")
_MARKS = ".!?"
# For text without the scripts of `_BY_LIBRARY`: ends of lines, and what `_SPACED_END` finds, with the mark before it. A
# pattern that begins with one of a few characters is sought much faster than one that looks behind at each place.
_PLAIN_END = re.compile(rf"[\n{_MARKS}](?:(?<=\n)\n*|(?<!\n)([\"'”’)\]]*)[^\S\n]+(?=\S))")
# Latin, Cyrillic, Greek and others that end a sentence as they do, with a space behind the mark.
_SPACED_END = re.compile(r"(?<=[.!?])[\"'”’)\]]*\s+(?=\S)")
# Letters without spaces between words, and the marks that end sentences in other scripts: Armenian, Arabic, Urdu,
# Syriac, Devanagari and its relatives, Ethiopic, Canadian syllabics, Mongolian, Burmese, Tibetan, Khmer, Chinese,
# Japanese.
_BY_LIBRARY = re.compile(
    f"[{UNSPACED}\u0589\u061d-\u061f\u06d4\u0700-\u0702\u07f9\u0964\u0965\u0f0d-\u0f12\u104a\u104b\u1362\u1367\u1368"
    "\u166e\u1803\u1809\u17d4\u17d5\u2cf9-\u2cfb\u3002\ua4ff\ua60e\ua60f\ua92f\uaaf0\uabeb\uff01\uff0e\uff1f\uff61"
    "\U00010a56\U00011047-\U00011c42]"
)
# Unicode's rules leave an opening mark with the sentence before it, and do not know the Tibetan stroke as an end.
_OPENING = re.compile(r"[「『“‘（(\[«‹〈《【〔]+$")
_STROKE = re.compile("(?<=[\u0f0d\u0f0e])[\\s\u0f0d\u0f0e]*(?=[^\\s\u0f0d\u0f0e])")
_LONE = re.compile("[\ud800-\udfff]")
_WORD = re.compile(r"\S+")
_ASTRAL = "\U00010000"


def sentences(text: str, start: int = 0, end: int | None = None) -> Iterator[tuple[int, int]]:
    """Offsets (start, end) of the sentences of text[start:end], in order. A line feed ends one too.

    Scripts that mark their sentences otherwise than Latin does go through ICU (Unicode Standard Annex 29).
    """
    begin, end = start, len(text) if end is None else end
    stretch = text[start:end]
    if stretch.isascii() or not _BY_LIBRARY.search(stretch):
        yield from _of_plain_lines(text, start, end)
        return
    for boundary in _LINES.finditer(text, start, end):
        yield from _of_line(text, begin, boundary.start())
        begin = boundary.end()
    yield from _of_line(text, begin, end)


def words(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Offsets (start, end) of the words of text[start:end], in order; a mark goes with the word before it.

    Where no spaces stand between words, they are those of ICU's dictionaries.
    """
    for match in _WORD.finditer(text, start, end):
        if match[0].isascii() or not _BY_LIBRARY.search(match[0]):
            yield match.span()
            continue
        begin = finish = match.start()
        for part_start, part_end in _boundaries("WordBreaker", text, match.start(), match.end()):
            if finish > begin and text[part_start].isalnum():
                yield begin, finish
                begin = part_start
            finish = part_end
        yield begin, match.end()


def _of_plain_lines(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    # What stands before `start` may be the mark that ends a sentence there.
    first = start - (start > 0 and text[start - 1] in _MARKS)
    begin = start
    for boundary in _PLAIN_END.finditer(text, first, end):
        at, after = boundary.span()
        if text[at] != "\n":
            at = after if boundary[1] else at + 1
        yield begin, at
        begin = after
    yield begin, end


def _of_line(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    begin = start
    line = text[start:end]
    if line.isascii() or not _BY_LIBRARY.search(line):
        for boundary in _SPACED_END.finditer(text, start, end):
            yield begin, boundary.end() if boundary.group().strip() else boundary.start()
            begin = boundary.end()
        yield begin, end
        return
    for part_start, part_end in _boundaries("SentenceBreaker", text, start, end):
        ends = [match.end() for match in _STROKE.finditer(text, part_start, part_end)]
        for finish in [*ends, part_end]:
            opening = _OPENING.search(text, begin, finish)
            cut = opening.start() if opening and finish < end else finish
            if cut > begin:
                yield begin, begin + len(text[begin:cut].rstrip())
                begin = cut
    if begin < end:
        yield begin, end


def _boundaries(kind: str, text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    part = _LONE.sub("\ufffd", text[start:end])
    spans = _breaker(kind)(part, "").segments()
    if max(part, default="") < _ASTRAL:
        for first, last in spans:
            yield start + first, start + last
        return
    # ICU counts units of UTF-16.
    units = accumulate((1 + (character >= _ASTRAL) for character in part), initial=0)
    place = {unit: index for index, unit in enumerate(units)}
    for first, last in spans:
        yield start + place[first], start + place[last]


@cache
def _breaker(kind: str) -> Callable[[str, str], Any]:
    from icu4py import breakers

    found: Callable[[str, str], Any] = getattr(breakers, kind)
    return found
