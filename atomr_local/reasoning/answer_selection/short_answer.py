"""An answer in the form that the question asks for."""

from __future__ import annotations

from atomr_local.indexing.literals import parse_date
from atomr_local.language.answer_type import expected_type


def year_asked_for(question: str, answer: str) -> str:
    """The year of a date where the question surely asks for a year; any other answer as it is.

    Only for what is shown at the end: steps that build on the date need all of it.
    """
    date = parse_date(answer, bare_year=False)
    if date is None or date.year <= 0 or not expected_type(question).surely("year"):
        return answer
    return f"{date.year}"
