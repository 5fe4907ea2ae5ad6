"""Whether an answer can be of the kind that its question asks for. Only what is certain counts against an answer."""

from __future__ import annotations

import re
from collections.abc import Sequence

from atomr_local.language.answer_type import expected_type
from atomr_local.language.literals import Quantity, parse_date, parse_quantity, unit_name

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


def _is_amount(answer: str, quantity: Quantity | None) -> bool:
    return quantity is not None or parse_date(answer, bare_year=False) is not None


def _units(text: str) -> set[str]:
    """The units that the text begins with."""
    words = text.strip(" ?").split()
    found = (unit_name(" ".join(words[:size])) for size in range(1, len(words) + 1))
    return {unit for unit in found if unit}


def _measured_in(quantity: Quantity, units: set[str]) -> bool:
    return any(quantity.in_unit(unit) is not None for unit in units)
