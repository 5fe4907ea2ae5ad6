"""Scripts that write no spaces between words: Chinese, Japanese, Thai, Lao, Burmese, Khmer, Tibetan."""

from __future__ import annotations

import re
import unicodedata
from itertools import pairwise

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
    """What `spread` took apart, put together."""
    return _BETWEEN.sub("", text) if unspaced(text) else text


def terms(text: str) -> list[str]:
    """What to compare texts by: the words, and pairs of neighbouring characters where words are not marked."""
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
