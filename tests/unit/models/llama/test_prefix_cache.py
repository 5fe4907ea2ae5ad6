"""The prefix cache against a sequence that records what is evaluated together with what."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import pytest

from atomr_local.errors import Cancelled
from atomr_local.models.llama.prefix_cache import PrefixCache

GRID = 4
Cells = list[tuple[int, int, int]]  # token, where its batch began, how long the batch was


class FakeSequence:
    """A sequence whose cells remember their batch, as floating point sums would."""

    def __init__(self, can_trim: bool = True, context_tokens: int = 100) -> None:
        self.can_trim = can_trim
        self.context_tokens = context_tokens
        self.cells: Cells = []
        self.fail_after: int | None = None

    def decode(self, tokens: Sequence[int], flag: Any) -> None:
        if self.fail_after is not None:
            if self.fail_after == 0:
                self.cells += [(-1, -1, -1)]  # an aborted evaluation may leave something behind
                raise Cancelled()
            self.fail_after -= 1
        begin = len(self.cells)
        self.cells += [(token, begin, len(tokens)) for token in tokens]

    def trim(self, length: int) -> bool:
        if length and (not self.can_trim or length > len(self.cells)):
            self.cells = []
            return False
        self.cells = self.cells[:length]
        return True

    def save(self) -> Any:
        return list(self.cells)

    def restore(self, state: Any) -> bool:
        self.cells = list(state)
        return True


def cold(tokens: Sequence[int], static: int, continued: int = 0) -> Cells:
    sequence = FakeSequence()
    PrefixCache(sequence, GRID).evaluate(tokens, static, None, continued)
    return sequence.cells


@pytest.mark.parametrize("can_trim", [True, False])
def test_any_history_leaves_the_cells_of_a_cold_evaluation(can_trim: bool) -> None:
    random_ = random.Random(5)
    reused = 0
    for _ in range(300):
        sequence = FakeSequence(can_trim, context_tokens=40)
        cache = PrefixCache(sequence, GRID)
        for _ in range(12):
            tokens = [0] * random_.randrange(12) + [random_.randrange(2) for _ in range(random_.randrange(1, 12))]
            static = random_.randrange(len(tokens) + 1)
            continued = random_.randrange(static, len(tokens) + 1) if random_.random() < 0.5 else 0
            sequence.fail_after = random_.randrange(3) if random_.random() < 0.2 else None
            try:
                evaluated = cache.evaluate(tokens, static, None, continued)
            except Cancelled:
                continue
            assert sequence.cells == cold(tokens, static, continued)
            assert 1 <= evaluated <= len(tokens)
            reused += len(tokens) - evaluated
            for token in range(random_.randrange(5)):
                sequence.decode([token], None) if sequence.fail_after is None else None
    assert reused > 500


def test_a_prompt_that_goes_on_from_the_last_one_reads_only_what_is_new() -> None:
    sequence = FakeSequence()
    cache = PrefixCache(sequence, GRID)
    earlier = [0, 0, *range(1, 12)]
    cache.evaluate(earlier, 2, None)
    sequence.decode([50], None)  # what the model wrote
    assert cache.reusable([*earlier, 50, 60, 61], 2, len(earlier)) == len(earlier)
    assert cache.evaluate([*earlier, 50, 60, 61], 2, None, len(earlier)) == 3
    assert sequence.cells == cold([*earlier, 50, 60, 61], 2, len(earlier))


def test_kinds_of_prompts_may_alternate() -> None:
    sequence = FakeSequence()
    cache = PrefixCache(sequence, GRID)
    plan, read = [1] * 10, [2] * 11
    for round_ in range(3):
        for static in (plan, read):
            evaluated = cache.evaluate([*static, 5, 6, round_], len(static), None)
            assert evaluated == (3 if round_ else len(static) + 3)


def test_the_same_prompt_again_evaluates_the_last_batch_only() -> None:
    cache = PrefixCache(FakeSequence(), GRID)
    tokens = list(range(21))
    assert cache.evaluate(tokens, 10, None) == 21
    assert cache.evaluate(tokens, 10, None) == 3  # 10 static, then 4, 4, 3


def test_a_new_static_part_reuses_what_it_shares() -> None:
    cache = PrefixCache(FakeSequence(), GRID)
    cache.evaluate([1] * 9 + [2] * 9 + [3], 18, None)
    cache.evaluate([9] * 30, 20, None)
    assert cache.evaluate([1] * 9 + [4] * 9 + [3], 18, None) == 19 - 8


def test_snapshots_are_bounded_and_the_least_recently_used_goes() -> None:
    sequence = FakeSequence(context_tokens=20)
    cache = PrefixCache(sequence, GRID)
    for kind in (1, 2, 3, 1, 4, 5):
        cache.evaluate([kind] * 10 + [0], 10, None)
    assert [prefix[0] for prefix in cache._snapshots] == [3, 1, 4, 5]
    assert cache.evaluate([1] * 10 + [7], 10, None) == 1
    assert cache.evaluate([2] * 10 + [7], 10, None) == 11


def test_a_cancelled_evaluation_keeps_its_whole_batches() -> None:
    sequence = FakeSequence()
    cache = PrefixCache(sequence, GRID)
    sequence.fail_after = 2
    with pytest.raises(Cancelled):
        cache.evaluate(list(range(20)), 0, None)
    sequence.fail_after = None
    assert cache.evaluate(list(range(20)), 0, None) == 12
    assert sequence.cells == cold(list(range(20)), 0)
