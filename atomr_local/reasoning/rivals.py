"""Which of two answers to stand by: the tree's, or one that the model gives to the whole question at once.

Confidences of language models are not probabilities of being right, so each is calibrated by a logistic fit
(Platt, 1999) on questions that the adapter was trained beside, never on those it is measured on. The surer answer
stands; two that agree strengthen each other (RoHT and ProbTree aggregate answers of several ways alike).
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from atomr_local.indexing.names import base_key, words
from atomr_local.reasoning.results import Result
from atomr_local.tree.nodes import Tree

_LEAST = 0.02
# Of calibrated answers: more likely right than wrong.
_ACCEPT = 0.5
# What an operator without an answer takes from the tree's confidence.
UNKNOWN = 0.05


@dataclass(frozen=True, slots=True)
class Calibration:
    """Coefficients of P(right) = 1 / (1 + exp(−z)).

    Attributes:
        tree: z = tree[0] + tree[1] · ln(product of the leaves' confidences).
        direct: z = direct[0] + direct[1] · ln(confidence of the answer of direct RAG).
        cited: the same for an answer read from what the tree's steps cite; None: such a reading is no rival here.
        sure: a tree this surely right is not rivalled.
        accept: an answer less surely right than this is declined. Without a card the figures are no probabilities, so
            that less is asked of them.
    """

    tree: tuple[float, float] = (1.0, 1.0)
    direct: tuple[float, float] = (-0.5, 1.0)
    cited: tuple[float, float] | None = None
    sure: float = 0.6
    accept: float = 0.3

    @classmethod
    def from_card(cls, card: Mapping[str, object]) -> Calibration:
        """The calibration of an adapter's card; what is missing or not of the right form stays at its default."""
        given = card.get("calibration")
        if not isinstance(given, dict):
            return cls()
        default = cls()
        return cls(
            _pair(given.get("tree")) or default.tree,
            _pair(given.get("direct")) or default.direct,
            _pair(given.get("cited")),
            _number(given.get("sure"), default.sure),
            _number(given.get("accept"), _ACCEPT if _pair(given.get("tree")) else default.accept),
        )

    def of_tree(self, leaves: float) -> float:
        """Probability that the tree's answer is right; not of how the plan came about, so that a trace replays."""
        return _logistic(self.tree[0] + self.tree[1] * _log(leaves))

    def of_direct(self, confidence: float | None) -> float:
        """Probability that the answer of direct RAG is right."""
        return _logistic(self.direct[0] + self.direct[1] * _log(confidence or 0.0))

    def of_cited(self, confidence: float | None) -> float:
        """Probability that an answer read from the cited evidence is right; 0 where that is not known."""
        return _logistic(self.cited[0] + self.cited[1] * _log(confidence or 0.0)) if self.cited else 0.0


def _number(given: object, default: float = math.nan) -> float:
    try:
        number = float(given) if isinstance(given, int | float) else default
    except OverflowError:  # an integer beyond all floating-point numbers
        return default
    return number if math.isfinite(number) else default


def _pair(given: object) -> tuple[float, float] | None:
    if not isinstance(given, list) or len(given) != 2:
        return None
    constant, slope = map(_number, given)
    return None if math.isnan(constant + slope) else (constant, slope)


def _log(confidence: float) -> float:
    return math.log(max(confidence, _LEAST))


def _logistic(z: float) -> float:
    return 1.0 / (1.0 + math.exp(-max(min(z, 60.0), -60.0)))


def leaves_confidence(tree: Tree, results: Mapping[int, Result]) -> float:
    """The product of the confidences of everything that was looked up or said by the model below the root."""
    product = 1.0
    for node in tree.nodes():
        result = results.get(node.id)
        if result is None or result.method in {"symbolic", "computed"}:
            continue
        by_model = result.method in {"child", "sibling"} and result.computation is None
        if node.call is None and not by_model:
            continue
        product *= (result.confidence if result.confidence is not None else 1.0) if result.values else UNKNOWN
    return product


def agree(one: Iterable[str], other: Iterable[str]) -> bool:
    """Whether two answers name the same things."""
    return {base_key(text) for text in one} == {base_key(text) for text in other}


def joined(one: float, other: float) -> float:
    """Probability that an answer is right which two ways came to, taken as independent."""
    return 1.0 - (1.0 - one) * (1.0 - other)


def named_already(question: str, answers: Iterable[str]) -> bool:
    """Whether every answer stands in the question, and not as one of several to choose from ("A or B", "A, B and C").

    Nobody asks for what they have just named.
    """
    asked = f" {' '.join(words(question))} "
    listed = " and " in asked

    def only_named(answer: str) -> bool:
        name = re.escape(answer)
        in_list = listed and re.search(rf"(?:,|\band) {name}\b|\b{name}(?:,| and\b)", question, re.IGNORECASE)
        return f" {' '.join(words(answer))} " in asked and not in_list

    return " or " not in asked and all(map(only_named, answers))
