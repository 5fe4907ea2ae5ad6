"""When a number of values is asked for, and which of them count: "How many films did she direct?" does not ask for the
television series.

A value is left out only where the graph says that it is something else. What a thing is called in a graph ("silent
short film", "literary work") seldom says all that it is, and the classes above may be missing; so a type that names
no other kind, or no type at all, leaves a value counted.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from atomr_local.language.words import english
from atomr_local.sources.graph.properties.matching import PropertyMatch
from atomr_local.sources.protocol import Value, ValueKind

_NUMBER_OF = re.compile(r"^(?:the )?(?:total )?(?:how many|(?:number|count) of)(?: the)? (?=\S)", re.IGNORECASE)
_HOW_MANY = re.compile(r"\bhow many\b|^what (?:is|was) the (?:total )?number of\b", re.IGNORECASE)
# Their values are what a number is asked of, or say themselves how many there are.
_NOT_COUNTED = frozenset({"time", "quantity", "string"})
_COUNTED = re.compile(
    r"\b(?:how many|number of) (?:[\w-]+ ){0,3}?(?P<noun>[\w-]+)"
    r"(?= (?:did|does|do|has|have|had|was|were|is|are|by|written|sung|made|[\w-]+ed)\b|\W*$)"
)


def whose_number(wording: str) -> str:
    """The relation whose values are counted: "children" of "number of children"; "" where no number is asked for."""
    rest = _NUMBER_OF.sub("", wording)
    return rest if rest != wording else ""


def asks_how_many(question: str) -> bool:
    """Whether the question asks for a number of things."""
    return _HOW_MANY.search(question) is not None


def countable(values: Sequence[Value], chosen: Sequence[PropertyMatch]) -> bool:
    """Whether the values are things, of properties whose values can be counted."""
    entities = all(value.kind is ValueKind.ENTITY for value in values)
    return bool(values) and entities and not any(match.kind in _NOT_COUNTED and not match.inverse for match in chosen)


def counted(values: Sequence[Value], question: str, types: Callable[[str], list[str]]) -> tuple[list[Value], str]:
    """The values of the kind that the question counts, and that kind where others were left out, else "".

    Args:
        types: labels of what an entity is an instance of.
    """
    noun = counted_kind(question)
    if not noun:
        return list(values), ""
    kept = [value for value in values if value.iri is None or not is_other(types(value.iri), noun)]
    # Where nothing is of the kind, the word means another.
    return (kept, noun) if kept and len(kept) < len(values) else (list(values), "")


def counted_kind(question: str) -> str:
    """The kind of work or building that the question counts; "" where it names none."""
    match = _COUNTED.search(question.casefold())
    return kind_named(match["noun"]) if match else ""


def kind_named(word: str) -> str:
    """The kind of work or building that a word names, in the plural too; "" where it names none of these."""
    known = english().kinds
    forms = (word, word.removesuffix("s"), word.removesuffix("ies") + "y")
    return next((known[form] for form in forms if form in known), "")


def is_other(types: Sequence[str], noun: str) -> bool:
    """Whether what is of these types is surely not of the kind.

    Args:
        noun: the kind as :func:`kind_named` gives it.
    """
    accepted = {noun, *english().among.get(noun, ())}
    kinds = [[kind_named(word) for word in re.findall(r"[\w-]+", label.casefold())] for label in types]
    return bool(kinds) and all(found and found[-1] and accepted.isdisjoint(found) for found in kinds)
