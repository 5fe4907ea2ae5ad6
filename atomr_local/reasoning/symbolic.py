"""Symbolic steps: comparison, counting, equality, difference and set operations, computed instead of generated.

A step applies only when its question is of a known form and all its operands parse as what the form needs;
otherwise the model is asked. The computation is returned as text for the trace.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import pairwise
from typing import Any

from atomr_local.indexing.countries import country_named, country_of
from atomr_local.indexing.literals import Date, format_number, parse_date, parse_quantity
from atomr_local.indexing.names import name_key
from atomr_local.reasoning.results import distinct
from atomr_local.sources.protocol import Value, ValueKind
from atomr_local.tree.nodes import REFERENCE


@dataclass(frozen=True)
class Operand:
    """An earlier answer: of which node, what question it answers, and what it is about.

    Attributes:
        subjects: the entities the answer is about, nearest first: for the birth date of a film's director,
            the director, then the film.
    """

    node_id: int
    question: str
    values: tuple[Value, ...]
    subjects: tuple[Value, ...] = ()


@dataclass(frozen=True)
class Computed:
    """Attributes: computation: such as "1956-06-09 < 1993-10-26"."""

    values: tuple[Value, ...]
    computation: str


# "both" alone asks for a property ("Are both Canadian?"), not whether two answers are equal.
_SAME = re.compile(r"\b(same|share[sd]?|common|equal|identical)\b", re.I)
_OF_COUNTRIES = re.compile(r"\b(?:countr(?:y|ies)|nationalit(?:y|ies))\b", re.I)
_DIFFERENT = re.compile(r"\bdifferent\b", re.I)
_ASKS_VERDICT = re.compile(
    r"^(?:given[^,]*,\s*|based on[^,]*,\s*|comparing[^,]*,\s*)*"
    r"(?:are|is|do|does|did|was|were|have|has|can|could|whether)\b",
    re.I,
)
_COUNT = re.compile(r"\bhow many\b|\b(?:the )?(?:number|count) of\b", re.I)
# A reference in such a question must be the very thing that is counted: "How many [1] are there?"
_COUNTS_REFERENCE = re.compile(
    r"\b(?:how many(?: are (?:there )?in)?|(?:number|count) of)(?: the)? \[\d+\](?: are there)?\s*\??$", re.I
)
_AMOUNT_ASKED = re.compile(r"\bhow (?:many|much)\b|\bdifference\b", re.I)
_DIFFERENCE = re.compile(
    r"\bdifference\b|\bhow (?:many|much) (?:more|fewer|less|older|younger|longer|taller|higher|larger|years?|days?)\b"
    r"|\bhow long\b|\bhow old\b|\blifespan\b|\bage at\b",
    re.I,
)
_SUM = re.compile(r"\b(?:sum|total|combined|altogether|together)\b", re.I)
_INTERSECTION = re.compile(r"\b(?:in common|common to|both)\b", re.I)
# "Which of [1] and [2] …": what belongs to both, where the whole question says so.
_OF_THESE = re.compile(r"(?:which|who|what) of \[\d+\](?:, \[\d+\])*,? and \[\d+\]", re.I)
_GIVEN = re.compile(r"^(?:given|based on|comparing)[^,]*,\s*", re.I)
# Words that ask for the smaller or the larger operand. For birth dates "older" and "younger" turn the order round
# against numbers: the older person has the earlier date.
_LOW_DATE = re.compile(r"\b(?:first|earlier|earliest|older|oldest|before|sooner|elder|eldest)\b", re.I)
_HIGH_DATE = re.compile(
    r"\b(?:later|latest|younger|youngest|more recent(?:ly)?|most recent(?:ly)?|newer|newest|last|after)\b", re.I
)
_LOW_NUMBER = re.compile(
    r"\b(?:small(?:er|est)|less|least|few(?:er|est)|low(?:er|est)|short(?:er|est)|light(?:er|est)|near(?:er|est)|closer|closest|younger|youngest)\b",
    re.I,
)
_HIGH_NUMBER = re.compile(
    r"\b(?:larg(?:er|est)|big(?:ger|gest)|more|most|great(?:er|est)|high(?:er|est)|tall(?:er|est)|long(?:er|est)|heav(?:ier|iest)|older|oldest|farther|farthest|deep(?:er|est))\b",
    re.I,
)
_LIVED_LONGER = re.compile(r"\blived? (?:the )?(?:longer|longest|shorter|shortest)\b", re.I)


def compute(question: str, operands: Sequence[Operand], root_question: str = "") -> Computed | None:
    """The answer to `question` over earlier answers, or None where no symbolic step applies.

    Args:
        question: the node's question; references in it may stand as `[i]`.
        root_question: the whole question: it says which of an operand's subjects is asked for.
    """
    if not operands or any(not operand.values for operand in operands):
        return None
    asked = _GIVEN.sub("", question)
    for step in (_equality, _verdict_on_order, _count, _difference, _extreme, _total, _intersection):
        computed = step(asked, operands, root_question)
        if computed is not None:
            return computed
    return None


def _key(value: Value) -> str:
    date = parse_date(value.text, bare_year=False)
    return str(date) if date else name_key(country_named(value.text) or value.text)


def _verdict(truth: bool) -> tuple[Value, ...]:
    return (Value("yes" if truth else "no", ValueKind.BOOLEAN),)


def _equality(question: str, operands: Sequence[Operand], _root: str) -> Computed | None:
    if len(operands) < 2 or not _ASKS_VERDICT.search(question):
        return None
    different = bool(_DIFFERENT.search(question))
    if not different and not _SAME.search(question):
        return None
    sets = [{_key(value) for value in operand.values} for operand in operands]
    if _OF_COUNTRIES.search(question):
        sets = [{country_of(value.text) or _key(value) for value in operand.values} for operand in operands]
    iris = [{value.iri for value in operand.values if value.iri} for operand in operands]
    shared = set.intersection(*sets) or set.intersection(*iris)
    sides = [" / ".join(value.text for value in operand.values) for operand in operands]
    return Computed(_verdict(bool(shared) != different), (" = " if shared else " ≠ ").join(sides))


def _readings(operands: Sequence[Operand]) -> list[tuple[list[Any], str]]:
    """One date or one amount for each operand, all of one sort and dimension, with the sort's name; dates first.

    Both readings stand where the operands are bare numbers such as "1999": the question then tells.
    """
    readings = []
    dates = [_as_date(operand.values) for operand in operands]
    if all(date is not None for date in dates):
        readings.append((list[Any](dates), "date"))
    amounts = [amount for operand in operands if (amount := _as_amount(operand.values)) is not None]
    if len(amounts) == len(operands) and len({unit for _, unit in amounts}) == 1:
        readings.append((list[Any](amounts), "number"))
    return readings


def _directed(question: str, operands: Sequence[Operand]) -> tuple[list[Any], str, int] | None:
    """The reading of the operands under which the question asks for the smaller (-1) or the larger (1)."""
    for items, sort in _readings(operands):
        direction = _direction(question, sort)
        if direction:
            return items, sort, direction
    return None


def _ordered(a: Any, b: Any) -> bool:
    """Whether two scalars are equal or surely one before the other: 1950 and 1950-03-01 are neither."""
    return not isinstance(a, Date) or a == b or a.last < b.first or b.last < a.first


def _as_date(values: tuple[Value, ...]) -> Date | None:
    dates = [date for value in values if (date := parse_date(value.text, bare_year=_may_be_year(value)))]
    # Several dates for one fact are publications or sources that disagree; the earliest is the usual reading.
    return min(dates, key=lambda date: date.first) if dates and len(dates) == len(values) else None


def _may_be_year(value: Value) -> bool:
    """A bare number of one or two digits is an age or a count, unless its source calls it a date."""
    return value.kind is ValueKind.DATE or (value.kind is not ValueKind.NUMBER and len(value.text.strip("+- ")) >= 3)


def _as_amount(values: tuple[Value, ...]) -> tuple[Decimal, str] | None:
    if len(values) != 1:
        return None
    quantity = parse_quantity(values[0].text)
    if quantity is None:
        return None
    base = quantity.in_base_unit()
    return base.amount, base.unit


def _direction(question: str, sort: str) -> int:
    """-1 where the question asks for the smaller operand, 1 for the larger, 0 where it does not say."""
    low, high = (_LOW_DATE, _HIGH_DATE) if sort == "date" else (_LOW_NUMBER, _HIGH_NUMBER)
    found_low, found_high = low.search(question), high.search(question)
    if found_low and found_high:  # "first … the later film": the first such word is the one that asks
        return -1 if found_low.start() < found_high.start() else 1
    return -1 if found_low else 1 if found_high else 0


def _sort_key(item: Any) -> Any:
    return item.first if isinstance(item, Date) else item[0]


def _shown(item: Any) -> str:
    return str(item) if isinstance(item, Date) else f"{format_number(item[0])} {item[1]}".strip()


def _extreme(question: str, operands: Sequence[Operand], root: str) -> Computed | None:
    direction_given = (
        f"{question} {root}"
        if not re.search(r"\w+(?:er|est)\b|\bfirst\b|\blast\b|\bmore\b|\bmost\b", question, re.I)
        else question
    )
    if _ASKS_VERDICT.search(question) and not _selects(question, operands, root):
        return None  # a question for yes or no is not answered with a name
    options, measured = _options(operands)
    if len(measured) < 2:
        return None
    directed = _directed(direction_given, measured)
    if directed is None or _LIVED_LONGER.search(direction_given) or _AMOUNT_ASKED.search(question):
        return None
    items, _, direction = directed
    best = (min if direction < 0 else max)(range(len(items)), key=lambda i: _sort_key(items[i]))
    if not all(_ordered(items[best], item) for item in items):
        return None
    extremes = [i for i, item in enumerate(items) if _sort_key(item) == _sort_key(items[best])]
    named = tuple(_asked_for(options[i], f"{question} {root}", measured[i]) for i in extremes)
    order = sorted(range(len(items)), key=lambda i: _sort_key(items[i]))
    parts = [_shown(items[order[0]])]
    for before, after in pairwise(order):
        parts.append(("=" if _sort_key(items[before]) == _sort_key(items[after]) else "<") + " " + _shown(items[after]))
    return Computed(distinct(named), " ".join(parts))


def _options(operands: Sequence[Operand]) -> tuple[list[tuple[Value, ...]], list[Operand]]:
    """What each measured operand stands for. Where half the operands are entities, they name the other half."""
    measured = [o for o in operands if _as_date(o.values) is not None or _as_amount(o.values) is not None]
    named = [o for o in operands if o not in measured]
    if named and len(named) == len(measured):
        return [(*n.values, *m.subjects) for n, m in zip(named, measured, strict=True)], measured
    return [operand.subjects for operand in measured], measured if not named else []


def _asked_for(options: Sequence[Value], questions: str, operand: Operand) -> Value:
    """Of an operand's subjects the one that the question names, else the nearest."""
    asked = f" {name_key(questions)} "
    for option in options:
        if f" {name_key(option.text)} " in asked:
            return option
    return options[0] if options else operand.values[0]


def _selects(question: str, operands: Sequence[Operand], root: str) -> bool:
    """Whether one of several is asked for, not yes or no: "Was A or B born first?", in the step or, where the model
    wrote the step badly, in the whole question about the operands' subjects."""
    if " or " in question:
        return True
    before, _, after = (f" {name_key(part)} " for part in root.partition(" or "))
    names = [[f" {name_key(subject.text)} " for subject in operand.subjects] for operand in operands]
    return len(names) == 2 and any(
        any(name in before for name in one) and any(name in after for name in other)
        for one, other in (names, names[::-1])
    )


def _verdict_on_order(question: str, operands: Sequence[Operand], root: str) -> Computed | None:
    if len(operands) != 2 or not _ASKS_VERDICT.search(question) or _selects(question, operands, root):
        return None
    directed = _directed(question, operands)
    if directed is None:
        return None
    (first, second), _, direction = directed
    if not _ordered(first, second) or (first == second and isinstance(first, Date) and first.day is None):
        return None
    # "Was A born before B?" compares the first-named with the second.
    key = name_key(question)
    places = [key.find(name_key(o.subjects[-1].text)) if o.subjects else -1 for o in operands]
    if -1 not in places and places[0] > places[1]:
        first, second = second, first
    left, right = _sort_key(first), _sort_key(second)
    sign = "<" if left < right else ">" if left > right else "="
    return Computed(
        _verdict(left < right if direction < 0 else left > right), f"{_shown(first)} {sign} {_shown(second)}"
    )


def _count(question: str, operands: Sequence[Operand], _root: str) -> Computed | None:
    if not _COUNT.search(question) or _DIFFERENCE.search(question) or len(operands) != 1:
        return None
    if REFERENCE.search(question) and not _COUNTS_REFERENCE.search(question.strip()):
        return None
    values = operands[0].values
    if len(values) == 1 and _as_amount(values) is not None:
        return None  # the operand already is the number asked for
    return Computed((Value(str(len(values)), ValueKind.NUMBER),), f"count({', '.join(v.text for v in values)})")


def _difference(question: str, operands: Sequence[Operand], _root: str) -> Computed | None:
    if not _DIFFERENCE.search(question) or len(operands) != 2:
        return None
    readings = _readings(operands)
    if not readings:
        return None
    (first, second), sort = readings[0]
    if sort == "number":
        amount = abs(first[0] - second[0])
        return Computed(
            (Value(f"{format_number(amount)} {first[1]}".strip(), ValueKind.NUMBER),),
            f"|{_shown(first)} − {_shown(second)}| = {format_number(amount)}",
        )
    early, late = sorted((first, second), key=lambda date: date.first)
    if re.search(r"\bdays?\b", question, re.I):
        return None
    years = late.year - early.year
    if early.month and late.month and (late.month, late.day or 1) < (early.month, early.day or 1):
        years -= 1  # completed years
    return Computed((Value(str(years), ValueKind.NUMBER),), f"{late} − {early} = {years} years")


def _total(question: str, operands: Sequence[Operand], _root: str) -> Computed | None:
    if not _SUM.search(question) or len(operands) < 2:
        return None
    items = next((items for items, sort in _readings(operands) if sort == "number"), None)
    if items is None:
        return None
    amount = sum((item[0] for item in items), Decimal(0))
    unit = items[0][1]
    return Computed(
        (Value(f"{format_number(amount)} {unit}".strip(), ValueKind.NUMBER),),
        f"{' + '.join(_shown(item) for item in items)} = {format_number(amount)}",
    )


def _intersection(question: str, operands: Sequence[Operand], root: str) -> Computed | None:
    meant = _INTERSECTION.search(question) or (_OF_THESE.match(question) and _INTERSECTION.search(root))
    if len(operands) < 2 or _ASKS_VERDICT.search(question) or not meant:
        return None
    keys: Callable[[Operand], set[str]] = lambda operand: {_key(value) for value in operand.values}  # noqa: E731
    shared = set.intersection(*(keys(operand) for operand in operands))
    values = tuple(value for value in operands[0].values if _key(value) in shared)
    if not values:
        return None
    sides = ["{" + ", ".join(value.text for value in operand.values) + "}" for operand in operands]
    return Computed(values, " ∩ ".join(sides))
