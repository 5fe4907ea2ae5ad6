"""Which of two answers to stand by: the tree's, or one that the model gives to the whole question at once.

Each is as likely right as its calibration says (see `confidence.py`). The likelier answer stands; two that agree
strengthen each other (RoHT and ProbTree aggregate answers of several ways alike).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from atomr_local.indexing.names import base_key, words
from atomr_local.reasoning.confidence import Calibration
from atomr_local.reasoning.signals import NAMED, RIVAL


@dataclass(frozen=True, slots=True)
class Standing:
    """How surely right each of two answers is, each with regard to the other, and whether the rival's stands."""

    tree: float
    rival: float
    rival_stands: bool


def standing(calibration: Calibration, tree: Mapping[str, float], rival: Mapping[str, float], same: bool) -> Standing:
    """Weigh the tree's answer against a rival's, by their signals; `same`: they agree."""
    one = calibration.of_tree({**tree, RIVAL: float(same)})
    other = calibration.of_whole({**rival, RIVAL: float(same)})
    if not same:
        return Standing(one, other, other > one and not rival.get(NAMED))
    if tree.get(NAMED):  # nothing is gained by repeating the question twice
        return Standing(calibration.of_tree(tree), other, False)
    if calibration.tree.uses(RIVAL):
        both = (one + other) / 2
    else:
        both = joined(calibration.of_tree(tree), calibration.of_whole(rival))
    return Standing(both, both, False)


def agree(one: Iterable[str], other: Iterable[str]) -> bool:
    """Whether two answers name the same things."""
    return {base_key(text) for text in one} == {base_key(text) for text in other}


def joined(one: float, other: float) -> float:
    """Probability that an answer is right which two ways came to, taken as independent."""
    return 1.0 - (1.0 - one) * (1.0 - other)


def named_already(question: str, answers: Iterable[str]) -> bool:
    """Whether every answer stands in the question, and not as one of several to choose from ("A or B", "A, B and C"),
    nor as a part of a longer name ("New York" in "New York City").

    Nobody asks for what they have just named.
    """
    asked = f" {' '.join(words(question))} "
    listed = " and " in asked

    def only_named(answer: str) -> bool:
        name = re.escape(answer)
        in_list = listed and re.search(rf"(?:,|\band) {name}\b|\b{name}(?:,| and\b)", question, re.IGNORECASE)
        in_name = re.search(rf"\b{name} [A-Z0-9]|(?!^)\b[A-Z]\w* {name}\b", question)
        return f" {' '.join(words(answer))} " in asked and not in_list and not in_name

    return " or " not in asked and all(map(only_named, answers))
