"""Operands of an operation: earlier answers, and which value belongs to what."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from atomr_local.language.names import name_key, words
from atomr_local.reasoning.operations.measures import Measure, Sort, earliest, english, measure, united
from atomr_local.reasoning.results import distinct
from atomr_local.sources.protocol import Value

_WANTED = {"date": "a date", "number": "a number or quantity"}
_MOST_SHOWN = 3
_LONGEST_SHOWN = 80
_MOST_LEVELS = 6


class NotComputed(Exception):
    """An operation has no result; the message is the reason, for people. It never leaves this room."""


@dataclass(frozen=True)
class Operand:
    """An earlier answer: of which node, what question it answers, and what it is about.

    Attributes:
        subjects: what all the values are about where they do not say so themselves, nearest first: for the birth date
            of a film's director, the director, then the film.
        without: what the step was asked about and found no value for.
        none: whether the step is known to give nothing, as a selection that no entity passes.
        several_heads: whether the step was run for several heads, so that a value that does not say whose it is
            belongs to nobody.
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
        """The values as a reason names them."""
        texts = [value.text for value in self.values[:_MOST_SHOWN]]
        more = len(self.values) - len(texts)
        told = ", ".join(repr(text[:_LONGEST_SHOWN]) for text in texts)
        return f"{told} and {more} more" if more else told

    def owned(self) -> tuple[Value, ...]:
        """The values, each of something where that is known."""
        if self.several_heads or not self.subjects:
            return self.values
        chain: tuple[Value, ...] = ()
        for subject in reversed(self.subjects):
            chain = (replace(subject, of=chain) if chain and not subject.of else subject,)
        return tuple(value if value.of else replace(value, of=chain) for value in self.values)


@dataclass(frozen=True)
class Entry:
    """One thing with what is known of it.

    Attributes:
        entity: None if the values belong to nothing known: then they stand for themselves.
        values: of the fact, as found.
        node_id: the step that they come from.
    """

    entity: Value | None
    values: tuple[Value, ...]
    node_id: int

    @property
    def answer(self) -> tuple[Value, ...]:
        """What stands for the entry in an answer."""
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
    """Refuse operands of which one found nothing.

    Raises:
        NotComputed: it names the step.
    """
    for operand in operands:
        if isinstance(operand, Operand) and not operand.values and not operand.none:
            asked = f" ({operand.question})" if operand.question else ""
            raise NotComputed(f"step {operand.node_id} found nothing{asked}")


def source(operand: Operand | str) -> str:
    return f"step {operand.node_id} gave" if isinstance(operand, Operand) else "the plan says"


def measured_one(operand: Operand | str, sort: Sort, *, exact: bool = False) -> tuple[Measure, str]:
    """The operand as one measure, and the name of what it is of.

    Several dates of one fact count by the earliest; several amounts must be equal where `exact` is asked.

    Raises:
        NotComputed: it is none.
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
    """The operands' values by what they are of, in order.

    Args:
        asked: the words of the questions, which say what of a chain is asked for: the film or its director.
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
    """What the value is of, `level` steps further up where the chain goes as far."""
    for owner in value.of:
        if level and owner.of:
            yield from _owners(owner, level - 1)
        else:
            yield owner


def _level(operands: Sequence[Operand], asked: str) -> int:
    """Which level of the chain is asked for: the nearest whose things the questions all name, else the nearest of all.

    Several things of one such thing are asked for themselves, unless it is one to choose: "the films of Ann and Bob"
    asks for films, "Ann or Bob" for one of the two.
    """
    layer = tuple(value for operand in operands for value in operand.owned())
    text = f" {' '.join(words(asked))} "
    choice = any(f" {word} " in text for word in english()["choice"])
    nearest = 0
    for level in range(_MOST_LEVELS):
        below, layer = layer, distinct(tuple(owner for value in layer for owner in value.of))
        nearest = nearest or len(layer)
        # What is of one thing alone is not a choice among several: then the nearest is meant.
        if len(layer) < 2:
            break
        if all(f" {name_key(value.text)} " in text for value in layer) and (choice or len(below) <= len(layer)):
            return level
    return 0


def measured_entries(found: Sequence[Entry], sort: Sort) -> list[Measured]:
    """The entries with their measures.

    Raises:
        NotComputed: a value is none of the sort, or the units differ in dimension.
    """
    measured = [Measured(entry, _united(entry.values, sort, f"step {entry.node_id} gave")) for entry in found]
    units = list(dict.fromkeys(item.measure.unit for item in measured))
    if len(units) > 1:
        one, other = (next(item for item in measured if item.measure.unit == unit) for unit in units[:2])
        raise NotComputed(
            f"step {one.entry.node_id} gave {one.measure.shown!r} and step {other.entry.node_id} gave"
            f" {other.measure.shown!r}; amounts in units of one kind are needed"
        )
    return measured
