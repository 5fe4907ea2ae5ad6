"""What the span reader says of a reading becomes its signals."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from atomr_local.indexing.embedding.span_reader import SpanVerdict
from atomr_local.reasoning.reading.answer_formats import Reading


def verdict(*answers: float | None) -> SpanVerdict:
    return SpanVerdict(0.75, answers, "Emma")


@pytest.mark.parametrize(
    ("answers", "signals"),
    [
        ((0.5,), {"answerable": 0.75, "span": 0.5}),
        ((0.5, 0.25), {"answerable": 0.75, "span": 0.25}),
        ((None, 0.25), {"answerable": 0.75, "span": 0.25}),
        ((None,), {"answerable": 0.75}),
    ],
)
def test_the_answer_that_it_speaks_against_most_counts(
    answers: Sequence[float | None], signals: dict[str, float]
) -> None:
    assert Reading(answers=("a",), verdict=verdict(*answers)).signals == signals


def test_without_it_there_are_no_such_signals() -> None:
    assert Reading(answers=("a",)).signals == {}
