"""The calibrated confidence: a small logistic model over the signals of an answer.

The confidence of a language model is not the probability that it is right. A logistic regression therefore weighs the
signals for and against an answer (see `signals.py`). It is fitted on questions that the adapter was not trained on
(`scripts/calibrate.py`) and stored in the adapter's card. If needed, isotonic regression adds a monotone correction,
stored as knots. An absent signal has a weight of its own, because absence is informative: an answer of the graph has no
reading. Models without a card use hand-set coefficients.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from atomr_local.reasoning.confidence import signals as names

_LEAST = 0.005
_LEAST_PRODUCT = 0.02
_MOST_TERMS = 64
_MOST_KNOTS = 200
# The limit for fitted probabilities: more likely right than wrong.
_ACCEPT = 0.5
# An answer that was found while a source had failed is never "well supported". No questions with failing sources were
# measured: the factor is set by hand.
_WITHOUT_SOURCE = 0.79


def _logit(share: float) -> float:
    share = min(max(share, _LEAST), 1.0 - _LEAST)
    return math.log(share / (1.0 - share))


def _product(share: float) -> float:
    return math.log(max(share, _LEAST_PRODUCT))


def _count(number: float) -> float:
    return math.log1p(max(number, 0.0))


def _plain(share: float) -> float:
    return share


# How each signal enters the sum.
FEATURES: Mapping[str, Callable[[float], float]] = {
    names.READING: _logit,
    names.NULL: _logit,
    names.VERIFY: _logit,
    names.LINK: _logit,
    names.RELATION: _logit,
    names.TYPE_FIT: _plain,
    names.AGREE: _plain,
    names.SUPPORT: _plain,
    names.MENTIONED: _plain,
    names.ANSWERABLE: _logit,
    names.SPAN: _logit,
    names.GUESS: _plain,
    names.MEMORY: _plain,
    names.LEAVES: _product,
    names.VERIFIED: _product,
    names.COMPUTED: _plain,
    names.FALLBACK: _plain,
    names.UNFINISHED: _plain,
    names.NAMED: _plain,
    names.STEPS: _count,
    names.ANSWERS: _count,
    names.RIVAL: _plain,
}


@dataclass(frozen=True, slots=True)
class LogisticTerm:
    """The term of one signal: coefficient · (feature − mean), or `missing` if the signal is absent."""

    name: str
    coefficient: float
    mean: float = 0.0
    missing: float = 0.0


@dataclass(frozen=True, slots=True)
class LogisticModel:
    """P(right) = knots(1 / (1 + exp(−(intercept + Σ terms)))).

    Attributes:
        knots: (x, y) of a monotone piecewise linear function on 0 to 1, x ascending; () leaves the probability as is.
    """

    intercept: float
    terms: tuple[LogisticTerm, ...] = ()
    knots: tuple[tuple[float, float], ...] = ()

    def probability(self, given: Mapping[str, float]) -> float:
        """The probability of being right, given these signals; signals unknown to the model are ignored.

        If a source failed, the probability is lower: what that source would have said is unknown.
        """
        z = self.intercept
        for term in self.terms:
            value = given.get(term.name, math.nan)
            known = math.isfinite(value)
            z += term.coefficient * (FEATURES[term.name](value) - term.mean) if known else term.missing
        found = self._isotonic(1.0 / (1.0 + math.exp(-max(min(z, 60.0), -60.0))))
        return found * _WITHOUT_SOURCE if given.get(names.FAILED_SOURCE) else found

    def uses(self, name: str) -> bool:
        return any(term.name == name for term in self.terms)

    def _isotonic(self, probability: float) -> float:
        if not self.knots:
            return probability
        at = bisect_right([x for x, _ in self.knots], probability)
        if at == 0:
            return self.knots[0][1]
        if at == len(self.knots):
            return self.knots[-1][1]
        (x0, y0), (x1, y1) = self.knots[at - 1], self.knots[at]
        return y0 + (y1 - y0) * (probability - x0) / (x1 - x0)

    @classmethod
    def from_card(cls, given: object) -> LogisticModel | None:
        """A model in the format of a card: {"features": […], "coefficients": […], "means": […], "missing": […],
        "intercept": …, "knots": [[x, y], …]}, the last three lists optional. None if the format is wrong.
        """
        if not isinstance(given, dict):
            return None
        features = given.get("features")
        if (
            not isinstance(features, list)
            or len(features) > _MOST_TERMS
            or not set(map(str, features)) <= set(FEATURES)
        ):
            return None
        coefficients = _numbers(given.get("coefficients"), len(features))
        means = _numbers(given.get("means", [0.0] * len(features)), len(features))
        missing = _numbers(given.get("missing", [0.0] * len(features)), len(features))
        intercept = number(given.get("intercept"))
        knots = _knots(given.get("knots", []))
        if coefficients is None or means is None or missing is None or knots is None or math.isnan(intercept):
            return None
        terms = (
            LogisticTerm(str(name), *rest) for name, *rest in zip(features, coefficients, means, missing, strict=True)
        )
        return cls(intercept, tuple(terms), knots)


def number(given: object, default: float = math.nan) -> float:
    """A finite number of a card, else the default."""
    try:
        value = float(given) if isinstance(given, int | float) else default
    except OverflowError:  # an integer beyond all floating-point numbers
        return default
    return value if math.isfinite(value) else default


def _numbers(given: object, count: int) -> list[float] | None:
    if not isinstance(given, list) or len(given) != count:
        return None
    values = [number(value) for value in given]
    return None if any(map(math.isnan, values)) else values


def _knots(given: object) -> tuple[tuple[float, float], ...] | None:
    if not isinstance(given, list) or len(given) > _MOST_KNOTS:
        return None
    pairs = [_numbers(pair, 2) for pair in given]
    knots = tuple((pair[0], pair[1]) for pair in pairs if pair is not None)
    rising = all(x0 < x1 and y0 <= y1 for (x0, y0), (x1, y1) in pairwise(knots))
    bounded = all(0 <= value <= 1 for knot in knots for value in knot)
    return knots if len(knots) == len(pairs) and rising and bounded else None


# Defaults without a card, centred on an average answer, so that absent signals change nothing. Signs and order of the
# weights are those of every fit so far; verification counts little, because an untrained model seldom says no.
_READ = (
    LogisticTerm(names.READING, 0.5, 0.85),
    LogisticTerm(names.NULL, -0.35, -1.4),
    LogisticTerm(names.VERIFY, 0.25, 0.5),
    LogisticTerm(names.SUPPORT, 1.0, 0.9),
    LogisticTerm(names.AGREE, 0.4, 0.4),
    LogisticTerm(names.MENTIONED, 1.0, 0.8),
    LogisticTerm(names.ANSWERABLE, 0.2, 0.8),
    LogisticTerm(names.SPAN, 0.2, 0.6),
    LogisticTerm(names.TYPE_FIT, 1.5, 0.8),
    LogisticTerm(names.NAMED, -3.0),
    LogisticTerm(names.GUESS, -1.5),
    LogisticTerm(names.MEMORY, -1.5),
    LogisticTerm(names.RIVAL, 1.2, 0.4),
)
_LOOKED_UP = (
    *_READ,
    LogisticTerm(names.LINK, 0.3, 2.2),
    LogisticTerm(names.RELATION, 0.5, 1.4),
    LogisticTerm(names.FALLBACK, -0.8),
    LogisticTerm(names.UNFINISHED, -2.5),
)
_TREE = (*_LOOKED_UP, LogisticTerm(names.STEPS, -0.4, math.log(3)))


@dataclass(frozen=True, slots=True)
class Calibration:
    """The calibration of one model's answers, by the method that found them.

    Attributes:
        tree: for answers that depend on the steps of a tree.
        direct: for answers read in the results of a search for the whole question.
        step: for a single step.
        sure: from this probability on, no direct answer competes with the tree's.
        accept: answers below this probability are declined. Without a card the values are not probabilities, so the
            limit is lower.
    """

    tree: LogisticModel = field(default=LogisticModel(0.6, _TREE))
    direct: LogisticModel = field(default=LogisticModel(0.2, _READ))
    step: LogisticModel = field(default=LogisticModel(1.2, _LOOKED_UP))
    sure: float = 0.6
    accept: float = 0.3

    @classmethod
    def from_card(cls, card: Mapping[str, Any]) -> Calibration:
        """The calibration in an adapter's card; missing or malformed parts keep their defaults."""
        given = card.get("calibration")
        if not isinstance(given, dict):
            return cls()
        default = cls()
        models = given.get("model")
        models = models if isinstance(models, dict) else {}
        tree = LogisticModel.from_card(models.get("tree"))
        return cls(
            tree or default.tree,
            LogisticModel.from_card(models.get("direct")) or default.direct,
            LogisticModel.from_card(models.get("step")) or default.step,
            number(given.get("sure"), default.sure),
            min(max(number(given.get("accept"), _ACCEPT if tree else default.accept), 0.0), 1.0),
        )

    def of_whole(self, given: Mapping[str, float]) -> float:
        """The probability that an answer to the whole question at once is right.

        Cards say nothing of answers from the model's own knowledge: the default model weighs those.
        """
        model = Calibration().direct if names.MEMORY in given else self.direct
        return model.probability(given)
