from __future__ import annotations

import pytest

from atomr_local.planning.coverage import LEAST_COVERAGE, uncovered
from atomr_local.planning.planner import fallback_tree
from atomr_local.tree.compact import parse_compact

BORN = '1. Who is the director of Jaws?\n 3. What is Jaws? = Search("Jaws", "film")\n 4. Who is the director of [3]? = Relate([3], "director")\n2. Where was [1] born? = Relate([1], "place of birth")'


@pytest.mark.parametrize(
    ("question", "left"),
    [
        ("Where was the director of the film Jaws born?", ()),
        ("What is the birthday of Jaws's director?", ()),
        (
            "Jaws starred which television actor known from a musical?",
            ("starred", "television", "actor", "known", "musical"),
        ),
    ],
)
def test_what_a_plan_leaves_out_is_named(question: str, left: tuple[str, ...]) -> None:
    share, words = uncovered(parse_compact(BORN, question))
    assert words == left
    assert (share < LEAST_COVERAGE) == bool(left)


def test_a_step_that_repeats_the_question_covers_nothing() -> None:
    question = "Which is heavier, osmium or iridium?"
    plan = '1. What is osmium? = Search("osmium")\n2. What is iridium? = Search("iridium")\n3. Given answers of [1] and [2], which is heavier?'
    assert uncovered(parse_compact(plan, question))[1] == ("heavier",)


def test_a_question_without_telling_words_is_covered() -> None:
    assert uncovered(parse_compact('1. Who is it? = Search("it")', "Who is it?")) == (1.0, ())
    assert uncovered(fallback_tree("Who?")) == (1.0, ())
