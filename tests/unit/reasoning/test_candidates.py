"""Candidate answers: fused, averaged, put to the vote."""

from __future__ import annotations

import math

import pytest

from atomr_local.reasoning.candidates import Candidate, fused, mean, top, vote
from atomr_local.sources.protocol import Value


def candidate(answer: str, score: float | None, origin: str = "text") -> Candidate:
    return Candidate(tuple(Value(part) for part in answer.split(", ") if part), score, origin)


def test_equal_answers_keep_the_best_score_and_its_origin() -> None:
    """RoHT's example by hand: children {A 0.70, B 0.64} and text {B 0.81} give B 0.81, A 0.70."""
    found = fused([candidate("A.", 0.70, "children"), candidate("B", 0.64, "children"), candidate("the b", 0.81)])
    assert [(item.answer, item.score, item.origin) for item in found] == [
        ("the b", 0.81, "text"),
        ("A.", 0.70, "children"),
    ]


def test_several_values_are_the_same_answer_in_any_order() -> None:
    [found] = fused([candidate("Ann, Bob", 0.2), candidate("Bob, Ann", 0.3)])
    assert found.score == 0.3


def test_an_unknown_score_is_the_lowest() -> None:
    assert [
        item.answer for item in top([candidate("A", None), candidate("B", -math.inf), candidate("C", -2.0)], 2)
    ] == ["C", "A"]


def test_json_cannot_write_infinity() -> None:
    assert candidate("", -math.inf).to_dict() == {"answer": "Unknown", "score": None, "origin": "text", "evidence": []}


def test_the_mean_is_of_known_scores() -> None:
    assert mean([0.8, None, 0.6]) == pytest.approx(0.7)
    assert mean([None]) is None
    assert mean([-0.2, -0.1, -0.3, -math.inf]) == -math.inf


def test_the_most_frequent_answer_wins() -> None:
    outcome = vote(["The Hague", "Paris", "the hague!", "", "Unknown"])
    assert (outcome.answer, outcome.share) == ("The Hague", 0.4)
    assert outcome.counts == {"The Hague": 2, "Paris": 1}


def test_the_first_seen_wins_a_tie() -> None:
    assert vote(["Paris", "Rome", "rome", "paris"]).answer == "Paris"


@pytest.mark.parametrize("answers", [[], [""], ["Unknown", "unknown.", ""]])
def test_unknown_never_wins(answers: list[str]) -> None:
    outcome = vote(answers)
    assert (outcome.answer, outcome.share) == ("", 0.0)


def test_unknown_loses_against_a_single_answer() -> None:
    assert vote(["Unknown", "Unknown", "Rome"]).answer == "Rome"
