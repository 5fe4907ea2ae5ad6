"""Operations on an order: extremes, top n, sorting, selection by a condition."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from atomr_local.language.periods import short_decade
from atomr_local.reasoning.operations.comparison import UPWARDS, alike, sort_of, stands_so
from atomr_local.reasoning.operations.measures import measure
from atomr_local.reasoning.operations.operands import (
    Entry,
    Measured,
    NotComputed,
    Operand,
    entries,
    measured_entries,
    measured_one,
)
from atomr_local.reasoning.results import distinct
from atomr_local.sources.protocol import Value

_MOST_SHOWN = 8


def compare(operands: Sequence[Operand], word: str, asked: str) -> tuple[tuple[Value, ...], str]:
    """The things with the extreme value, ties included.

    Raises:
        NotComputed: fewer than two things have a value, or it is unknown which one is the extreme.
    """
    # One operand is a set, and a set of one has its extreme.
    ordered = _ordered(operands, word, asked, least=min(2, len(operands)))
    best = [ordered[0], *(item for item in ordered[1:] if item.measure.same(ordered[0].measure))]
    for item in ordered[len(best) :]:
        _first(best[0], item, word)
    return _named(best), _chain(ordered, word)


def top(operands: Sequence[Operand], word: str, number: int, asked: str) -> tuple[tuple[Value, ...], str]:
    """The first `number` in the order, ties for the last place included.

    Raises:
        NotComputed: as :func:`compare`.
    """
    ordered = _ordered(operands, word, asked, least=1)
    _settled(ordered[: number + 1], word)
    kept = list(ordered[:number])
    kept += [item for item in ordered[number:] if item.measure.same(kept[-1].measure)]
    for item in ordered[len(kept) :]:
        _first(kept[-1], item, word)
    return _named(kept), _chain(ordered, word)


def sort(operands: Sequence[Operand], word: str, asked: str) -> tuple[tuple[Value, ...], str]:
    """Everything in the order.

    Raises:
        NotComputed: as :func:`compare`.
    """
    ordered = _ordered(operands, word, asked, least=1)
    _settled(ordered, word)
    return _named(ordered), _chain(ordered, word)


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


def _named(measured: Sequence[Measured]) -> tuple[Value, ...]:
    return distinct(tuple(value for item in measured for value in item.entry.answer))


def _chain(ordered: Sequence[Measured], word: str) -> str:
    """ "1948-07-07 < 1950-03-01", ascending; a long chain is cut after its first items."""
    shown = list(ordered)
    more = ""
    if len(shown) > _MOST_SHOWN:
        more = f" and {len(shown) - _MOST_SHOWN} more"
        shown = shown[:_MOST_SHOWN]
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


def select(
    operands: Sequence[Operand | str], bound: Operand | str, word: str, asked: str
) -> tuple[tuple[Value, ...], str]:
    """The things whose value has the relation `word` to the last operand.

    Raises:
        NotComputed: a value or the bound is not a date or number as needed, or the relation is unknown.
    """
    known = [operand for operand in operands if isinstance(operand, Operand) and operand is not bound]
    found = entries(known, asked)
    if isinstance(bound, str):
        bound = _with_century(bound, found)
    if word in ("same", "different"):
        return _selected_alike(found, bound, word)
    limit, _ = measured_one(bound, sort_of(word))
    kept: list[Measured] = []
    left: list[Measured] = []
    open_ones: list[Measured] = []
    for item in measured_entries(found, sort_of(word)):
        stands = stands_so(item.measure, limit, word, bare=isinstance(bound, str))
        (open_ones if stands is None else kept if stands else left).append(item)
    if open_ones:
        raise NotComputed(f"whether {open_ones[0].shown} is {word} than {limit.shown} cannot be told")
    sign = "<" if word in UPWARDS else ">"
    told = [f"{item.shown} {sign} {limit.shown}" for item in kept[:_MOST_SHOWN]]
    told += [f"{len(kept) - _MOST_SHOWN} more such"] if len(kept) > _MOST_SHOWN else []
    told += ["not: " + ", ".join(item.shown for item in left[:_MOST_SHOWN])] if left else []
    more = f" and {len(left) - _MOST_SHOWN} more" if len(left) > _MOST_SHOWN else ""
    return _named(kept), "; ".join(told) + more


def _with_century(text: str, found: Sequence[Entry]) -> str:
    """ "the twenties" as "1820s" if all compared dates are of that century; else the text."""
    decade = short_decade(text)
    if decade is None:
        return text
    dates = [date for entry in found for value in entry.values if (date := measure(value, "date")) is not None]
    centuries = {end[0] // 100 for date in dates for end in (date.low, date.high)}
    return f"{centuries.pop()}{decade}s" if len(centuries) == 1 else text


def _selected_alike(found: Sequence[Entry], bound: Operand | str, word: str) -> tuple[tuple[Value, ...], str]:
    others = (Value(bound),) if isinstance(bound, str) else bound.values
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
    more = [f"{len(told) - _MOST_SHOWN} more"] if len(told) > _MOST_SHOWN else []
    return distinct(tuple(value for entry in kept for value in entry.answer)), "; ".join(told[:_MOST_SHOWN] + more)
