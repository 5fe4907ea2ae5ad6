"""Typed operations: what a plan computes from earlier answers, `Compare([1], [3], "earlier")`.

A call has operands and then words that say how: a direction, a number, a unit, a part of a date. An operand is a
reference to one earlier node or, if the operation's :class:`Signature` allows it, a quoted text.

The parser also accepts what small models write if it is unambiguous: names in any letter case, words without quotes,
`[1, 2]` for `[1], [2]`, a quoted reference, words in another place, other common words for a direction. Anything else
is refused.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from enum import StrEnum

from atomr_local.tree.calls import (
    MAX_ARGUMENTS,
    REFERENCE,
    Argument,
    Literal,
    OperatorCall,
    References,
    format_references,
    split_call,
)
from atomr_local.tree.errors import TreeError, quote, shown

LONGEST_UNIT = 40
LARGEST_TOP = 100


class WordRole(StrEnum):
    """The meaning of a word of an operation."""

    DIRECTION = "direction"
    CONDITION = "condition"
    RELATION = "relation"
    NUMBER = "number"
    UNIT = "unit"
    PART = "part"


class ResultKind(StrEnum):
    """The kind of result of an operation, as far as its name determines it."""

    VALUES = "values"
    YES_NO = "yes/no"
    NUMBER = "a number"
    AMOUNT = "a number or quantity"
    DATE_PART = "part of a date"


DIRECTIONS = ("earlier", "later", "smaller", "larger")
CONDITIONS = (*DIRECTIONS, "same", "different")
RELATIONS = (*CONDITIONS, "among")
PARTS = ("year", "month", "day", "decade", "century")
SLOT_WORDS = {
    WordRole.DIRECTION: DIRECTIONS,
    WordRole.CONDITION: CONDITIONS,
    WordRole.RELATION: RELATIONS,
    WordRole.PART: PARTS,
}
# Also accepted. "older" and "younger" are not: they mean opposite things for dates of birth and for ages.
_OTHER_WORDS = {
    other: word
    for word, others in {
        "earlier": "earliest before first",
        "later": "latest after last",
        "smaller": "smallest less least fewer lower lowest min minimum",
        "larger": "largest bigger biggest greater greatest more most higher highest max maximum",
        "same": "equal",
        "among": "in",
    }.items()
    for other in others.split()
}


@dataclass(frozen=True, slots=True)
class Signature:
    """The operands, words and result of an operation.

    Attributes:
        least, most: number of operands; None: as many as a call may have.
        words: the words after the operands, in order.
        text_last: the last operand may be a quoted text.
        optional: the word may be left out.
        refuses: kinds of results that no operand may have.
    """

    least: int
    most: int | None
    words: tuple[WordRole, ...] = ()
    gives: ResultKind = ResultKind.VALUES
    text_last: bool = False
    optional: bool = False
    refuses: frozenset[ResultKind] = frozenset({ResultKind.YES_NO})


_NO_TRUTHS = frozenset(ResultKind) - {ResultKind.YES_NO, ResultKind.VALUES}
_NO_DATES = frozenset({ResultKind.YES_NO, ResultKind.NUMBER, ResultKind.AMOUNT})


class Operation(StrEnum):
    """The operations by name, each with its signature."""

    signature: Signature

    def __new__(cls, name: str, signature: Signature) -> Operation:
        made = str.__new__(cls, name)
        made._value_, made.signature = name, signature
        return made

    COMPARE = "Compare", Signature(1, None, (WordRole.DIRECTION,))
    TOP = "Top", Signature(1, None, (WordRole.DIRECTION, WordRole.NUMBER))
    SORT = "Sort", Signature(1, None, (WordRole.DIRECTION,))
    SELECT = "Select", Signature(2, None, (WordRole.CONDITION,), text_last=True)
    IS = "Is", Signature(2, 2, (WordRole.RELATION,), ResultKind.YES_NO, text_last=True, refuses=frozenset())
    ALL = "All", Signature(2, None, gives=ResultKind.YES_NO, refuses=_NO_TRUTHS)
    ANY = "Any", Signature(2, None, gives=ResultKind.YES_NO, refuses=_NO_TRUTHS)
    DIFFERENCE = "Difference", Signature(2, 2, (WordRole.UNIT,), ResultKind.AMOUNT, optional=True)
    RATIO = "Ratio", Signature(2, 2, gives=ResultKind.NUMBER)
    SUM = "Sum", Signature(1, None, gives=ResultKind.AMOUNT)
    AVERAGE = "Average", Signature(1, None, gives=ResultKind.AMOUNT)
    COUNT = "Count", Signature(1, 1, gives=ResultKind.NUMBER)
    UNION = "Union", Signature(2, None)
    INTERSECT = "Intersect", Signature(2, None)
    EXCEPT = "Except", Signature(2, None)
    PART = "Part", Signature(1, 1, (WordRole.PART,), ResultKind.DATE_PART, refuses=_NO_DATES)
    CONVERT = "Convert", Signature(1, 1, (WordRole.UNIT,), ResultKind.AMOUNT)
    EACH = "Each", Signature(2, None, refuses=frozenset())


@dataclass(frozen=True, slots=True)
class OperationCall:
    """An operation with its operands, and the words after them as its signature orders them."""

    operation: Operation
    operands: tuple[Argument, ...]
    words: tuple[str, ...] = ()

    @property
    def signature(self) -> Signature:
        return self.operation.signature

    @property
    def references(self) -> tuple[int, ...]:
        """Ids of the nodes that the operands are the answers of, in order, each once."""
        return tuple(dict.fromkeys(i for operand in self.operands for i in operand.references))

    def word(self, slot: WordRole) -> str | None:
        """The word in this slot; None if the operation has no such slot or the word was left out."""
        return dict(zip(self.signature.words, self.words, strict=False)).get(slot)

    @property
    def direction(self) -> str | None:
        """The direction, condition or relation: "earlier", "same", …; None if the operation takes none."""
        return self.word(WordRole.DIRECTION) or self.word(WordRole.CONDITION) or self.word(WordRole.RELATION)

    @property
    def number(self) -> int | None:
        """The number of results of `Top`; None for other operations."""
        word = self.word(WordRole.NUMBER)
        return int(word) if word is not None else None

    @property
    def unit(self) -> str | None:
        return self.word(WordRole.UNIT)

    @property
    def part(self) -> str | None:
        return self.word(WordRole.PART)

    def with_operands(self, change: Callable[[Argument], Argument]) -> OperationCall:
        """The call with `change` applied to each operand."""
        return replace(self, operands=tuple(map(change, self.operands)))


def named_operation(name: str) -> Operation | None:
    """The operation of this name in any letter case; None if there is none."""
    return next((one for one in Operation if one == name.capitalize()), None)


def format_operation(call: OperationCall) -> str:
    """`call` as text; :func:`parse_operation` gives it back."""
    operands = [quote(one.text) if isinstance(one, Literal) else format_references(one) for one in call.operands]
    return f"{call.operation.value}({', '.join([*operands, *map(quote, call.words)])})"


def parse_operation(text: str) -> OperationCall:
    """Read one operation.

    Raises:
        TreeError: the text is not an operation, is cut off, or breaks a rule of its signature.
    """
    name, arguments = split_call(text)
    operation = named_operation(name)
    if operation is None:
        raise TreeError(f"unknown operation {shown(name)}: use one of {', '.join(Operation)}")
    parts: list[Argument] = []
    for argument in arguments:
        if isinstance(argument, OperatorCall):
            raise TreeError(f"an operator stands inside {operation}: give it its own question")
        parts.extend(_operands(argument))
    operands, words = _without_words(operation, parts)
    call = OperationCall(operation, tuple(operands), tuple(words))
    for problem in call_problems(call):
        raise TreeError(problem)
    return call


def _operands(argument: Argument) -> list[Argument]:
    """One operand for each reference; a text that consists of references is read as them."""
    if isinstance(argument, References):
        return [References((i,)) for i in argument.ids]
    if argument.references and not re.sub(r"\band\b|[,+\s]", "", REFERENCE.sub("", argument.text)):
        return [References((i,)) for i in argument.references]
    return [argument]


def _without_words(operation: Operation, parts: list[Argument]) -> tuple[list[Argument], list[str]]:
    """The operands, and the words in their order."""
    left = list(parts)
    words: list[str] = []
    for slot in operation.signature.words:
        # From the end: a text to compare with comes before the word.
        for place in reversed(range(len(left))):
            one = left[place]
            word = _word(slot, one.text) if isinstance(one, Literal) else None
            if word is not None:
                words.append(word)
                del left[place]
                break
        else:
            if operation.signature.optional:
                continue
            raise TreeError(f"{operation} needs {_wanted(slot)}")
    return left, words


def _word(slot: WordRole, text: str) -> str | None:
    """The text as a word of this slot; None if it does not fit."""
    plain = " ".join(text.split())
    if slot is WordRole.NUMBER:
        return str(int(plain)) if plain.isdecimal() and plain.isascii() and len(plain) < 5 else None
    if slot is WordRole.UNIT:
        return plain if plain and not REFERENCE.search(plain) else None
    word = plain.casefold().removesuffix(" than")
    word = word.removesuffix("s") if slot is WordRole.PART else _OTHER_WORDS.get(word, word)
    return word if word in SLOT_WORDS[slot] else None


def _wanted(slot: WordRole) -> str:
    if slot is WordRole.NUMBER:
        return f'a number from 1 to {LARGEST_TOP} in quotes, such as "3"'
    if slot is WordRole.UNIT:
        return "a unit in quotes"
    return f"one of the words {', '.join(SLOT_WORDS[slot])}, in quotes"


def call_problems(call: OperationCall) -> Iterator[str]:
    """Messages about the rules of its signature that a call breaks."""
    name, signature = call.operation, call.signature
    most = signature.most or MAX_ARGUMENTS - len(signature.words)
    if not signature.least <= len(call.operands) <= most:
        wanted = str(signature.least) if most == signature.least else f"{signature.least} to {most}"
        yield f"{name} takes {wanted} operands, not {len(call.operands)}"
    for place, operand in enumerate(call.operands, 1):
        if isinstance(operand, Literal):
            if operand.references:
                yield f"operand {place} of {name} is a text that refers to a step: write the reference alone"
            elif not signature.text_last or place < len(call.operands) or place == 1:
                yield f"operand {place} of {name} must be a reference such as [1], not {shown(quote(operand.text))}"
            elif not operand.text.strip():
                yield f"operand {place} of {name} is empty"
        elif len(operand.ids) != 1:
            yield f"operand {place} of {name} must refer to one step"
    doubled = [i for i in call.references if call.operands.count(References((i,))) > 1]
    if doubled:
        yield f"{name} names [{doubled[0]}] twice"
    yield from _word_problems(call)


def _word_problems(call: OperationCall) -> Iterator[str]:
    slots = call.signature.words
    if len(call.words) > len(slots) or (len(call.words) < len(slots) and not call.signature.optional):
        yield f"{call.operation} takes {len(slots)} words after its operands, not {len(call.words)}"
        return
    for slot, word in zip(slots, call.words, strict=False):
        if _word(slot, word) != word or len(word) > LONGEST_UNIT:
            yield f"{call.operation} needs {_wanted(slot)}, not {shown(quote(word), 30)}"
        elif slot is WordRole.NUMBER and not 1 <= int(word) <= LARGEST_TOP:
            yield f"{call.operation} needs {_wanted(slot)}"
