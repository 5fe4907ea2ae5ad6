"""Combining marks: which of them are an accent or a point that may be left out, and which are part of the letter.

In Latin, Greek and Cyrillic a mark is an accent; in Hebrew and Arabic it is a vowel that is mostly not written. In the
scripts of South and South-East Asia marks are the vowels themselves, and in Japanese they make another syllable: "राम"
and "रमा", "カラス" and "ガラス" are different words.
"""

from __future__ import annotations

import re
import unicodedata

_LEFT_OUT = (
    (0x0300, 0x036F), (0x1AB0, 0x1AFF), (0x1DC0, 0x1DFF), (0x20D0, 0x20FF), (0xFE20, 0xFE2F),  # of any letter
    (0x0483, 0x0489), (0x2DE0, 0x2DFF), (0xA66F, 0xA69F),  # Cyrillic
    (0x0591, 0x05C7), (0xFB1E, 0xFB1E),  # Hebrew
    (0x0610, 0x061A), (0x064B, 0x0670), (0x06D6, 0x06ED), (0x0898, 0x089F), (0x08CA, 0x08FF),  # Arabic
    (0x0711, 0x0711), (0x0730, 0x074A), (0x0816, 0x082D),  # Syriac, Samaritan
    (0x0951, 0x0954), (0x1CD0, 0x1CFF), (0xA8E0, 0xA8F1),  # Vedic accents
    (0x135D, 0x135F), (0x302A, 0x302F),  # length in Ethiopic; tones of Chinese and old Korean
    (0x180B, 0x180F), (0xFE00, 0xFE0F), (0xE0100, 0xE01EF),  # choice among glyphs
)  # fmt: skip
_NUKTA = 7  # combining class
_VIRAMA = 9


def _marks(first: int, last: int) -> list[str]:
    return [mark for mark in map(chr, range(first, last + 1)) if unicodedata.category(mark).startswith("M")]


_ACCENTS = frozenset(mark for first, last in _LEFT_OUT for mark in _marks(first, last))
_VIRAMAS = "".join(mark for mark in _marks(0x0900, 0x1C37) if unicodedata.combining(mark) == _VIRAMA)
# They choose how letters are joined; where a virama joins them, neither parts a word.
_JOINERS = re.compile(f"\u200d|(?<=[{_VIRAMAS}])\u200c")


def without_joiners(text: str) -> str:
    """The text without invisible characters that only choose how letters are joined."""
    return _JOINERS.sub("", text)


def is_accent(mark: str) -> bool:
    """Whether a combining mark may be left out of a name. So may the dot of nuktas: it is often not typed."""
    if mark in _ACCENTS:
        return True
    return unicodedata.combining(mark) == _NUKTA and "NUKTA" in unicodedata.name(mark, "")


class KeyCharacters(dict[int, str]):
    """What becomes of each character of a decomposed name, for `str.translate`; learnt as characters are met.

    Args:
        letters: characters that are written otherwise in a key.
    """

    def __init__(self, letters: dict[int, str]) -> None:
        super().__init__(letters)

    def __missing__(self, code: int) -> str:
        character = chr(code)
        if unicodedata.category(character).startswith("M"):
            found = "" if is_accent(character) else character
        else:
            found = character if character.isalnum() else " "
        self[code] = found
        return found
