"""What kind of answer a question expects: it steers the grammar of the answer."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Literal

from atomr_local.indexing.literals import parse_date

Expected = Literal["any", "country", "date", "number", "place", "yes/no"]

_DATE = re.compile(
    r"when\b|(?:in |on |what is |what was |which |what )?(?:which |what |the )?(?:year|date|day)\b"
    r"|.*\bdate of (?:birth|death)\b",
    re.IGNORECASE,
)
_NUMBER = re.compile(
    r"how (?:many|much|old|tall|long|high|far|large|big|deep|wide)\b|.*\b(?:number|population) of\b", re.I
)
_YES_NO = re.compile(r"(?:is|are|was|were|do|does|did|has|have|had|can|could|will|would)\b(?!.*,.*\bor\b)", re.I)
_PLACE = re.compile(
    r"where\b|.*\b(?:place|city|town) of (?:birth|death|burial)\b|in (?:which|what) (?:city|town)\b", re.I
)
_COUNTRY = re.compile(
    r"(?:in |from )?(?:which|what) (?:country|nationality)\b"
    r"|what is the (?:country(?: of (?:citizenship|origin))?|nationality) of\b",
    re.IGNORECASE,
)
_YEAR = re.compile(r"\b(?:what|which) year\b|\bthe year (?:in which|of|that|when)\b", re.IGNORECASE)
_CHOICE = re.compile(r"\bor\b", re.IGNORECASE)

_MONTH = (
    r"(?:January|February|March|April|May|June|July|August|September|October|November|December"
    r"|Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept?|Oct|Nov|Dec)\.?"
)
_DATES = re.compile(
    rf"\b(?:\d{{1,2}}(?:st|nd|rd|th)? (?:of )?{_MONTH},? \d{{3,4}}|{_MONTH} \d{{1,2}}(?:st|nd|rd|th)?,? \d{{3,4}}"
    rf"|{_MONTH},? \d{{4}}|\d{{4}}-\d{{2}}-\d{{2}}|\d{{1,4}} (?:BC|BCE|AD)|\d{{4}})\b"
)


def expected_answer(question: str) -> Expected:
    """By the question's words; "any" where they do not settle it."""
    text = question.strip()
    if _NUMBER.match(text):
        return "number"
    if _DATE.match(text):
        return "date"
    if _YES_NO.match(text) and not _CHOICE.search(text):
        return "yes/no"
    if _COUNTRY.match(text):
        return "country"
    if _PLACE.match(text):
        return "place"
    return "any"


def short_form(answer: str, expected: Expected) -> str:
    """What a place is called by itself: "Montreal" for "Montreal, Quebec"; any other answer as it is."""
    return answer.split(",", maxsplit=1)[0].strip() or answer if expected == "place" else answer


def year_asked_for(question: str, answer: str) -> str:
    """The year of a date where the question asks for a year: "In what year …"; any other answer as it is."""
    if not _YEAR.search(question):
        return answer
    date = parse_date(answer, bare_year=False)
    return f"{date.year}" if date is not None and date.year > 0 else answer


def dates_in(texts: Iterable[str]) -> tuple[str, ...]:
    """Dates and years as they are written in the texts, each once, in order; a date's year also by itself."""
    found: dict[str, None] = {}
    for text in texts:
        for match in _DATES.finditer(text):
            found.setdefault(match[0])
            for year in re.findall(r"\d{4}(?!-)", match[0]):
                found.setdefault(year)
    return tuple(found)
