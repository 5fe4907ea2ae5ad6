"""Bootstrap confidence intervals (Efron and Tibshirani, 1993, chapter 13: the percentile interval), seeded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

RESAMPLES = 10_000
SEED = 0
_LEVEL = 95.0
_BATCH = 500


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean in % with its 95% confidence interval, rounded to two decimals."""

    value: float
    low: float
    high: float


def mean_interval(values: Sequence[float], *, resamples: int = RESAMPLES, seed: int = SEED) -> Interval:
    """The mean of `values` (each 0 to 1, or -1 to 1 for paired differences) and its interval, in %.

    For a comparison of two systems give the per-question differences: resampling questions keeps the pairs.
    Zeros over no values.
    """
    import numpy as np

    if not values:
        return Interval(0.0, 0.0, 0.0)
    sample = np.asarray(values, dtype=np.float64)
    generator = np.random.default_rng(seed)
    means = np.concatenate(
        [
            sample[generator.integers(0, sample.size, (min(_BATCH, resamples - start), sample.size))].mean(axis=1)
            for start in range(0, resamples, _BATCH)
        ]
    )
    tail = (100 - _LEVEL) / 2
    low, high = np.percentile(means, [tail, 100 - tail])
    return Interval(round(100 * float(sample.mean()), 2), round(100 * float(low), 2), round(100 * float(high), 2))
