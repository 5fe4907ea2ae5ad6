"""Words by which relations and names are matched with a graph, from `en/relations.json`."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from atomr_local.language import words


@dataclass(frozen=True, slots=True)
class RelationWords:
    """Words in small letters.

    Attributes:
        small: those of wordings and questions that carry no relation.
        types: words for what a thing is, beside a relation's word ("film" in "film director").
        picking: those that ask for one of several, beside words in -est; not_picking: words in -est that do not.
        irregular: a word → its stem.
        asked_for: a noun → the class that a question opening with it asks for: person, work or place.
        belonging: nouns of which a noun before them says no class ("genre" in "film genre").
        about: words of descriptions that tell no entity from another.
        same: a word → the one of the same meaning that stands for both.
        classes: a type of answer → head nouns of the names of classes whose instances are of it.
    """

    small: frozenset[str]
    types: frozenset[str]
    picking: frozenset[str]
    not_picking: frozenset[str]
    irregular: dict[str, str]
    asked_for: dict[str, str]
    belonging: frozenset[str]
    about: frozenset[str]
    same: dict[str, str]
    classes: dict[str, tuple[str, ...]]


@cache
def english() -> RelationWords:
    """The shipped lists, read once."""
    data = json.loads(files("atomr_local.language").joinpath("en/relations.json").read_text(encoding="utf-8"))
    return RelationWords(
        small=frozenset(data["small"]),
        types=frozenset(data["types"]),
        picking=frozenset(data["picking"]),
        not_picking=frozenset(data["not_picking"]),
        irregular=dict(data["irregular"]),
        asked_for={noun: kind for kind, nouns in data["asked_for"].items() for noun in nouns},
        belonging=frozenset(data["belonging"]),
        about=words.english().stop.union(data["about"]),
        same=dict(data["same"]),
        classes={kind: tuple(nouns) for kind, nouns in data["classes"].items()},
    )
