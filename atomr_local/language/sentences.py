"""Where sentences and words of a text begin and end, in any script."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator
from functools import cache
from itertools import accumulate, pairwise
from typing import Any

from atomr_local.language.words import referring_words, word_lists

# Scripts that write no spaces between words: Chinese, Japanese, Thai, Lao, Burmese, Khmer, Tibetan.

# For a character class: blocks of the Unicode standard, without their punctuation.
UNSPACED = (
    "\u0e01-\u0e4e\u0e81-\u0ecd\u0f40-\u0fbc\u1000-\u103f\u1780-\u17d3"  # Thai, Lao, Tibetan, Burmese, Khmer
    "\u3005-\u3007\u3041-\u30fa\u30fc-\u30ff\u31f0-\u31ff\uff66-\uff9d"  # Japanese syllables
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003fffd"  # Chinese characters
)
_ANY = re.compile(f"[{UNSPACED}]")
# Combining marks of these scripts: vowels, tones, voicing. They belong to the character before them.
_MARKS = "".join(
    chr(code)
    for first, last in ((0x0E01, 0x0EFF), (0x0F40, 0x109F), (0x1780, 0x17DF), (0x3041, 0x30FF))
    for code in range(first, last + 1)
    if unicodedata.category(chr(code)).startswith("M")
)
_CHARACTER = f"[{UNSPACED}][{_MARKS}]*"
_CHARACTERS = re.compile(f"({_CHARACTER})")
_EACH = re.compile(_CHARACTER)
_BETWEEN = re.compile(f"(?<=[{UNSPACED}]) (?=[{UNSPACED}])")
_RUN = re.compile(f"(?:{_CHARACTER})+")
# How many characters of such a script say about as much as one word.
CHARACTERS_A_WORD = 2
_LETTER_OR_WORD = re.compile(f"[{UNSPACED}]|[^\\s{UNSPACED}]+")
# One word, or as many characters as count as one.
WORD = re.compile(f"[{UNSPACED}]{{1,{CHARACTERS_A_WORD}}}|[^\\s{UNSPACED}]+")


def unspaced(text: str) -> bool:
    """Whether some of the text is in such a script."""
    return not text.isascii() and _ANY.search(text) is not None


def spread(text: str) -> str:
    """The text with every character of such a script as a word by itself."""
    return _CHARACTERS.sub(r" \1 ", text) if unspaced(text) else text


def gathered(text: str) -> str:
    """The text that `spread` took apart, put together."""
    return _BETWEEN.sub("", text) if unspaced(text) else text


def terms(text: str) -> list[str]:
    """Units for comparing texts: the words, and pairs of neighbouring characters where words are not marked."""
    if not unspaced(text):
        return text.split()
    found: list[str] = []
    for piece in _RUN.sub(lambda match: f" {match[0]} ", text).split():
        characters = _EACH.findall(piece) if _ANY.match(piece) else []
        if len(characters) > 1:
            found += map("".join, pairwise(characters))
        else:
            found.append(piece)
    return found


def pieces(text: str) -> list[tuple[str, str]]:
    """The words of the text, each with what stands between it and the next one: a space or nothing.

    Every character of a script without spaces is a word by itself.
    """
    if not unspaced(text):
        return [(word, " ") for word in text.split()]
    found: list[tuple[str, str]] = []
    for match in _LETTER_OR_WORD.finditer(text):
        if found and not text[match.start() - 1].isspace():
            found[-1] = (found[-1][0], "")
        found.append((match[0], " "))
    return found


def size_in_words(text: str) -> int:
    """About how many words the text has, for budgets."""
    return len(WORD.findall(text)) if unspaced(text) else len(text.split())


def first_words(text: str, count: int) -> str:
    """About the first `count` words, on one line."""
    if not unspaced(text):
        return " ".join(text.split()[:count])
    end = 0
    for place, match in enumerate(WORD.finditer(text)):
        if place == count:
            break
        end = match.end()
    return " ".join(text[:end].split())


_LINES = re.compile(r"\n+")
_SENTENCES_MARKS = ".!?"
# For text without the scripts of `_BY_LIBRARY`: ends of lines, and what `_SPACED_END` finds, with the mark before it. A
# pattern that begins with one of a few characters is sought much faster than one that looks behind at each place.
_PLAIN_END = re.compile(rf"[\n{_SENTENCES_MARKS}](?:(?<=\n)\n*|(?<!\n)([\"'”’)\]]*)[^\S\n]+(?=\S))")
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
    first = start - (start > 0 and text[start - 1] in _SENTENCES_MARKS)
    begin = start
    for boundary in _PLAIN_END.finditer(text, first, end):
        at, after = boundary.span()
        if text[at] != "\n":
            if text[begin:at].isdigit():
                continue  # the number of an item in a list
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


# The sentences of an English chain of thought: which of them only conclude, and which give the answer.

_ARITHMETIC = re.compile(r"\d[\d.,]*\s*[-+*/×÷−–]\s*\d[\d.,]*\s*=\s*-?\d")


@cache
def _opening() -> re.Pattern[str]:
    return re.compile(rf"\W*(?:{'|'.join(word_lists('chains')['conclude'])})\b(?! far)", re.IGNORECASE)


def only_concludes(sentence: str) -> bool:
    """Whether the sentence draws a conclusion or calculates, and so tells nothing that could be looked up."""
    return _opening().match(sentence) is not None or _ARITHMETIC.search(sentence) is not None


def gives_answer(sentence: str) -> bool:
    """Whether the sentence says what the answer is."""
    told = sentence.casefold()
    return any(mark in told for mark in word_lists("chains")["answer"])


def search_words(text: str) -> str:
    """The text without words that only ask."""
    asking = referring_words().asking
    return " ".join(word for word in text.split() if word.strip("\"'“”‘’.,;:!?()").casefold() not in asking)
