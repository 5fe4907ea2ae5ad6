"""Prepares the values of a relation for an answer: no duplicates, most precise dates, with evidence."""

from __future__ import annotations

from collections.abc import Sequence

from atomr_local.language.literals import parse_date
from atomr_local.sources.protocol import Value, ValueKind


def distinct_values(values: Sequence[Value]) -> list[Value]:
    """Values in order, each once: by entity where known, else by text without regard to case."""
    return list({(value.iri or value.text.casefold()): value for value in reversed(values)}.values())[::-1]


def most_precise(values: list[Value]) -> list[Value]:
    """Without the dates that another one says more precisely ("1950" beside "2 March 1950")."""
    dates = {value.text: parse_date(value.text) for value in values if value.kind is ValueKind.DATE}
    normal = {text: str(date) for text, date in dates.items() if date}
    if len(normal) < 2:
        return values
    return [
        value
        for value in values
        if not any(other.startswith(normal.get(value.text, "?") + "-") for other in normal.values())
    ]
