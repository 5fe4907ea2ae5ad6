"""The greedy maximum of a determinantal point process: items of high quality that differ from each other.

Kulesza and Taskar, 2012; by incremental Cholesky factors: Chen, Zhang and Zhou, NeurIPS 2018.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

_LEAST_GAIN = 1e-9


def greedy(
    diagonal: Sequence[float],
    kernel: Callable[[int, int], float],
    count: int,
    take: Callable[[int], bool] = lambda _index: True,
) -> list[int]:
    """At most `count` indices Y, each the one that adds most to log det of the kernel restricted to Y.

    Ends early where every further item would make the determinant zero. Of equal items the first is taken.

    Args:
        diagonal: kernel[i, i] of every item.
        kernel: symmetric and positive semidefinite; called for two different items.
        take: called with the best index of each step; returns False to skip it.
    """
    gains = list(diagonal)
    factors: list[list[float]] = [[] for _ in gains]
    waiting = set(range(len(gains)))
    chosen: list[int] = []
    while waiting and len(chosen) < count:
        best = max(waiting, key=lambda i: (gains[i], -i))
        if gains[best] < _LEAST_GAIN:
            break
        waiting.remove(best)
        if not take(best):
            continue
        chosen.append(best)
        root = math.sqrt(gains[best])
        for i in waiting:
            shared = sum(a * b for a, b in zip(factors[best], factors[i], strict=True))
            factor = (kernel(best, i) - shared) / root
            factors[i].append(factor)
            gains[i] -= factor * factor
    return chosen
