"""Exact match, cover exact match and token F1, equal to the scorer of the published predictions.

Answers are compared in the normal form of `language/names.py`. Its hyphens, which differ from the SQuAD script's,
are what reproduces all fifteen published figures of AtomR.

An answer's score is its best over the gold answers (SQuAD). F1 follows the HotpotQA evaluation script (Yang et al.,
2018): where prediction or gold is exactly yes, no or noanswer and the two differ, F1 is 0.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from atomr_local.language.literals import parse_date, parse_quantity
from atomr_local.language.names import answer_key, name_key

_CLOSED_ANSWERS = frozenset({"yes", "no", "noanswer"})


@dataclass(frozen=True, slots=True)
class Score:
    """Scores of one answer, or means over many; each 0 to 1."""

    em: float
    cover_em: float
    f1: float


@dataclass(frozen=True, slots=True)
class Summary:
    """Means in %, rounded to two decimals; in the order of the contract.

    Attributes:
        n: questions.
        em, cover_em, f1: over the questions that have an answer; one that was declined counts as wrong.
        guess_f1: the same with the best guess counted where the question was declined.
        precision: mean F1 of the answers that were given; an answer to a question that has none counts as wrong.
        coverage: share of all questions that were answered.
    """

    n: int
    em: float
    cover_em: float
    f1: float
    guess_f1: float
    precision: float
    coverage: float


def exact_match(predicted: str, gold: str) -> bool:
    return answer_key(predicted) == answer_key(gold)


def cover_match(predicted: str, gold: str) -> bool:
    """Whether the normalised gold answer stands anywhere in the normalised prediction."""
    expected = answer_key(gold)
    found = answer_key(predicted)
    return expected in found if expected else not found


def token_f1(predicted: str, gold: str) -> float:
    """Harmonic mean of token precision and recall, tokens counted with multiplicity."""
    found, expected = answer_key(predicted), answer_key(gold)
    if found != expected and not _CLOSED_ANSWERS.isdisjoint((found, expected)):
        return 0.0
    found_tokens, expected_tokens = found.split(), expected.split()
    common = (Counter(found_tokens) & Counter(expected_tokens)).total()
    return 2 * common / (len(found_tokens) + len(expected_tokens)) if common else 0.0


def same_value(one: str, other: str) -> bool:
    """Whether two answers denote the same thing, in any form.

    Beyond :func:`exact_match`: one date or quantity written two ways ("1987-10-05", "October 5, 1987"), and names
    that differ only in accents and punctuation. Not part of the published scorer; reported beside it.
    """
    if exact_match(one, other):
        return True
    if not one.strip() or not other.strip():
        return False
    if name_key(one) == name_key(other):
        return True
    for parse in (parse_date, parse_quantity):
        first, second = parse(one), parse(other)
        if first is not None and first == second:
            return True
    return False


def score_answer(predicted: str, golds: Sequence[str]) -> Score:
    """The answer's best score, metric by metric, over the gold answers.

    Without any the question has no answer: saying nothing is right then, anything else wrong (SQuAD 2.0).
    """
    if not golds:
        nothing = float(not answer_key(predicted))
        return Score(nothing, nothing, nothing)
    return Score(
        em=float(any(exact_match(predicted, gold) for gold in golds)),
        cover_em=float(any(cover_match(predicted, gold) for gold in golds)),
        f1=max(token_f1(predicted, gold) for gold in golds),
    )


def mean_percent(values: Iterable[float]) -> float:
    """The mean in %, rounded to two decimals; zero over no values."""
    counted = list(values)
    return round(100 * sum(counted) / len(counted), 2) if counted else 0.0


# Bootstrap confidence intervals (Efron and Tibshirani, 1993, chapter 13: the percentile interval), seeded.

_RESAMPLES = 10_000
SEED = 0
_LEVEL = 95.0
_BATCH = 500
_ZERO = 1e-12  # sums of differences that cancel out


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean in % with its 95% confidence interval, rounded to two decimals."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Difference(Interval):
    """A mean paired difference; `p` is two-sided, the smallest level at which the interval would leave out zero."""

    p: float


def mean_interval(values: Sequence[float]) -> Interval:
    """The mean of `values` (each 0 to 1, or -1 to 1 for differences) and its interval, in %. Zeros over no values."""
    if not values:
        return Interval(0.0, 0.0, 0.0)
    return Interval(*_figures(values, _resampled_means(values)))


def paired_difference(first: Sequence[float], second: Sequence[float]) -> Difference:
    """The mean of second minus first, in %, by resampling the pairs.

    Args:
        first: a system's values (each 0 to 1), one a question.
        second: another system's, of the same questions in the same order.

    Raises:
        ValueError: there is no value, or not as many on both sides.
    """
    values = [b - a for a, b in zip(first, second, strict=True)]
    if not values:
        raise ValueError("there is nothing to compare")
    means = _resampled_means(values)
    # The observed sample counts as one of the resamples, so that p is never zero (Davison and Hinkley, 1997, 4.2).
    tails = [(1 + int(tail.sum())) / (1 + len(means)) for tail in (means <= _ZERO, means >= -_ZERO)]
    return Difference(*_figures(values, means), round(min(1.0, 2 * min(tails)), 4))


def holm(levels: Sequence[float]) -> list[float]:
    """The p-values of several tests corrected for their number, in the same order (Holm, 1979, step-down)."""
    corrected = [0.0] * len(levels)
    highest = 0.0
    for rank, place in enumerate(sorted(range(len(levels)), key=lambda place: levels[place])):
        highest = max(highest, min(1.0, (len(levels) - rank) * levels[place]))
        corrected[place] = round(highest, 4)
    return corrected


def _resampled_means(values: Sequence[float]) -> Any:
    """Means of samples drawn with replacement, as an array (_RESAMPLES,)."""
    import numpy as np

    sample = np.asarray(values, dtype=np.float64)
    generator = np.random.default_rng(SEED)
    drawn = (generator.integers(0, sample.size, (_BATCH, sample.size)) for _ in range(_RESAMPLES // _BATCH))
    return np.concatenate([sample[places].mean(axis=1) for places in drawn])


def _figures(values: Sequence[float], means: Any) -> tuple[float, float, float]:
    import numpy as np

    tail = (100 - _LEVEL) / 2
    low, high = np.percentile(means, [tail, 100 - tail])
    mean = float(np.asarray(values, dtype=np.float64).mean())
    return round(100 * mean, 2), round(100 * float(low), 2), round(100 * float(high), 2)
