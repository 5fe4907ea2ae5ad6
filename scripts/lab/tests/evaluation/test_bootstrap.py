"""Paired bootstrap and Holm's correction against numbers worked out by hand."""

from __future__ import annotations

import pytest
from atomr_lab.evaluation.metrics import holm, paired_difference


def test_holm_by_hand() -> None:
    # Sorted: 0.01 × 4 = 0.04; 0.02 × 3 = 0.06; 0.03 × 2 = 0.06; 0.5 × 1 = 0.5.
    assert holm([0.03, 0.01, 0.5, 0.02]) == [0.06, 0.04, 0.5, 0.06]
    # A later one is never lower than one before it: 0.02 × 2 = 0.04, then 0.03 × 1 would be 0.03.
    assert holm([0.03, 0.02]) == [0.04, 0.04]
    assert holm([0.6, 0.7]) == [1.0, 1.0]
    assert holm([0.2]) == [0.2]
    assert holm([]) == []


def test_paired_difference_by_hand() -> None:
    # Two questions, one won: resamples have a mean of 0, 0.5 or 1 with 1/4, 1/2, 1/4. No mean is below zero, and zero
    # itself comes up in a quarter: p = 2 × 1/4.
    found = paired_difference([0.0, 0.0], [1.0, 0.0])
    assert (found.value, found.low, found.high) == (50.0, 0.0, 100.0)
    assert found.p == pytest.approx(0.5, abs=0.02)
    # Won and lost alike: no difference.
    assert paired_difference([1.0, 0.0], [0.0, 1.0]).value == 0
    assert paired_difference([1.0, 0.0], [0.0, 1.0]).p == 1.0
    # Won everywhere: every resample is 1, and p is as small as 10,000 resamples can tell.
    assert paired_difference([0.0] * 5, [1.0] * 5).p == pytest.approx(2 / 10_001, abs=1e-4)
