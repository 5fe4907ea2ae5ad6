"""Dates that a text writes with a month or a season: their words name no place and no person.

"born in October 1813", "3 May 1901", "in the autumn of 1920". A date that a capitalised word follows may be part
of a name ("September 11 Memorial") and is left alone, unless a word such as "in" says that it is a time.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from atomr_local.language.words import number_words

_WORDS = number_words()
# In running text a month has a capital letter: "may" and "march" are words too.
_MONTH = "(?:" + "|".join(month.capitalize() for month in sorted(_WORDS.months, key=len, reverse=True)) + r")\.?"
_SEASON = "(?:" + "|".join(f"[{season[0]}{season[0].upper()}]{season[1:]}" for season in _WORDS.seasons) + ")"
_DAY = r"\d{1,2}(?:st|nd|rd|th)?"
_YEAR = r"\d{3,4}(?!\d)"
_PART = r"(?:(?:[Ee]arly|[Mm]id|[Ll]ate)[ -])?"
_DATED = re.compile(
    rf"\b{_PART}(?:{_DAY} (?:of )?{_MONTH}(?:,? (?:of )?{_YEAR})?"
    rf"|{_MONTH} {_DAY}(?:,? {_YEAR})?|(?:{_MONTH}|{_SEASON})(?:,| of)? {_YEAR})(?![\w’'-])"
)
_CAPITALISED = re.compile(r" [^\W\d_a-z]")
_LAST_WORD = re.compile(r"(\w+)(?: the)?\s+$")


def between_dates(text: str) -> list[str]:
    """The text in pieces, without its dates."""
    pieces, start = [], 0
    for match in _DATED.finditer(text):
        if _is_time(text, match):
            pieces.append(text[start : match.start()])
            start = match.end()
    return [piece for piece in map(str.strip, [*pieces, text[start:]]) if piece]


def _is_time(text: str, match: re.Match[str]) -> bool:
    """Whether the date is one by itself, and not the beginning of a name."""
    before = _LAST_WORD.search(text, max(0, match.start() - 30), match.start())
    if before is not None and before[1].casefold() in _WORDS.before_dates:
        return True
    return _CAPITALISED.match(text, match.end()) is None


def only_in_dates(phrase: str, texts: Iterable[str]) -> bool:
    """Whether the phrase stands in the texts, and nowhere but in dates."""
    wanted = re.compile(rf"(?<!\w){re.escape(phrase)}(?!\w)")
    holding = [text for text in texts if wanted.search(text)]
    return bool(holding) and not any(wanted.search(piece) for text in holding for piece in between_dates(text))
