"""Operands of an operation: earlier answers, and the owner of each value.

What measures or orders them raises NotComputed where they are not what is needed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from atomr_local.language.names import base_key, country_named, name_key, words
from atomr_local.reasoning.operations.measures import Measure, Sort, earliest, measure, measure_words, united
from atomr_local.reasoning.results import distinct
from atomr_local.sources.protocol import Value

_WANTED = {"date": "a date", "number": "a number or quantity"}
_MOST_SHOWN = 3
_LONGEST_SHOWN = 80
_MOST_LEVELS = 6


class NotComputed(Exception):
    """An operation has no result; the message is the reason. It is never raised out of this package."""


@dataclass(frozen=True)
class Operand:
    """An earlier answer with its node, its question and its subjects.

    Attributes:
        subjects: owners of the values that name none themselves, nearest first: for the birth date of a film's
            director, the director, then the film.
        without: the entities for which the step found no value.
        none: whether the result is known to be empty, such as a selection that no entity passes.
        several_heads: whether the step ran for several heads, so that the owner of a value that names none is unknown.
    """

    node_id: int
    question: str
    values: tuple[Value, ...]
    subjects: tuple[Value, ...] = ()
    without: tuple[Value, ...] = ()
    none: bool = False
    several_heads: bool = False

    @property
    def shown(self) -> str:
        """The values as text for a reason."""
        texts = [value.text for value in self.values[:_MOST_SHOWN]]
        more = len(self.values) - len(texts)
        told = ", ".join(repr(text[:_LONGEST_SHOWN]) for text in texts)
        return f"{told} and {more} more" if more else told

    def owned(self) -> tuple[Value, ...]:
        """The values with their owners, as far as they are known."""
        if self.several_heads or not self.subjects:
            return self.values
        chain: tuple[Value, ...] = ()
        for subject in reversed(self.subjects):
            chain = (replace(subject, of=chain) if chain and not subject.of else subject,)
        return tuple(value if value.of else replace(value, of=chain) for value in self.values)


@dataclass(frozen=True)
class Entry:
    """An entity with its values.

    Attributes:
        entity: None if the owner of the values is unknown; they stand for themselves then.
        values: as found.
        node_id: the step that found them.
    """

    entity: Value | None
    values: tuple[Value, ...]
    node_id: int

    @property
    def answer(self) -> tuple[Value, ...]:
        """The entry as a part of an answer."""
        return (self.entity,) if self.entity is not None else self.values[:1]

    @property
    def name(self) -> str:
        return self.entity.text if self.entity is not None else ""


@dataclass(frozen=True)
class Measured:
    """An entry with its measure."""

    entry: Entry
    measure: Measure

    @property
    def shown(self) -> str:
        """ "Nile 6,650 km" """
        return f"{self.entry.name} {self.measure.shown}".strip()


def required(operands: Sequence[Operand | str]) -> None:
    """Check that every operand has a value or is known to be empty."""
    for operand in operands:
        if isinstance(operand, Operand) and not operand.values and not operand.none:
            asked = f" ({operand.question})" if operand.question else ""
            raise NotComputed(f"step {operand.node_id} found nothing{asked}")


def source(operand: Operand | str) -> str:
    return f"step {operand.node_id} gave" if isinstance(operand, Operand) else "the plan says"


def measured_one(operand: Operand | str, sort: Sort, *, exact: bool = False) -> tuple[Measure, str]:
    """The operand as one measure, and the name of its owner.

    Of several dates of one fact the earliest counts; with `exact`, several amounts must be equal.
    """
    values = (Value(operand),) if isinstance(operand, str) else operand.owned()
    if not values:
        raise NotComputed(f"{source(operand)} nothing")
    owners = {id_of(owner) for value in values for owner in value.of}
    found = _united(values, sort, source(operand))
    if len(values) > 1 and len(owners) > 1:
        raise NotComputed(f"{source(operand)} the values of {len(owners)} things; one is needed")
    if exact and sort == "number" and found.amount is None:
        raise NotComputed(f"{source(operand)} several amounts ({found.shown}); one is needed")
    name = values[0].of[0].text if len(values[0].of) == 1 and len(owners) == 1 else ""
    return found, name


def _united(values: Sequence[Value], sort: Sort, told: str) -> Measure:
    measures = []
    for value in values:
        found = measure(value, sort)
        if found is None:
            raise NotComputed(f"{told} {value.text[:_LONGEST_SHOWN]!r}; {_WANTED[sort]} is needed")
        measures.append(found)
    if sort == "date":
        return earliest(measures)
    whole = united(measures)
    if whole is None:
        shown = " and ".join(item.shown for item in measures[:2])
        raise NotComputed(f"{told} {shown}, which are not of one unit")
    return whole


def id_of(value: Value) -> str:
    return value.iri or name_key(value.text)


def entries(operands: Sequence[Operand], asked: str = "") -> list[Entry]:
    """The operands' values grouped by owner, in order.

    Args:
        asked: the words of the questions, which decide what in a chain is asked for: the film or its director.
    """
    owned = [(operand, value) for operand in operands for value in operand.owned()]
    level = _level(operands, asked)
    found: dict[tuple[str, int], Entry] = {}
    for operand, value in owned:
        owners = tuple(_owners(value, level)) or (None,)
        for owner in owners:
            if owner is None and operand.several_heads and len(operand.values) > 1:
                raise NotComputed(f"step {operand.node_id} does not say which value belongs to what")
            # Two operands about the same thing stay two: the birth and the death of one person.
            key = (id_of(owner) if owner is not None else f"\0{id_of(value)}", operand.node_id)
            known = found.get(key)
            values = (*known.values, value) if known is not None else (value,)
            found[key] = Entry(owner, values, operand.node_id)
    return list(found.values())


def _owners(value: Value, level: int) -> Iterator[Value]:
    """The owners of the value, `level` steps up the chain as far as it goes."""
    for owner in value.of:
        if level and owner.of:
            yield from _owners(owner, level - 1)
        else:
            yield owner


def _level(operands: Sequence[Operand], asked: str) -> int:
    """The level of the chain that is asked for: the nearest one whose entities are all named in the questions, else 0.

    If a level has fewer entities than the one below, the question must offer a choice: "the films of Ann and Bob" asks
    for films, "Ann or Bob" for one of the two.
    """
    layer = tuple(value for operand in operands for value in operand.owned())
    text = f" {' '.join(words(asked))} "
    choice = any(f" {word} " in text for word in measure_words()["choice"])
    nearest = 0
    for level in range(_MOST_LEVELS):
        below, layer = layer, distinct(tuple(owner for value in layer for owner in value.of))
        nearest = nearest or len(layer)
        # With one owner there is no choice: the nearest level is meant.
        if len(layer) < 2:
            break
        if all(f" {name_key(value.text)} " in text for value in layer) and (choice or len(below) <= len(layer)):
            return level
    return 0


def measured_entries(found: Sequence[Entry], sort: Sort) -> list[Measured]:
    """The entries with their measures."""
    measured = [Measured(entry, _united(entry.values, sort, f"step {entry.node_id} gave")) for entry in found]
    units = list(dict.fromkeys(item.measure.unit for item in measured))
    if len(units) > 1:
        one, other = (next(item for item in measured if item.measure.unit == unit) for unit in units[:2])
        raise NotComputed(
            f"step {one.entry.node_id} gave {one.measure.shown!r} and step {other.entry.node_id} gave"
            f" {other.measure.shown!r}; amounts in units of one kind are needed"
        )
    return measured


# Compares two values: same or different, earlier or later, smaller or larger, or undecidable.

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
