"""Operations on sets and truth values: union, intersection, difference, equality, all, any."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from atomr_local.reasoning.operations.comparison import alike, sort_of, stands_so
from atomr_local.reasoning.operations.measures import english
from atomr_local.reasoning.operations.operands import NotComputed, Operand, measured_one
from atomr_local.reasoning.results import distinct
from atomr_local.sources.protocol import Value, ValueKind

_MOST_SHOWN = 8
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
    shown = " / ".join(value.text for value in values[:_MOST_SHOWN])
    return shown + (f" / … ({len(values)} in all)" if len(values) > _MOST_SHOWN else "")


def _braced(values: Sequence[Value]) -> str:
    shown = ", ".join(value.text for value in values[:_MOST_SHOWN])
    return "{" + shown + (f", … {len(values)} in all" if len(values) > _MOST_SHOWN else "") + "}"


def _verdict(truth: bool) -> tuple[Value, ...]:
    return (Value("yes" if truth else "no", ValueKind.BOOLEAN),)


def stands(first: Operand | str, second: Operand | str, word: str) -> tuple[tuple[Value, ...], str]:
    """Whether the first is the same as, earlier than, … or among the second.

    Two answers with several values are the same if they share one; for "among" all values of the first must be shared.

    Raises:
        NotComputed: the relation is unknown.
    """
    if word in _ORDERS:
        return _ordered(first, second, word)
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


def _ordered(first: Operand | str, second: Operand | str, word: str) -> tuple[tuple[Value, ...], str]:
    (one, name), (other, other_name) = (measured_one(operand, sort_of(word)) for operand in (first, second))
    bare = isinstance(second, str)
    truth = stands_so(one, other, word, bare=bare)
    shown, other_shown = f"{name} {one.shown}".strip(), f"{other_name} {other.shown}".strip()
    if truth is None:
        raise NotComputed(f"whether {shown} is {word} than {other_shown} cannot be told")
    upwards = word in ("earlier", "smaller")
    if truth:
        sign = "<" if upwards else ">"
    else:
        beyond = stands_so(other, one, word, bare=bare)
        sign = "=" if one.same(other) else (">" if upwards else "<") if beyond else "≥" if upwards else "≤"
    return _verdict(truth), f"{shown} {sign} {other_shown}"


def _values(operand: Operand | str) -> tuple[Value, ...]:
    return (Value(operand),) if isinstance(operand, str) else operand.values


def verdicts(operands: Sequence[Operand], *, every: bool) -> tuple[tuple[Value, ...], str]:
    """Whether all, or any, of the answers are yes.

    Raises:
        NotComputed: an answer is not yes or no.
    """
    truths, told = [], []
    for operand in operands:
        for value in operand.values:
            truth = _truth(value.text)
            if truth is None:
                raise NotComputed(f"step {operand.node_id} gave {value.text!r}; yes or no is needed")
            truths.append(truth)
            told.append("yes" if truth else "no")
    return _verdict(all(truths) if every else any(truths)), (" and " if every else " or ").join(told)


def _truth(text: str) -> bool | None:
    word = text.strip().strip(".").casefold()
    known = english()["values"]
    return True if word in known["yes"] else False if word in known["no"] else None


def union(operands: Sequence[Operand]) -> tuple[tuple[Value, ...], str]:
    """All values, each once."""
    values: list[Value] = []
    known = _Known()
    for operand in operands:
        new = [value for value in operand.values if not known.has(value)]
        values += new
        for value in new:
            known.add(value)
    return tuple(values), " ∪ ".join(_braced(operand.values) for operand in operands)


def intersection(operands: Sequence[Operand]) -> tuple[tuple[Value, ...], str]:
    """The values that all operands have."""
    values = operands[0].values
    for operand in operands[1:]:
        values = _shared(values, operand.values)
    return distinct(values), " ∩ ".join(_braced(operand.values) for operand in operands)


def exclusion(operands: Sequence[Operand]) -> tuple[tuple[Value, ...], str]:
    """The values that the first operand has and no other."""
    others = _Known(value for operand in operands[1:] for value in operand.values)
    kept = [value for value in operands[0].values if not others.has(value)]
    return distinct(kept), " − ".join(_braced(operand.values) for operand in operands)


def each(operands: Sequence[Operand]) -> tuple[tuple[Value, ...], str]:
    """The answers of several questions in order; the computation names those without an answer.

    Raises:
        NotComputed: no question has an answer.
    """
    if not any(operand.values for operand in operands):
        raise NotComputed("; ".join(f"step {operand.node_id} found nothing" for operand in operands))
    told = []
    for operand in operands:
        owners = [owner for value in operand.owned() for owner in value.of] or list(operand.subjects[:1])
        about = " / ".join(dict.fromkeys(owner.text for owner in owners))
        about = about or operand.question.rstrip("?") or f"step {operand.node_id}"
        told.append(f"{about}: {_texts(operand.values) if operand.values else 'not found'}")
    return distinct(tuple(value for operand in operands for value in operand.values)), "; ".join(told)
