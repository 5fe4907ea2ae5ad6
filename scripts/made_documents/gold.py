"""What stands where in the made documents."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from made_documents.content import Fact, Part


@dataclass(frozen=True, slots=True)
class Gold:
    """A fact with the place of the passage that states it.

    Attributes:
        kind: of the document, such as "PDF, two columns".
        file: below the folder, with "/" between folders.
        question: asks for the fact.
        phrases: what the right passage says, each of them.
        place: what its locator says: "page", "slide", "line", "cell", "cells" (a row), "heading"; "title" of the
            document where a file holds several.
    """

    kind: str
    file: str
    question: str
    phrases: tuple[str, ...]
    place: dict[str, Any] = field(default_factory=dict)


def stated(kind: str, file: str, part: Part, place: dict[str, Any]) -> Iterable[Gold]:
    """Gold for a part whose facts all stand at one place."""
    return [in_words(kind, file, fact, place) for fact in part.facts]


def in_words(kind: str, file: str, fact: Fact, place: dict[str, Any]) -> Gold:
    """Gold for a fact that a sentence states."""
    return Gold(kind, file, fact.question, (fact.sentence,), place)


def in_row(kind: str, file: str, fact: Fact, place: dict[str, Any]) -> Gold:
    """Gold for a fact that a row of a table states."""
    return Gold(kind, file, fact.question, (fact.subject, f"{fact.column}: {fact.value}"), place)
