"""An answer in the form that the question asks for."""

from __future__ import annotations

from dataclasses import replace

from atomr_local.language.answer_type import expected_type
from atomr_local.language.literals import parse_date
from atomr_local.reasoning.results import Result, distinct


def year_asked_for(question: str, answer: str) -> str:
    """The year of a date where the question surely asks for a year; any other answer as it is.

    Only for what is shown at the end: steps that build on the date need all of it.
    """
    date = parse_date(answer, bare_year=False)
    if date is None or date.year <= 0 or not expected_type(question).surely("year"):
        return answer
    return f"{date.year}"


def shorten(question: str, result: Result) -> None:
    """Show the year alone where a year is asked for; the computation says what was found in full."""
    short = tuple(replace(value, text=year_asked_for(question, value.text)) for value in result.values)
    if short != result.values:
        in_full = f"in full: {'; '.join(result.texts)}"
        result.computation = f"{result.computation}; {in_full}" if result.computation else in_full
        result.values = distinct(short)
