"""The typed operations. Each gives its values, and the computation in a form that people can check.

All raise NotComputed, whose message is the reason, where operands are not what they need (dates, or amounts of one
dimension), or where it is unknown which of two comes first or whether two are the same.
"""

from __future__ import annotations

import calendar
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import date as Day
from decimal import Decimal
from itertools import pairwise

from atomr_local.language.literals import Date, short_decade, unit_name
from atomr_local.language.words import singular
from atomr_local.reasoning.operations.measures import (
    Measure,
    amount_text,
    common_unit,
    divided,
    in_unit,
    measure,
    measure_words,
    rounded,
    to_places,
)
from atomr_local.reasoning.operations.operands import (
    UPWARDS,
    Entry,
    Measured,
    NotComputed,
    Operand,
    alike,
    entries,
    id_of,
    measured_entries,
    measured_one,
    sort_of,
    stands_so,
)
from atomr_local.reasoning.results import distinct
from atomr_local.sources.protocol import Value, ValueKind

Found = tuple[tuple[Value, ...], str]
_CALENDAR = {"year": "years", "month": "months", "day": "days", "week": "weeks", "decade": "decades"}
_MOST_SHOWN, _FEWER_SHOWN = 12, 8
# The calendar repeats every 400 years, which have this many days; `datetime` covers the years 1 to 9999.
_CYCLE_YEARS, _CYCLE_DAYS = 400, 146_097


def difference(first: Operand, second: Operand, unit: str | None) -> Found:
    """The difference of two dates, in completed years, months or days, or of two amounts."""
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
    return _CALENDAR.get(singular(last))


def _between(early: Measure, late: Measure, unit: str | None, asked: bool) -> Found:
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
        short = one.day is not None and two.day is not None and two.day < one.day
        number = 12 * (two.year - one.year) + two.month - one.month - short
    else:
        number = years // 10 if unit == "decades" else years
    about = "" if exact or unit not in ("years", "decades") else " by the calendar"
    told = f"{number} {unit if number != 1 else singular(unit)}"
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


def ratio(first: Operand, second: Operand) -> Found:
    """The ratio of the first amount to the second."""
    (one, name), (other, other_name) = (measured_one(operand, "number", exact=True) for operand in (first, second))
    if one.unit != other.unit:
        raise NotComputed(f"{one.shown!r} and {other.shown!r} are not in units of one kind")
    if not _amount(other):
        raise NotComputed(f"step {second.node_id} gave {other.shown!r}; nothing can be divided by it")
    told = _about([one, other]) + amount_text(to_places(divided(_amount(one), _amount(other))))
    computation = f"{name} {one.shown} / {other_name} {other.shown} = {told}"
    return _of_both((Value(told, ValueKind.NUMBER),), first, second), " ".join(computation.split())


def _some(texts: Sequence[str], sign: str, rest: str, most: int = _FEWER_SHOWN) -> str:
    """The first texts with the sign between them; `rest` stands for the others."""
    return sign.join(texts[:most]) + (rest if len(texts) > most else "")


def _listed(measured: Sequence[Measured], sign: str) -> str:
    return _some([item.shown for item in measured], sign, f"{sign}… ({len(measured)} in all)", _MOST_SHOWN)


def _added(operands: Sequence[Operand]) -> tuple[list[Measured], Decimal, str, str]:
    """What is added, the sum, its unit, and "about " if a part is approximate."""
    measured = measured_entries(entries(operands), "number")
    for item in measured:
        if item.measure.amount is None:
            raise NotComputed(f"step {item.entry.node_id} gave several amounts for {item.shown}; one is needed")
    measures = [item.measure for item in measured]
    unit = common_unit(measures)
    amount = sum(map(_amount, measures), Decimal(0))
    return measured, in_unit(amount, measures[0].unit, unit, measures), unit, _about(measures)


def total(operands: Sequence[Operand]) -> Found:
    """The sum."""
    measured, amount, unit, about = _added(operands)
    told = about + amount_text(amount, unit)
    return (Value(told, ValueKind.NUMBER),), f"{_listed(measured, ' + ')} = {told}"


def average(operands: Sequence[Operand]) -> Found:
    """The arithmetic mean."""
    measured, amount, unit, about = _added(operands)
    told = about + amount_text(to_places(divided(amount, Decimal(len(measured)))), unit)
    return (Value(told, ValueKind.NUMBER),), f"({_listed(measured, ' + ')}) / {len(measured)} = {told}"


def count(operand: Operand) -> Found:
    """The number of values; a single number counts as the count itself."""
    values = distinct(operand.values)
    if len(values) == 1 and measure(values[0], "number") is not None:
        return values, f"{values[0].text} is a number already"
    shown = _some([value.text for value in values], ", ", ", …", _MOST_SHOWN)
    return (Value(str(len(values)), ValueKind.NUMBER),), f"count({shown}) = {len(values)}"


def part(operand: Operand, name: str) -> Found:
    """The year, month, day, decade ("1960s") or century ("19th century") of each date."""
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
    return distinct(values), _some(told, "; ", f"; and {len(told) - _MOST_SHOWN} more", _MOST_SHOWN)


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


def convert(operand: Operand, unit: str) -> Found:
    """Each quantity in the unit."""
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


# Operations on an order: extremes, top n, sorting, selection by a condition.


def compare(operands: Sequence[Operand], word: str, asked: str) -> Found:
    """The things with the extreme value, ties included."""
    # One operand is a set, and a set of one has its extreme.
    ordered = _ordered(operands, word, asked, least=min(2, len(operands)))
    return _leading(ordered, 1, word)


def top(operands: Sequence[Operand], word: str, number: int, asked: str) -> Found:
    """The first `number` in the order, ties for the last place included."""
    ordered = _ordered(operands, word, asked, least=1)
    _settled(ordered[: number + 1], word)
    return _leading(ordered, number, word)


def sort(operands: Sequence[Operand], word: str, asked: str) -> Found:
    """Everything in the order."""
    ordered = _ordered(operands, word, asked, least=1)
    _settled(ordered, word)
    return _order_named(ordered), _chain(ordered, word)


def _leading(ordered: Sequence[Measured], number: int, word: str) -> Found:
    """The first ones, with all that equal the last of them."""
    kept = list(ordered[:number])
    kept += [item for item in ordered[number:] if item.measure.same(kept[-1].measure)]
    for item in ordered[len(kept) :]:
        _first(kept[-1], item, word)
    return _order_named(kept), _chain(ordered, word)


def _ordered(operands: Sequence[Operand], word: str, asked: str, least: int = 2) -> list[Measured]:
    found = entries(operands, asked)
    if len(found) < least:
        only = f"step {operands[0].node_id} gave only {operands[0].shown}" if found else "nothing was found"
        raise NotComputed(f"{only}; {least} or more are needed to compare")
    measured = measured_entries(found, sort_of(word))
    if word in UPWARDS:
        return sorted(measured, key=lambda item: (item.measure.low, item.measure.high))
    return sorted(measured, key=lambda item: (item.measure.high, item.measure.low), reverse=True)


def _first(one: Measured, other: Measured, word: str) -> None:
    """Raise NotComputed if it is unknown which of the two comes first."""
    low, high = (one.measure, other.measure) if word in UPWARDS else (other.measure, one.measure)
    if low.before(high) is None:
        raise NotComputed(f"{one.shown} and {other.shown} cannot be put in an order")


def _settled(ordered: Sequence[Measured], word: str) -> None:
    for one, other in pairwise(ordered):
        if not one.measure.same(other.measure):
            _first(one, other, word)


def _order_named(measured: Sequence[Measured]) -> tuple[Value, ...]:
    return distinct([value for item in measured for value in item.entry.answer])


def _chain(ordered: Sequence[Measured], word: str) -> str:
    """ "1948-07-07 < 1950-03-01", ascending; a long chain is cut after its first items."""
    shown = list(ordered)
    more = ""
    if len(shown) > _FEWER_SHOWN:
        more = f" and {len(shown) - _FEWER_SHOWN} more"
        shown = shown[:_FEWER_SHOWN]
    upwards = word in UPWARDS or not more
    if upwards and word not in UPWARDS:
        shown.reverse()
    if len(shown) == 1:
        return f"{shown[0].shown} alone"
    parts = [shown[0].shown]
    for one, other in pairwise(shown):
        sign = "=" if one.measure.same(other.measure) else "<" if upwards else ">"
        parts.append(f"{sign} {other.shown}")
    return " ".join(parts) + more


def select(operands: Sequence[Operand | str], bound: Operand | str, word: str, asked: str) -> Found:
    """The things whose value has the relation `word` to the last operand."""
    known = [operand for operand in operands if isinstance(operand, Operand) and operand is not bound]
    found = entries(known, asked)
    if isinstance(bound, str):
        bound = _with_century(bound, found)
    if word in ("same", "different"):
        return _selected_alike(found, bound, word)
    limit, _ = measured_one(bound, sort_of(word))
    kept, left, open_ones = list[Measured](), list[Measured](), list[Measured]()
    for item in measured_entries(found, sort_of(word)):
        stands = stands_so(item.measure, limit, word, bare=isinstance(bound, str))
        (open_ones if stands is None else kept if stands else left).append(item)
    if open_ones:
        raise NotComputed(f"whether {open_ones[0].shown} is {word} than {limit.shown} cannot be told")
    sign = "<" if word in UPWARDS else ">"
    those = [f"{item.shown} {sign} {limit.shown}" for item in kept]
    told = [_some(those, "; ", f"; {len(kept) - _FEWER_SHOWN} more such")] if kept else []
    others = _some([item.shown for item in left], ", ", f" and {len(left) - _FEWER_SHOWN} more")
    return _order_named(kept), "; ".join([*told, *([f"not: {others}"] if left else [])])


def _with_century(text: str, found: Sequence[Entry]) -> str:
    """ "the twenties" as "1820s" if all compared dates are of that century; else the text."""
    decade = short_decade(text)
    if decade is None:
        return text
    dates = [date for entry in found for value in entry.values if (date := measure(value, "date")) is not None]
    centuries = {end[0] // 100 for date in dates for end in (date.low, date.high)}
    return f"{centuries.pop()}{decade}s" if len(centuries) == 1 else text


def _selected_alike(found: Sequence[Entry], bound: Operand | str, word: str) -> Found:
    others = _values(bound)
    kept, told = [], []
    for entry in found:
        same = [alike(value, other, said=isinstance(bound, str)) for value in entry.values for other in others]
        if not any(same) and None in same:
            shown = f"{entry.name} {entry.values[0].text}".strip()
            raise NotComputed(f"whether {shown} is {others[0].text!r} cannot be told")
        values = " / ".join(value.text for value in entry.values)
        told.append(f"{entry.name} {values} {'=' if any(same) else '≠'} {others[0].text}".strip())
        if any(same) == (word == "same"):
            kept.append(entry)
    shown = _some(told, "; ", f"; {len(told) - _FEWER_SHOWN} more")
    return distinct([value for entry in kept for value in entry.answer]), shown


# Operations on sets and truth values: union, intersection, difference, equality, all, any.

_ORDERS = ("earlier", "later", "smaller", "larger")


class _Known:
    """Values that others are compared with by :func:`alike`. Two graph entities are alike by their IRIs alone, so that
    sets of ten thousand entities are not compared one by one."""

    def __init__(self, values: Iterable[Value] = (), *, said: bool = False) -> None:
        self._values: list[Value] = []
        self._iris: set[str] = set()
        self._without_iri: list[Value] = []
        self._said = said
        for value in values:
            self.add(value)

    def add(self, value: Value) -> None:
        self._values.append(value)
        if value.iri is None:
            self._without_iri.append(value)
        else:
            self._iris.add(value.iri)

    def has(self, value: Value) -> bool:
        """Whether one of the values is surely alike."""
        if value.iri in self._iris:
            return True
        return any(alike(value, other, said=self._said) for other in self._to_compare(value))

    def doubtful(self, value: Value) -> Value | None:
        """The first of the values of which cannot be told whether it is alike."""
        others = self._to_compare(value)
        return next((other for other in others if alike(value, other, said=self._said) is None), None)

    def _to_compare(self, value: Value) -> list[Value]:
        return self._values if value.iri is None else self._without_iri


def _shared(one: Sequence[Value], other: Sequence[Value], *, said: bool = False) -> tuple[Value, ...]:
    known = _Known(other, said=said)
    return tuple(value for value in one if known.has(value))


def _doubtful(one: Sequence[Value], other: Sequence[Value], *, said: bool = False) -> tuple[Value, Value] | None:
    known = _Known(other, said=said)
    pairs = ((value, known.doubtful(value)) for value in one)
    return next(((value, found) for value, found in pairs if found is not None), None)


def _texts(values: Sequence[Value]) -> str:
    return _some([value.text for value in values], " / ", f" / … ({len(values)} in all)")


def _braced(values: Sequence[Value]) -> str:
    return "{" + _some([value.text for value in values], ", ", f", … {len(values)} in all") + "}"


def _verdict(truth: bool) -> tuple[Value, ...]:
    return (Value("yes" if truth else "no", ValueKind.BOOLEAN),)


def stands(first: Operand | str, second: Operand | str, word: str) -> Found:
    """Whether the first is the same as, earlier than, … or among the second.

    Two answers with several values are the same if they share one; for "among" all values of the first must be shared.
    """
    if word in _ORDERS:
        return _sets_ordered(first, second, word)
    one, other = _values(first), _values(second)
    said = isinstance(second, str)
    shared = _shared(one, other, said=said)
    if word == "among":
        found = set(shared)
        left = [value for value in one if value not in found]
        doubt = _doubtful(left, other, said=said)
        if doubt is not None:
            raise NotComputed(f"whether {doubt[0].text!r} is {doubt[1].text!r} cannot be told")
        sign = "∉" if left else "∈"
        return _verdict(not left), f"{_texts(left or one)} {sign} {_braced(other)}"
    doubt = None if shared else _doubtful(one, other, said=said)
    if doubt is not None:
        raise NotComputed(f"whether {doubt[0].text!r} is {doubt[1].text!r} cannot be told")
    return _verdict(bool(shared) == (word == "same")), f"{_texts(one)} {'=' if shared else '≠'} {_texts(other)}"


def _sets_ordered(first: Operand | str, second: Operand | str, word: str) -> Found:
    (one, name), (other, other_name) = (measured_one(operand, sort_of(word)) for operand in (first, second))
    bare = isinstance(second, str)
    truth = stands_so(one, other, word, bare=bare)
    shown, other_shown = f"{name} {one.shown}".strip(), f"{other_name} {other.shown}".strip()
    if truth is None:
        raise NotComputed(f"whether {shown} is {word} than {other_shown} cannot be told")
    upwards = word in UPWARDS
    if truth:
        sign = "<" if upwards else ">"
    else:
        beyond = stands_so(other, one, word, bare=bare)
        sign = "=" if one.same(other) else (">" if upwards else "<") if beyond else "≥" if upwards else "≤"
    return _verdict(truth), f"{shown} {sign} {other_shown}"


def _values(operand: Operand | str) -> tuple[Value, ...]:
    return (Value(operand),) if isinstance(operand, str) else operand.values


def verdicts(operands: Sequence[Operand], *, every: bool) -> Found:
    """Whether all, or any, of the answers are yes."""
    known = measure_words()["values"]
    truths, told = [], []
    for operand in operands:
        for value in operand.values:
            word = value.text.strip().strip(".").casefold()
            if word not in known["yes"] and word not in known["no"]:
                raise NotComputed(f"step {operand.node_id} gave {value.text!r}; yes or no is needed")
            truths.append(word in known["yes"])
            told.append("yes" if truths[-1] else "no")
    return _verdict(all(truths) if every else any(truths)), (" and " if every else " or ").join(told)


def union(operands: Sequence[Operand]) -> Found:
    """All values, each once."""
    values: list[Value] = []
    known = _Known()
    for operand in operands:
        new = [value for value in operand.values if not known.has(value)]
        values += new
        for value in new:
            known.add(value)
    return tuple(values), " ∪ ".join(_braced(operand.values) for operand in operands)


def intersection(operands: Sequence[Operand]) -> Found:
    """The values that all operands have."""
    values = operands[0].values
    for operand in operands[1:]:
        values = _shared(values, operand.values)
    return distinct(values), " ∩ ".join(_braced(operand.values) for operand in operands)


def exclusion(operands: Sequence[Operand]) -> Found:
    """The values that the first operand has and no other."""
    others = _Known(value for operand in operands[1:] for value in operand.values)
    kept = [value for value in operands[0].values if not others.has(value)]
    return distinct(kept), " − ".join(_braced(operand.values) for operand in operands)


def each(operands: Sequence[Operand]) -> Found:
    """The answers of several questions in order; the computation names those without an answer."""
    if not any(operand.values for operand in operands):
        raise NotComputed("; ".join(f"step {operand.node_id} found nothing" for operand in operands))
    told = []
    for operand in operands:
        owners = [owner for value in operand.owned() for owner in value.of] or list(operand.subjects[:1])
        about = " / ".join(dict.fromkeys(owner.text for owner in owners))
        about = about or operand.question.rstrip("?") or f"step {operand.node_id}"
        told.append(f"{about}: {_texts(operand.values) if operand.values else 'not found'}")
    return distinct(tuple(value for operand in operands for value in operand.values)), "; ".join(told)
