"""Compares two values: same or different, earlier or later, smaller or larger, or undecidable."""

from __future__ import annotations

from dataclasses import replace

from atomr_local.language.countries import country_named
from atomr_local.language.names import base_key, name_key
from atomr_local.reasoning.operations.measures import Measure, Sort, measure
from atomr_local.reasoning.operations.operands import NotComputed
from atomr_local.sources.protocol import Value

_DATED = frozenset({"earlier", "later"})
UPWARDS = frozenset({"earlier", "smaller"})
_SORTS: tuple[Sort, ...] = ("date", "number")


def sort_of(word: str) -> Sort:
    """What a direction word compares: "earlier" and "later" dates, "smaller" and "larger" numbers."""
    return "date" if word in _DATED else "number"


def alike(one: Value, other: Value, *, said: bool = False) -> bool | None:
    """Whether two values are the same thing: by entity, date, amount, country or demonym, then by name.

    None if it is unknown: "Portland" may be "Portland, Oregon", 1950 may be 1950-03. A name compared with a day says
    nothing: the plan has left out the step that asks for the day.

    Args:
        said: whether the plan states the other value; a year in a plan means any day of it.
    """
    if one.iri is not None and other.iri is not None:
        return one.iri == other.iri
    if name_key(one.text) == name_key(other.text):
        return True
    countries = country_named(one.text), country_named(other.text)
    if None not in countries:
        return countries[0] == countries[1]
    for sort in _SORTS:
        first, second = measure(one, sort), measure(other, sort)
        if first is not None and second is not None:
            return _same_measure(first, second, within=said and sort == "date")
    if _is_day(one) != _is_day(other):
        return None
    return _same_name(one.text, other.text)


def _is_day(value: Value) -> bool:
    found = measure(value, "date")
    return found is not None and found.low == found.high


def _same_measure(one: Measure, other: Measure, *, within: bool) -> bool | None:
    if one.unit != other.unit:
        return None
    if one.same(other) or (within and other.low <= one.low and one.high <= other.high):
        return True
    return None if one.low <= other.high and other.low <= one.high else False


def _same_name(one: str, other: str) -> bool | None:
    """For two different names: one inside the other may be its short form; "Ann (poet)" is not "Ann (film)"."""
    shorter, longer = sorted((base_key(one), base_key(other)), key=len)
    if shorter == longer:
        return None if ")" in one and ")" in other else True
    return None if f" {shorter} " in f" {longer} " else False


def stands_so(one: Measure, other: Measure, word: str, *, bare: bool = False) -> bool | None:
    """Whether `one` is earlier, later, smaller or larger than `other`; None if it is unknown.

    Args:
        bare: whether the plan states `other`: a bare number then has the unit of `one`, and a year is the whole year.

    Raises:
        NotComputed: their units differ in dimension.
    """
    if one.unit != other.unit and not (bare and "" in (one.unit, other.unit)):
        raise NotComputed(f"{one.shown!r} and {other.shown!r} are not in units of one kind")
    if one.unit != other.unit:
        one, other = _plain(one), _plain(other)
    if bare and other.sort == "date":  # a year in the plan: a day of 1814 is not before 1814
        upwards = word in UPWARDS
        surely, maybe = (one.high, one.low) if upwards else (one.low, one.high)
        bound = other.low if upwards else other.high
        if (surely < bound) if upwards else (surely > bound):
            return True
        return None if ((maybe < bound) if upwards else (maybe > bound)) else False
    return one.before(other) if word in UPWARDS else other.before(one)


def _plain(item: Measure) -> Measure:
    """The measure in the unit it is written in."""
    if item.quantity is None:
        return item
    return replace(item, low=item.quantity.amount, high=item.quantity.amount, unit="")
