"""Whether an answer can be of the kind that its question asks for. Only what is certain counts against an answer."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from atomr_local.language.answer_type import expected_type
from atomr_local.language.dated import only_in_dates
from atomr_local.language.literals import Quantity, parse_date, parse_quantity, unit_name
from atomr_local.reasoning.reading.answer_formats import UNDATED, AnswerSpec
from atomr_local.reasoning.reading.reading import Reading

# What is counted may be a unit: "how many square miles".
_COUNTED = re.compile(r"\bhow many ((?:\S+ ?){1,3})", re.IGNORECASE)
_NAMED = ("person", "place", "organisation")
_DATED = ("date", "year")


def misfit(question: str, answers: Sequence[str]) -> bool:
    """Whether an answer is surely of another kind, such as a length for a count or a date for a person."""
    expected = expected_type(question)
    quantities = [parse_quantity(answer) for answer in answers]
    if expected.surely(*_NAMED):
        return any(map(_is_amount, answers, quantities))
    if expected.surely(*_DATED):
        return any(found is not None and bool(found.unit) for found in quantities)
    counted = _COUNTED.search(question)
    if counted is not None and expected.surely("number", "quantity"):
        units = _units(counted[1])
        return any(found is not None and bool(found.unit) and not _measured_in(found, units) for found in quantities)
    return False


def without_dates(asked: AnswerSpec, reading: Reading) -> Reading:
    """The reading without answers to a question for a place or a person that the texts have in dates alone, such as the
    month of "born in October 1813". A grammar does not allow them; a server without grammars may write them.
    """
    if not asked.texts or asked.candidates or not expected_type(asked.question).surely(*UNDATED):
        return reading
    wrong = [answer for answer in reading.answers if only_in_dates(answer, asked.texts)]
    if not wrong:
        return reading
    dropped = (*reading.dropped, *(f"“{answer}” is part of a date: it is no answer" for answer in wrong))
    kept = [place for place, answer in enumerate(reading.answers) if answer not in wrong]
    if not kept:
        return Reading(confidence=reading.confidence, null=reading.null, dropped=dropped)
    return replace(
        reading,
        answers=tuple(reading.answers[place] for place in kept),
        each=tuple(reading.each[place] for place in kept) if reading.each else (),
        lines=tuple(reading.lines[place] for place in kept),
        dropped=dropped,
    )


def _is_amount(answer: str, quantity: Quantity | None) -> bool:
    return quantity is not None or parse_date(answer, bare_year=False) is not None


def _units(text: str) -> set[str]:
    """The units that the text begins with."""
    words = text.strip(" ?").split()
    found = (unit_name(" ".join(words[:size])) for size in range(1, len(words) + 1))
    return {unit for unit in found if unit}


def _measured_in(quantity: Quantity, units: set[str]) -> bool:
    return any(quantity.in_unit(unit) is not None for unit in units)
