"""Parses periods: "1950", "March 1950", "the 1990s", "the 19th century", "1914–1918"."""

from __future__ import annotations

import re
from dataclasses import dataclass

from atomr_local.language.literals import Date, parse_date
from atomr_local.language.words import any_of, number_words

Day = tuple[int, int, int]

_YEARS_WORDS = re.compile(r"^(?:the\s+)?(?:year\s+|years\s+|month of\s+)", re.IGNORECASE)
_DECADE = re.compile(r"^(?:the\s+)?(?P<decade>\d{2,3})0['’]?s$", re.IGNORECASE)
# "the fifties", "the 50s": without its century.
_TENS = {f"{word[:-1]}ies": ten for word, ten in number_words().numbers.items() if ten >= 20}
_SHORT_DECADE = re.compile(
    rf"^(?:(?:in|of|from|during)\s+)?(?:the\s+)?['’]?(?:(?P<figure>[1-9])0['’]?s|(?P<word>{any_of(_TENS)}))$",
    re.IGNORECASE,
)
# The century that is meant where nothing tells another.
_CENTURY_MEANT = 1900
_CENTURY = re.compile(r"^(?:the\s+)?(?P<number>\d{1,2})(?:st|nd|rd|th) century(?P<bc> bce?)?$", re.IGNORECASE)
# An en dash, or a hyphen between years: 1950-03 is a month.
_FROM_TO = re.compile(
    r"^(?:from |between )?(?P<low>.+?)"
    r"(?:\s*[–—]\s*|\s+-\s+|\s+(?:to|and|until|till)\s+|(?<=\d{4})-(?=\d{4}$))(?P<high>.+)$",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of days, both ends included."""

    first: Day
    last: Day
    text: str


def parse_span(text: str) -> Span | None:
    """The days that a date, a decade ("the 1990s") or a century ("19th century") takes."""
    text = _YEARS_WORDS.sub("", text.strip())
    date = parse_date(text)
    if date is not None:
        # One or two digits are a count far more often than a year.
        return Span(date.first, date.last, text) if not text.isdigit() or len(text) > 2 else None
    decade = _DECADE.match(text)
    if decade:
        start = int(decade["decade"]) * 10
        return Span(Date(start).first, Date(start + 9).last, text)
    short = short_decade(text)
    if short is not None:
        start = _CENTURY_MEANT + short
        return Span(Date(start).first, Date(start + 9).last, text)
    century = _CENTURY.match(text)
    if century:
        number = int(century["number"])
        start = 1 - 100 * number if century["bc"] else 100 * (number - 1) + 1
        return Span(Date(start).first, Date(start + 99).last, text)
    return None


def short_decade(text: str) -> int | None:
    """The first year in its century of a decade without one: 50 for "the fifties" and "50s"; None for anything else."""
    match = _SHORT_DECADE.match(text.strip())
    if match is None:
        return None
    return int(match["figure"]) * 10 if match["figure"] else _TENS[match["word"].casefold()]


def parse_period(text: str) -> Span | None:
    """A span, or the stretch between two: "1914–1918", "from May 1940 to 1945"."""
    span = parse_span(text)
    if span is not None:
        return span
    match = _FROM_TO.match(text.strip())
    if match is None:
        return None
    low, high = parse_span(match["low"]), parse_span(match["high"])
    return Span(low.first, high.last, text) if low and high and low.first <= high.last else None
