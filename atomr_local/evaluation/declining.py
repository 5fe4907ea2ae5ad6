"""Measures declining, and how well confidence separates right answers from wrong ones.

A question's guess is its answer, or, where it was declined, the best answer that was found all the same. A guess is
right with a token F1 of at least :data:`RIGHT_F1`, or where it denotes a gold answer in another form; to a question
that has no answer no guess is right.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict
from itertools import groupby
from operator import itemgetter
from typing import Any

from atomr_local.evaluation.bootstrap import SEED, Interval, mean_interval
from atomr_local.evaluation.datasets import Prediction
from atomr_local.evaluation.metrics import same_value

RIGHT_F1 = 0.6
PRECISION = 0.9
_BINS = 10
_RESAMPLES = 1000
_TAIL = 2.5

Judged = Sequence[tuple[float, bool]]
"""Confidence of each guess, and whether it is right."""


def is_right(prediction: Prediction) -> bool:
    """Whether the guess is right; see the module."""
    if not prediction.answerable or not prediction.guess:
        return False
    return prediction.guess_score.f1 >= RIGHT_F1 or any(same_value(prediction.guess, gold) for gold in prediction.gold)


def auroc(judged: Judged) -> float:
    """The probability that a right guess has more confidence than a wrong one, ties counted half (Hanley and McNeil,
    1982); 0.5 where all are right or all are wrong."""
    right = sum(1 for _, correct in judged if correct)
    wrong = len(judged) - right
    if not right or not wrong:
        return 0.5
    below, wins = 0, 0.0  # wrong ones with less confidence; pairs that are in order
    for _, tied in groupby(sorted(judged), key=itemgetter(0)):
        verdicts = [correct for _, correct in tied]
        here = sum(verdicts)
        wins += here * (below + (len(verdicts) - here) / 2)
        below += len(verdicts) - here
    return wins / (right * wrong)


def calibration_error(judged: Judged) -> float:
    """Expected calibration error over ten bins of equal width: the mean distance of confidence from the share of right
    guesses, weighted by how many are in the bin (Guo et al., 2017)."""
    distances = [0.0] * _BINS
    for confidence, correct in judged:
        distances[min(int(confidence * _BINS), _BINS - 1)] += confidence - correct
    return sum(map(abs, distances)) / len(judged) if judged else 0.0


def coverage_at(judged: Judged, total: int, precision: float = PRECISION) -> float:
    """The largest share of `total` questions that a bound on confidence answers, with at least this share right."""
    best, right = 0, 0
    ordered = sorted(judged, reverse=True)
    for count, (confidence, correct) in enumerate(ordered, 1):
        right += correct
        ends = count == len(ordered) or ordered[count][0] < confidence  # a bound cannot part equal confidences
        if ends and right >= precision * count:
            best = count
    return best / total if total else 0.0


def declining_figures(predictions: Sequence[Prediction]) -> dict[str, Any]:
    """Of a run.

    Returns:
        "precision" (mean F1 of the answers given) and "coverage" (share of questions answered), each {"value", "low",
        "high"} in %; "answerable" {"n", "declined", "right", "right_declined", "lost": % of right guesses that were
        declined}; "unanswerable" {"n", "declined", "share": %}.
    """
    given = [item for item in predictions if item.predicted]
    answerable = [item for item in predictions if item.answerable]
    unanswerable = [item for item in predictions if not item.answerable]
    right = [item for item in answerable if is_right(item)]
    lost = sum(not item.predicted for item in right)
    declined = sum(not item.predicted for item in unanswerable)
    return {
        "precision": asdict(mean_interval([item.score.f1 for item in given])),
        "coverage": asdict(mean_interval([float(bool(item.predicted)) for item in predictions])),
        "answerable": {
            "n": len(answerable),
            "declined": sum(not item.predicted for item in answerable),
            "right": len(right),
            "right_declined": lost,
            "lost": _percent(lost, len(right)),
        },
        "unanswerable": {
            "n": len(unanswerable),
            "declined": declined,
            "share": _percent(declined, len(unanswerable)),
        },
    }


def confidence_figures(predictions: Sequence[Prediction]) -> dict[str, Any] | None:
    """How well confidence separates right guesses from wrong ones, including unanswerable questions.

    Returns:
        "n" (guesses with a confidence), "auroc" and "ece" (0 to 1) and "coverage_at_90" (% of all questions), each
        {"value", "low", "high"} with 95% bootstrap intervals; None if no line has a confidence.
    """
    told = [
        (item.confidence, is_right(item)) if item.confidence is not None and item.guess else None
        for item in predictions
    ]
    if not any(told):
        return None
    return {
        "n": sum(item is not None for item in told),
        "auroc": asdict(_interval(told, lambda judged, _: auroc(judged), 1, 4)),
        "ece": asdict(_interval(told, lambda judged, _: calibration_error(judged), 1, 4)),
        "coverage_at_90": asdict(_interval(told, coverage_at, 100, 2)),
    }


def _interval(
    told: Sequence[tuple[float, bool] | None], figure: Callable[[Judged, int], float], scale: float, digits: int
) -> Interval:
    """A figure of the questions with its percentile interval over resampled questions."""
    import numpy as np

    generator = np.random.default_rng(SEED)

    def of(sample: Sequence[tuple[float, bool] | None]) -> float:
        return scale * figure([item for item in sample if item is not None], len(sample))

    drawn = [
        of([told[i] for i in generator.integers(0, len(told), len(told)).tolist()])
        for _ in range(_RESAMPLES if len(told) > 1 else 1)
    ]
    low, high = np.percentile(drawn, [_TAIL, 100 - _TAIL])
    return Interval(round(of(told), digits), round(float(low), digits), round(float(high), digits))


def _percent(part: int, whole: int) -> float:
    return round(100 * part / whole, 2) if whole else 0.0
