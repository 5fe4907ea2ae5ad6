"""A sketch as SPARQL: bound IRIs, typed values, and nothing of what anybody wrote."""

from __future__ import annotations

from collections.abc import Iterator

from atomr_local.language.literals import Date, format_number
from atomr_local.reasoning.sparql.offer import OfferedName, OfferedValue, is_iri
from atomr_local.reasoning.sparql.sketches import Chosen, Filter, Pattern, Term, X, Y


def sparql_of(chosen: Chosen) -> str:
    """The query.

    Raises:
        ValueError: an IRI of the offer is none.
    """
    lines = list(_lines(chosen))
    body = "\n".join(f"  {line}" for line in lines)
    if chosen.form == "ask":
        return f"ASK {{\n{body}\n}}"
    if chosen.form == "count":
        return f"SELECT (COUNT(DISTINCT {X}) AS ?count) WHERE {{\n{body}\n}}"
    if not chosen.order:
        return f"SELECT DISTINCT {X} WHERE {{\n{body}\n}}"
    # All that are equally extreme, with the value in which they are.
    best = "MAX" if chosen.order == "most" else "MIN"
    inner = "\n".join(f"    {line}" for line in (*lines, _SIZE_BOUND))
    return (
        f"SELECT DISTINCT {X} {Y} WHERE {{\n{body}\n  {_SIZE_BOUND}\n"
        f"  {{ SELECT ({best}(?size) AS ?best) WHERE {{\n{inner}\n  }} }}\n"
        f"  FILTER(?size = ?best)\n}}"
    )


def _lines(chosen: Chosen) -> Iterator[str]:
    for number, pattern in enumerate(chosen.patterns, 1):
        yield from _pattern(pattern, f"?v{number}")
    if chosen.filter is not None:
        yield _filter(chosen.filter)


def _pattern(pattern: Pattern, fresh: str) -> Iterator[str]:
    """The triple; a value is compared, for a graph may hold a day where a year is asked for."""
    value = pattern.object if isinstance(pattern.object, OfferedValue) else None
    tail = fresh if value is not None else _term(pattern.object)
    yield f"{_term(pattern.subject)} {_iri(pattern.predicate.iri)} {tail} ."
    if value is not None:
        yield _filter(Filter(fresh, "=", value))


def _term(term: Term) -> str:
    if isinstance(term, str):
        return {X: X, Y: Y}[term]
    if isinstance(term, OfferedName):
        return _iri(term.iri)
    raise ValueError("a value is not a term")


def _iri(iri: str) -> str:
    if not is_iri(iri):
        raise ValueError("not an IRI that can be bound")
    return f"<{iri}>"


def _filter(condition: Filter) -> str:
    """A comparison of a date at the precision that is given, or of a number."""
    value, variable = condition.value, condition.variable
    comparison = {"<": "<", ">": ">", "=": "="}[condition.comparison]
    if value.date is None:
        amount = format_number(value.number) if value.number is not None else "0"
        return f"FILTER({variable} {comparison} {amount})"
    left, right = _dated(variable, value.date)
    if value.number is not None and value.date.month is None:
        left = f"COALESCE({left}, {variable} + 0)"  # a year is a number too
    return f"FILTER({left} {comparison} {right})"


def _dated(variable: str, date: Date) -> tuple[str, int]:
    """A variable's date and a given one as whole numbers that compare as they do."""
    year, month = f"YEAR({variable})", f"MONTH({variable})"
    if date.month is None:
        return year, date.year
    if date.day is None:
        return f"COALESCE({year} * 100 + {month}, {year} * 100)", date.year * 100 + date.month
    return _day(variable), date.year * 10_000 + date.month * 100 + date.day


def _day(variable: str) -> str:
    """Dates may lack the day, or the month as well."""
    return f"COALESCE({', '.join(_days(variable))})"


def _days(variable: str) -> tuple[str, str, str]:
    year, month, day = f"YEAR({variable})", f"MONTH({variable})", f"DAY({variable})"
    return f"{year} * 10000 + {month} * 100 + {day}", f"{year} * 10000 + {month} * 100", f"{year} * 10000"


# What is compared for the most and the least: dates by their days, numbers as they are; entities never.
_SIZE_BOUND = f"BIND(COALESCE({', '.join(_days(Y))}, {Y} + 0) AS ?size)"
