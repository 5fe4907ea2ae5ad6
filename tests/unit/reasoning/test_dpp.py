"""The greedy maximum of a determinantal point process, against determinants worked out by hand."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from atomr_local.reasoning.planning.examples import greedy


def chosen(kernel: Sequence[Sequence[float]], count: int) -> list[int]:
    return greedy([row[i] for i, row in enumerate(kernel)], lambda i, j: kernel[i][j], count)


def test_the_second_is_the_one_that_adds_most_to_the_determinant() -> None:
    # {0, 1}: 4 · 3 - 3² = 3; {0, 2}: 4 · 2 - 1² = 7; all three: 24 + 2 · 3 · 1 · 1 - 4 · 1 - 3 · 1 - 2 · 9 = 5.
    assert chosen([[4, 3, 1], [3, 3, 1], [1, 1, 2]], 2) == [0, 2]
    assert chosen([[4, 3, 1], [3, 3, 1], [1, 1, 2]], 3) == [0, 2, 1]


def test_what_only_repeats_a_chosen_one_is_not_chosen() -> None:
    assert chosen([[1, 1, 0], [1, 1, 0], [0, 0, 0.5]], 3) == [0, 2]


@pytest.mark.parametrize("count", [0, 1, 5])
def test_no_more_than_asked_and_equal_ones_in_their_order(count: int) -> None:
    assert chosen([[1, 0], [0, 1]], count) == [0, 1][:count]


def test_one_that_is_not_taken_leaves_its_place_to_the_next() -> None:
    assert greedy([3.0, 2.0, 1.0], lambda _i, _j: 0.0, 2, take=lambda i: i != 0) == [1, 2]
