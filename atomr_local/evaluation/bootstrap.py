"""Bootstrap confidence intervals (Efron and Tibshirani, 1993, chapter 13: the percentile interval), seeded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

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
