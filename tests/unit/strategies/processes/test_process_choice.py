"""Which processes are shown, against numbers worked out by hand."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pytest

from atomr_local.reasoning.ranking import Ranking
from atomr_local.strategies.processes import process as choice
from atomr_local.strategies.processes.process import (
    MOST_COMPARED,
    RIDGE,
    Choice,
    chosen,
    chosen_places,
    likeness,
    shipped,
    usable,
)
from atomr_local.system.cancellation import Cancellation

TEXT = ("search", "read", "finish")
GRAPH = ("id", "query", "run", "finish")


def test_likeness_of_what_is_done() -> None:
    assert likeness(TEXT, TEXT) == 1.0
    # Two replaced, one put in, of the longer one's four.
    assert likeness(TEXT, GRAPH) == 1 - 3 / 4
    assert likeness((), ()) == 1.0


def test_negative_eigenvalues_are_clipped_and_the_diagonal_grows() -> None:
    # Eigenvalues 1 + 0.9 √2, 1, 1 - 0.9 √2 = -0.2728 with the vector (1, -√2, 1) / 2.
    made = usable([[1, 0.9, 0], [0.9, 1, 0.9], [0, 0.9, 1]])
    lifted = 0.9 * math.sqrt(2) - 1
    assert made[0][0] == pytest.approx(1 + lifted / 4 + RIDGE)
    assert made[1][1] == pytest.approx(1 + lifted / 2 + RIDGE)
    assert made[0][1] == pytest.approx(0.9 - lifted * math.sqrt(2) / 4)
    assert made[0][2] == pytest.approx(lifted / 4)


@pytest.mark.parametrize(
    ("how", "expected"),
    [
        # A first: 0.9² · 1.05 = 0.8505. Then B: 0.8² · 1.05 - 0.72² / 0.8505 = 0.0625; C: 0.5² · 1.05 - 0.1125² / 0.8505
        # = 0.2476.
        ("dpp", [0, 2, 1]),
        ("relevance", [0, 1, 2]),
        # All equally relevant: A; then B gains 1.05 - 1 / 1.05 = 0.0976, C 1.05 - 0.25² / 1.05 = 0.9905.
        ("diversity", [0, 2, 1]),
    ],
)
def test_relevance_and_diversity(how: Choice, expected: list[int]) -> None:
    relevance = [0.9, 0.8, 0.5] if how != "diversity" else [1.0] * 3
    assert chosen_places(relevance, [TEXT, TEXT, GRAPH], 3, how) == expected


def test_a_cosine_that_is_not_positive_counts_a_little() -> None:
    assert chosen_places([-0.5, 0.0], [TEXT, GRAPH], 2) == [0, 1]


@pytest.mark.parametrize("how", ["dpp", "relevance", "diversity", "random"])
def test_the_shipped_ones_without_an_embedder(how: Choice) -> None:
    question = "Who was married to the composer of Tosca?"
    picked = chosen(question, shipped(), 3, how, Ranking(), Cancellation(), seed=3)
    assert len({process.question for process in picked}) == 3
    assert picked == chosen(question, shipped(), 3, how, Ranking(), Cancellation(), seed=3)
    if how in {"dpp", "relevance"}:
        assert picked[0].question == "Who was married to the composer of Parsifal?"
    assert chosen(question, shipped(), 0, how, Ranking(), Cancellation()) == []


@pytest.mark.parametrize("how", ["dpp", "relevance"])
def test_of_very_many_the_likest_in_wording_are_compared(how: Choice, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is compared grows with the square of their number: a minute and more for all that can be kept."""
    [first, *_] = shipped()
    far = [first.model_copy(update={"question": f"In which year was number {i} built?"}) for i in range(MOST_COMPARED)]
    near = first.model_copy(update={"question": "Who was married to the composer of Norma?"})
    compared: list[int] = []

    def places(relevance: Sequence[float], *_: object) -> list[int]:
        compared.append(len(relevance))
        return [relevance.index(max(relevance))]

    monkeypatch.setattr(choice, "chosen_places", places)
    picked = chosen("Who was married to the composer of Tosca?", [*far, near, *far], 3, how, Ranking(), Cancellation())
    assert ([one.question for one in picked], compared) == ([near.question], [MOST_COMPARED])
