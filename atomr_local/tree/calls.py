"""The atomic knowledge operators, their calls, and the calls as text, such as `Relate([3], "husband")`.

An argument is written as `[i]`, `[i, j]` or a quoted string with escapes. The parser also accepts what published plans
and small models write if it is unambiguous: unescaped quotes inside a string (`Search("Hamilton Evans "Tony" James")`),
concatenated pieces (`"capital in " + [1]`), text without quotes, and brackets or full stops after the call.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from atomr_local.tree.errors import TreeError, quote, shown, unescape

REFERENCE = re.compile(r"\[(\d{1,4})\]")
MAX_ARGUMENTS = 8

_NAME = re.compile(r"([A-Za-z]\w*)\(")
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)
_REFERENCES = re.compile(r"\[\s*[0-9]{1,4}\s*(?:,\s*[0-9]{1,4}\s*)*\]")
_PIECE = r'(?:"(?:[^"\\]|\\.)*"|\[[0-9]{1,4}\])'
_PIECES = re.compile(rf"{_PIECE}(?:(?:\s*\+\s*|\s+){_PIECE})+", re.DOTALL)
_BARE = re.compile(r"[^,()]+")
_ARGUMENT_ENDS = re.compile(r"\s*[,)]")
_TRAILING = r"[\s\].;]*\Z"
# A quote ends the string only if the next argument begins or the call ends after it; others are inner quotes.
_STRING_ENDS = re.compile(rf'\s*(?:,\s*(?:"|\[[0-9]|[A-Za-z]\w*\()|\)\s*,|\)\)?{_TRAILING})')


class Operator(StrEnum):
    """The three atomic knowledge operators (AtomR, section 3.1)."""

    SEARCH = "Search"
    RELATE = "Relate"
    FILTER = "Filter"


@dataclass(frozen=True, slots=True)
class Literal:
    """A quoted argument; `[i]` inside it stands for the answer of node i."""

    text: str

    @property
    def references(self) -> tuple[int, ...]:
        return tuple(int(match) for match in REFERENCE.findall(self.text))


@dataclass(frozen=True, slots=True)
class References:
    """A bare argument, `[3]` or `[5, 7]`: the answers of these nodes."""

    ids: tuple[int, ...]

    @property
    def references(self) -> tuple[int, ...]:
        return self.ids


Argument = Literal | References


def given_text(argument: object) -> str:
    """The text that a plan gives for an argument; "" for one that refers to other steps."""
    return argument.text if isinstance(argument, Literal) and not argument.references else ""


@dataclass(frozen=True, slots=True)
class OperatorCall:
    operator: Operator
    arguments: tuple[Argument, ...]

    @property
    def references(self) -> tuple[int, ...]:
        """Ids referred to by any argument, in order, each once."""
        return tuple(dict.fromkeys(i for argument in self.arguments for i in argument.references))


@dataclass(frozen=True, slots=True)
class NestedCall:
    """A call as written, where an argument may itself be a call."""

    operator: Operator
    arguments: tuple[Argument | OperatorCall, ...]

    def plain(self) -> OperatorCall:
        """The call, if none of its arguments is one.

        Raises:
            TreeError: an argument is a call.
        """
        arguments = tuple(argument for argument in self.arguments if not isinstance(argument, OperatorCall))
        if len(arguments) != len(self.arguments):
            raise TreeError("one operator stands inside another: give the inner one its own question")
        return OperatorCall(self.operator, arguments)


def looks_like_call(text: str) -> bool:
    """True if `text` begins with a name and an opening bracket."""
    return _NAME.match(text) is not None


def format_references(references: References) -> str:
    return "[" + ", ".join(str(i) for i in references.ids) + "]"


def format_call(call: OperatorCall, inner: Mapping[int, OperatorCall] | None = None) -> str:
    """`call` as text; a lone reference `[i]` with `i` in `inner` is replaced by that call."""
    parts = []
    for argument in call.arguments:
        if isinstance(argument, Literal):
            parts.append(quote(argument.text))
        elif inner and len(argument.ids) == 1 and argument.ids[0] in inner:
            parts.append(format_call(inner[argument.ids[0]]))
        else:
            parts.append(format_references(argument))
    return f"{call.operator.value}({', '.join(parts)})"


def parse_call(text: str) -> NestedCall:
    """Read one operator call.

    Raises:
        TreeError: the text is not a call, is cut off, names an unknown operator, or nests calls twice.
    """
    name, arguments = split_call(text)
    return NestedCall(_operator(name), arguments)


def split_call(text: str) -> tuple[str, tuple[Argument | OperatorCall, ...]]:
    """Name and arguments of one call, of any name.

    Raises:
        TreeError: the text is not a call, is cut off, or nests calls that are not operators or nests them twice.
    """
    text = text.strip()
    name, arguments, end = _split(text, 0, nested=False)
    if re.compile(_TRAILING).match(text, end) is None:
        raise TreeError(f"unexpected text after the operator: {shown(text[end:])}")
    return name, arguments


def parse_quoted(text: str) -> str | None:
    """The text of one quoted string, or None if `text` is anything else."""
    match = _STRING.fullmatch(text)
    return unescape(match.group()[1:-1]) if match else None


def _operator(name: str) -> Operator:
    try:
        return Operator(name)
    except ValueError:
        raise TreeError(f"unknown operator {shown(name)}: use Search, Relate or Filter") from None


def _split(text: str, start: int, *, nested: bool) -> tuple[str, tuple[Argument | OperatorCall, ...], int]:
    named = _NAME.match(text, start)
    if named is None:
        raise TreeError(f"not an operator: {shown(text[start:])}")
    name = named.group(1)
    arguments: list[Argument | OperatorCall] = []
    position = named.end()
    while True:
        position = _skip_space(text, position)
        argument, position = _parse_argument(text, position, name, nested=nested)
        arguments.append(argument)
        if len(arguments) > MAX_ARGUMENTS:
            raise TreeError(f"{shown(name)} has more than {MAX_ARGUMENTS} arguments")
        position = _skip_space(text, position)
        if position >= len(text) or text[position] not in ",)":
            raise TreeError(f"{shown(name)} is cut off: its closing bracket is missing")
        position += 1
        if text[position - 1] == ")":
            return name, tuple(arguments), position


def _skip_space(text: str, position: int) -> int:
    while position < len(text) and text[position].isspace():
        position += 1
    return position


def _parse_argument(text: str, start: int, name: str, *, nested: bool) -> tuple[Argument | OperatorCall, int]:
    if _NAME.match(text, start):
        if nested:
            raise TreeError("operators stand inside one another more than once")
        inner, arguments, end = _split(text, start, nested=True)
        return NestedCall(_operator(inner), arguments).plain(), end
    if (match := _REFERENCES.match(text, start)) and _ARGUMENT_ENDS.match(text, match.end()):
        return References(tuple(int(i) for i in re.findall(r"[0-9]+", match.group()))), match.end()
    if (match := _STRING.match(text, start)) and _ARGUMENT_ENDS.match(text, match.end()):
        return Literal(unescape(match.group()[1:-1])), match.end()
    if (match := _PIECES.match(text, start)) and _ARGUMENT_ENDS.match(text, match.end()):
        return Literal(_join(re.findall(_PIECE, match.group(), re.DOTALL))), match.end()
    if text[start : start + 1] == '"' and (closing := _closing_quote(text, start)) is not None:
        return Literal(unescape(text[start + 1 : closing])), closing + 1
    if (match := _BARE.match(text, start)) and (bare := match.group().strip()) and bare.count('"') % 2 == 0:
        return Literal(unescape(bare)), match.end()
    if start >= len(text) or text[start] not in ",)":
        raise TreeError(f"{shown(name)} has an argument that is cut off or not understood: {shown(text[start:])}")
    raise TreeError(f"{shown(name)} has an empty argument")


def _closing_quote(text: str, start: int) -> int | None:
    """Position of the quote that ends the string begun at `start`; unescaped inner quotes are skipped."""
    position = start + 1
    while position < len(text):
        if text[position] == "\\":
            position += 2
            continue
        if text[position] == '"' and _STRING_ENDS.match(text, position + 1):
            return position
        position += 1
    return None


def _join(pieces: list[str]) -> str:
    joined = ""
    for piece in pieces:
        piece_text = unescape(piece[1:-1]) if piece.startswith('"') else piece
        joined += piece_text if not joined or joined[-1].isspace() else " " + piece_text
    return joined


# The expected type of answer: `Answer(person)`, `Answer(place, several)`.
#
# A plan states it on the line of its root. It is written as one of the types below. The parser also accepts other
# common names of a type (`location`, `organization`, `boolean`), in any letter case and with or without quotes.

ANSWER = "Answer"
SEVERAL = "several"


class AnswerType(StrEnum):
    """Kinds of answers.

    `PHRASE` is a description ("what is it known for"), `PASSAGE` whole sentences or a list of steps ("how do I", "what
    happens if"), `SUMMARY` the answer to a bare topic, `THING` any other
    name. `NOTHING`: the input is not a question. `LANGUAGE`: it is not in English.
    """

    PERSON = "person"
    PLACE = "place"
    ORGANISATION = "organisation"
    WORK = "work"
    EVENT = "event"
    DATE = "date"
    YEAR = "year"
    NUMBER = "number"
    QUANTITY = "quantity"
    YES_NO = "yes/no"
    PHRASE = "phrase"
    PASSAGE = "passage"
    SUMMARY = "summary"
    THING = "thing"
    NOTHING = "nothing"
    LANGUAGE = "language"


# Types of inputs that ask nothing that can be looked up: their plans have no steps.
NO_QUESTION = frozenset({AnswerType.NOTHING, AnswerType.LANGUAGE})

_OTHER_NAMES = {
    "people": "person", "location": "place", "country": "place", "city": "place", "organization": "organisation",
    "company": "organisation", "count": "number", "boolean": "yes/no", "yes no": "yes/no", "yesno": "yes/no",
    "yes or no": "yes/no", "description": "phrase", "entity": "thing", "name": "thing",
}  # fmt: skip
_ANSWER = re.compile(rf"\s*{ANSWER}\s*\(([^()]*)\)[\s.;]*", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Expects:
    """The answer that a question asks for; `several`: more than one value is expected."""

    type: AnswerType
    several: bool = False

    def to_dict(self) -> dict[str, object]:
        """The expectation for JSON."""
        return {"type": str(self.type), "several": self.several}


def format_expects(expects: Expects) -> str:
    return f"{ANSWER}({expects.type}{f', {SEVERAL}' if expects.several else ''})"


def parse_expects(text: str) -> Expects:
    """Read `Answer(type)` or `Answer(type, several)`.

    Raises:
        TreeError: the text is anything else, or names no known type.
    """
    match = _ANSWER.fullmatch(text)
    if match is None:
        raise TreeError(f"{ANSWER} is cut off or not understood: write {ANSWER}(person) or {ANSWER}(person, {SEVERAL})")
    first, *rest = [part.strip(" \t\"'").casefold() for part in match[1].split(",")]
    if rest not in ([], [SEVERAL], ["one"], ["single"]):
        raise TreeError(f'{ANSWER} takes a type and at most the word "{SEVERAL}" after it')
    found = _type(first)
    if found is None:
        known = ", ".join(AnswerType)
        raise TreeError(f"{ANSWER} names no known type of answer, {shown(first)}: use one of {known}")
    return Expects(found, several=rest == [SEVERAL])


def _type(name: str) -> AnswerType | None:
    plain = " ".join(re.split(r"[\s_-]+", name))
    for form in (plain, plain.removesuffix("s")):
        if (known := _OTHER_NAMES.get(form, form)) in set(AnswerType):
            return AnswerType(known)
    return None
