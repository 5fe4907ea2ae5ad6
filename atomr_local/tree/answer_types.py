"""The expected type of answer: `Answer(person)`, `Answer(place, several)`.

A plan states it on the line of its root. It is written as one of the types below. The parser also accepts other common
names of a type (`location`, `organization`, `boolean`), in any letter case and with or without quotes.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

from atomr_local.tree.errors import TreeError
from atomr_local.tree.escaping import shown

ANSWER = "Answer"
SEVERAL = "several"


class AnswerType(StrEnum):
    """Kinds of answers.

    `PHRASE` is a description ("why", "what is it known for"), `SUMMARY` the answer to a bare topic, `THING` any other
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
    SUMMARY = "summary"
    THING = "thing"
    NOTHING = "nothing"
    LANGUAGE = "language"


# Types of inputs that ask nothing that can be looked up: their plans have no steps.
NO_QUESTION = frozenset({AnswerType.NOTHING, AnswerType.LANGUAGE})

_OTHER_NAMES = {
    "people": AnswerType.PERSON,
    "location": AnswerType.PLACE,
    "country": AnswerType.PLACE,
    "city": AnswerType.PLACE,
    "organization": AnswerType.ORGANISATION,
    "company": AnswerType.ORGANISATION,
    "count": AnswerType.NUMBER,
    "boolean": AnswerType.YES_NO,
    "yes no": AnswerType.YES_NO,
    "yesno": AnswerType.YES_NO,
    "yes or no": AnswerType.YES_NO,
    "description": AnswerType.PHRASE,
    "entity": AnswerType.THING,
    "name": AnswerType.THING,
}
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
        if form in _OTHER_NAMES:
            return _OTHER_NAMES[form]
        try:
            return AnswerType(form)
        except ValueError:
            continue
    return None
