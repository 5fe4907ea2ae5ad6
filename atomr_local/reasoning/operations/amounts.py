"""Operations that return a number, a quantity or a part of a date."""

from __future__ import annotations

import calendar
from collections.abc import Sequence
from dataclasses import replace
from datetime import date as Day
from decimal import Decimal

from atomr_local.language.literals import Date, unit_name
from atomr_local.reasoning.operations.measures import (
    Measure,
    amount_text,
    common_unit,
    divided,
    in_unit,
    measure,
    rounded,
    to_places,
)
from atomr_local.reasoning.operations.operands import (
    Measured,
    NotComputed,
    Operand,
    entries,
    id_of,
    measured_entries,
    measured_one,
)
from atomr_local.reasoning.results import distinct
from atomr_local.sources.protocol import Value, ValueKind

_CALENDAR = {"year": "years", "month": "months", "day": "days", "week": "weeks", "decade": "decades"}
_MOST_SHOWN = 12
# The calendar repeats every 400 years, which have this many days; `datetime` covers the years 1 to 9999.
_CYCLE_YEARS, _CYCLE_DAYS = 400, 146_097


def difference(first: Operand, second: Operand, unit: str | None) -> tuple[tuple[Value, ...], str]:
    """The difference of two dates, in completed years, months or days, or of two amounts.

    Raises:
        NotComputed: they are not both dates or both amounts of one dimension, or not exact enough.
    """
    dates = _both_dates(first, second, unit)
    if dates is not None:
        values, computation = _between(*dates, _calendar_unit(unit), unit is not None)
        return _of_both(values, first, second), computation
    (one, name), (other, other_name) = (measured_one(operand, "number", exact=True) for operand in (first, second))
    if one.unit != other.unit:
        raise NotComputed(
            f"step {first.node_id} gave {one.shown!r} and step {second.node_id} gave {other.shown!r};"
            " amounts in units of one kind are needed"
        )
    shown_unit = _unit(unit, one) if unit else common_unit([one, other])
    worded = _worded(unit, shown_unit)
    if _amount(one) < _amount(other):
        one, other, name, other_name = other, one, other_name, name
    told = _about([one, other]) + amount_text(
        in_unit(_amount(one) - _amount(other), one.unit, shown_unit, [one, other]), worded
    )
    computation = f"{name} {one.shown} − {other_name} {other.shown} = {told}"
    return _of_both((Value(told, ValueKind.NUMBER),), first, second), " ".join(computation.split())


def _of_both(values: tuple[Value, ...], first: Operand, second: Operand) -> tuple[Value, ...]:
    """The values with the one owner that both operands share: an age belongs to its person."""
    one, other = ({id_of(owner): owner for value in item.owned() for owner in value.of} for item in (first, second))
    owners = tuple(one.values()) if len(one) == 1 and one.keys() == other.keys() else ()
    return tuple(replace(value, of=owners) for value in values)


def _amount(item: Measure) -> Decimal:
    assert item.amount is not None  # operands with several amounts were refused
    return item.amount


def _about(measures: Sequence[Measure]) -> str:
    return "about " if any(item.about for item in measures) else ""


def _both_dates(first: Operand, second: Operand, unit: str | None) -> tuple[Measure, Measure] | None:
    """The operands as dates, earlier first; None if they are not, or if bare numbers such as "1200" mean amounts."""
    readings = [[measure(value, "date") for value in operand.owned()] for operand in (first, second)]
    if not all(found and all(found) for found in readings):
        for operand in (first, second):
            if any(not value.text.strip().isdigit() and measure(value, "date") for value in operand.owned()):
                for other in (first, second):  # with a date only a date can be compared
                    measured_one(other, "date")
        return None
    bare = all(value.text.strip().isdigit() for operand in (first, second) for value in operand.values)
    said = any(value.kind is ValueKind.DATE for operand in (first, second) for value in operand.values)
    if bare and not said and (unit is None or _calendar_unit(unit) is None):
        return None
    one, two = (measured_one(operand, "date")[0] for operand in (first, second))
    return (one, two) if (one.low, one.high) <= (two.low, two.high) else (two, one)


def _calendar_unit(unit: str | None) -> str | None:
    """ "years" for "year", "Years", "completed years"; None for anything else."""
    last = unit.casefold().split()[-1] if unit and unit.split() else ""
    return _CALENDAR.get(last.removesuffix("s"))


def _between(early: Measure, late: Measure, unit: str | None, asked: bool) -> tuple[tuple[Value, ...], str]:
    one, two = early.date, late.date
    if one is None or two is None:
        vague = early if one is None else late
        raise NotComputed(f"{vague.shown!r} is no single date")
    if asked and unit is None:
        raise NotComputed("two dates differ by years, months, weeks or days")
    both_days = one.day is not None and two.day is not None
    years, exact = _years(one, two)
    if unit is None:  # the usual unit
        unit = "years" if years or not both_days else "days"
    if unit in ("days", "weeks"):
        if not both_days:
            raise NotComputed(f"{one if one.day is None else two} is no full date; days are needed")
        number = _day_number(two) - _day_number(one)
        number = number // 7 if unit == "weeks" else number
    elif unit == "months":
        if one.month is None or two.month is None:
            raise NotComputed(f"{one if one.month is None else two} has no month")
        number = 12 * (two.year - one.year) + two.month - one.month - _short(one.day, two.day)
    else:
        number = years // 10 if unit == "decades" else years
    about = "" if exact or unit not in ("years", "decades") else " by the calendar"
    told = f"{number} {unit if number != 1 else unit[:-1]}"
    return (Value(str(number) if asked else told, ValueKind.NUMBER),), f"{late.shown} − {early.shown} = {told}{about}"


def _years(one: Date, two: Date) -> tuple[int, bool]:
    """Completed years between two dates and True; if a date is not exact enough, the difference of years and False."""
    years = two.year - one.year
    if one.month is None or two.month is None:
        return years, False
    if one.month != two.month:
        return years - (two.month < one.month), True
    if one.day is None or two.day is None:
        return years, False
    return years - (two.day < one.day), True


def _short(one: int | None, two: int | None) -> int:
    return int(one is not None and two is not None and two < one)


def _day_number(date: Date) -> int:
    """Days since the beginning of a cycle of the proleptic Gregorian calendar."""
    assert date.month is not None and date.day is not None
    cycle, year = divmod(date.year - 1, _CYCLE_YEARS)
    return cycle * _CYCLE_DAYS + Day(year + 1, date.month, date.day).toordinal()


def _unit(unit: str, item: Measure) -> str:
    """The unit's normal form, if amounts like `item` can be converted to it."""
    named = unit_name(unit)
    if named is None or item.quantity is None or item.quantity.in_unit(named) is None:
        raise NotComputed(f"{item.shown!r} cannot be told in {unit!r}")
    return named


def _worded(unit: str | None, named: str) -> str:
    """The unit as the plan writes it if that is a word ("miles"), else its usual short form."""
    return unit.strip() if unit and unit.strip().replace(" ", "").isalpha() and len(unit.strip()) > 3 else named


def ratio(first: Operand, second: Operand) -> tuple[tuple[Value, ...], str]:
    """The ratio of the first amount to the second.

    Raises:
        NotComputed: they are not amounts of one dimension, or the second is zero.
    """
    (one, name), (other, other_name) = (measured_one(operand, "number", exact=True) for operand in (first, second))
    if one.unit != other.unit:
        raise NotComputed(f"{one.shown!r} and {other.shown!r} are not in units of one kind")
    if not _amount(other):
        raise NotComputed(f"step {second.node_id} gave {other.shown!r}; nothing can be divided by it")
    told = _about([one, other]) + amount_text(to_places(divided(_amount(one), _amount(other))))
    computation = f"{name} {one.shown} / {other_name} {other.shown} = {told}"
    return _of_both((Value(told, ValueKind.NUMBER),), first, second), " ".join(computation.split())


def _exact(operands: Sequence[Operand]) -> list[Measured]:
    measured = measured_entries(entries(operands), "number")
    for item in measured:
        if item.measure.amount is None:
            raise NotComputed(f"step {item.entry.node_id} gave several amounts for {item.shown}; one is needed")
    return measured


def _listed(measured: Sequence[Measured], sign: str) -> str:
    shown = [item.shown for item in measured[:_MOST_SHOWN]]
    return sign.join(shown) + (f"{sign}… ({len(measured)} in all)" if len(measured) > _MOST_SHOWN else "")


def _added(operands: Sequence[Operand]) -> tuple[list[Measured], Decimal, str]:
    measured = _exact(operands)
    measures = [item.measure for item in measured]
    unit = common_unit(measures)
    amount = sum((_amount(item) for item in measures), Decimal(0))
    return measured, in_unit(amount, measures[0].unit, unit, measures), unit


def total(operands: Sequence[Operand]) -> tuple[tuple[Value, ...], str]:
    """The sum.

    Raises:
        NotComputed: a value is not an amount, or the units differ in dimension.
    """
    measured, amount, unit = _added(operands)
    told = _about([item.measure for item in measured]) + amount_text(amount, unit)
    return (Value(told, ValueKind.NUMBER),), f"{_listed(measured, ' + ')} = {told}"


def average(operands: Sequence[Operand]) -> tuple[tuple[Value, ...], str]:
    """The arithmetic mean.

    Raises:
        NotComputed: as :func:`total`.
    """
    measured, amount, unit = _added(operands)
    mean = to_places(divided(amount, Decimal(len(measured))))
    told = _about([item.measure for item in measured]) + amount_text(mean, unit)
    return (Value(told, ValueKind.NUMBER),), f"({_listed(measured, ' + ')}) / {len(measured)} = {told}"


def count(operand: Operand) -> tuple[tuple[Value, ...], str]:
    """The number of values; a single number counts as the count itself."""
    values = distinct(operand.values)
    if len(values) == 1 and measure(values[0], "number") is not None:
        return values, f"{values[0].text} is a number already"
    shown = ", ".join(value.text for value in values[:_MOST_SHOWN]) + (", …" if len(values) > _MOST_SHOWN else "")
    return (Value(str(len(values)), ValueKind.NUMBER),), f"count({shown}) = {len(values)}"


def part(operand: Operand, name: str) -> tuple[tuple[Value, ...], str]:
    """The year, month, day, decade ("1960s") or century ("19th century") of each date.

    Raises:
        NotComputed: a value is not a date, or not exact enough.
    """
    values, told = [], []
    for entry in entries([operand]):
        found = [measure(value, "date") for value in entry.values]
        if None in found:
            bad = next(value for value, item in zip(entry.values, found, strict=True) if item is None)
            raise NotComputed(f"step {operand.node_id} gave {bad.text!r}; a date is needed")
        first = min((item for item in found if item is not None), key=lambda item: (item.low, item.high))
        text = _part(first, name)
        if text is None:
            raise NotComputed(f"step {operand.node_id} gave {first.shown!r}, which does not say the {name}")
        of = (entry.entity,) if entry.entity is not None else ()
        values.append(Value(text, ValueKind.DATE if name == "year" else ValueKind.TEXT, of=of))
        which = f"the earliest of {len(found)}, " if len(found) > 1 else ""
        told.append(f"{name} of {which}{first.shown} = {text}")
    more = f"; and {len(told) - _MOST_SHOWN} more" if len(told) > _MOST_SHOWN else ""
    return distinct(values), "; ".join(told[:_MOST_SHOWN]) + more


def _part(item: Measure, name: str) -> str | None:
    """The part if the whole range of the date lies in it, else None."""
    low, high = (_named(day, name) for day in (item.low, item.high))
    stated = {"month": 2, "day": 3}.get(name)
    known = 0 if item.date is None else 3 if item.date.day is not None else 2 if item.date.month is not None else 1
    if low != high or (stated and known < stated):
        return None
    return low


def _named(day: tuple[int, int, int], name: str) -> str:
    year, month, number = day
    if name == "month":
        return calendar.month_name[month]
    if name == "day":
        return str(number)
    before = year < 1  # year 0 is 1 BC
    shown, era = (1 - year, " BC") if before else (year, "")
    if name == "year":
        return f"{shown}{era}"
    if name == "decade":
        return f"{shown // 10 * 10}s{era}"
    century = (shown + 99) // 100
    suffix = "th" if 10 <= century % 100 <= 20 else {1: "st", 2: "nd", 3: "rd"}.get(century % 10, "th")
    return f"{century}{suffix} century{era}"


def convert(operand: Operand, unit: str) -> tuple[tuple[Value, ...], str]:
    """Each quantity in the unit.

    Raises:
        NotComputed: a value is not a quantity, or has another dimension.
    """
    values, told = [], []
    for value in operand.owned():
        found = measure(value, "number")
        if found is None or found.quantity is None:
            raise NotComputed(f"step {operand.node_id} gave {value.text!r}; a number or quantity is needed")
        named = _unit(unit, found)
        converted = found.quantity.in_unit(named)
        assert converted is not None
        exact = named == found.quantity.unit
        text = _about([found]) + amount_text(
            converted.amount if exact else rounded(converted.amount), _worded(unit, named)
        )
        values.append(replace(value, text=text, kind=ValueKind.NUMBER, iri=None))
        told.append(f"{found.shown} = {text}")
    return distinct(values), "; ".join(told[:_MOST_SHOWN])
