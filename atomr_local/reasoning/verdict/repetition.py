"""Whether an answer only repeats a name from the question."""

from __future__ import annotations

import re
from collections.abc import Sequence

from atomr_local.language.names import words


def repeats(question: str, answers: Sequence[str], names: Sequence[str] = ()) -> bool:
    """Whether the answers only repeat the question; never one that it offers to choose ("A or B", "A and B").

    The whole choice, "A or B", chooses nothing and is a repetition. A part of a longer name is none: Mexico, as the
    country of Mexico City.

    Args:
        names: names that the plan takes from the question.
    """
    asked = words(question)
    offers = "or" in asked
    if not answers:
        return False

    def repeated(answer: str) -> bool:
        said = words(answer)
        if offers and "or" not in said:
            return False
        places = [at for at in range(len(asked) - len(said) + 1) if asked[at : at + len(said)] == said] if said else []
        if not places or _chosen(question, answer):
            return False
        return not _part_of_name(question, answer) and not any(_inside(said, words(name)) for name in names)

    return all(map(repeated, answers))


def _chosen(question: str, answer: str) -> bool:
    """Whether the question offers the answer as one of several choices: "A and B", "A, B and C", "A vs. B"."""
    name = re.escape(answer)
    if not re.search(r"\b(?:and|vs\.?|versus)(?!\w)", question, re.IGNORECASE):
        return False  # a comma alone ends a clause: "In A, which …"
    between = r"\b(?:and|vs\.?|versus)"
    return bool(
        re.search(rf"(?:,|{between}) {name}(?!\w)|(?<!\w){name}(?:,| {between}(?!\w))", question, re.IGNORECASE)
    )


def _part_of_name(question: str, answer: str) -> bool:
    """Whether the answer always has a capitalised word next to it in the question."""
    found = list(re.finditer(rf"(?<!\w){re.escape(answer)}(?!\w)", question, re.IGNORECASE))

    def beside(match: re.Match[str]) -> bool:
        before = re.search(r"(?<=\s)([A-Z]\w*) $", question[: match.start()])  # the first word is always capitalised
        return before is not None or re.match(r" [A-Z]\w", question[match.end() :]) is not None

    return bool(found) and all(map(beside, found))


def _inside(said: Sequence[str], name: Sequence[str]) -> bool:
    """Whether the words are a proper part of the name's."""
    size = len(said)
    return size < len(name) and any(list(name[at : at + size]) == list(said) for at in range(len(name) - size + 1))
