"""Filters that compare things with each other are computed, or sent back."""

from __future__ import annotations

import pytest
from support.fake_parts import FakeBackbone

from atomr_local.reasoning.planning.examples import ExampleLibrary
from atomr_local.reasoning.planning.plan_repairs import comparing_filters, with_comparisons
from atomr_local.reasoning.planning.planner import Planner
from atomr_local.tree.compact import parse_compact, to_compact
from atomr_local.tree.nodes import Tree
from atomr_local.tree.validation import Limits, check

QUESTION = "Which neighbour of Ukraine?"


def plan(condition: str) -> str:
    return (
        f'0. {QUESTION} = Answer(place)\n1. Which countries border Ukraine? = Relate("Ukraine", "neighbours")\n'
        f'2. Which of [1]? = Filter([1], "{condition}")\n3. What is the capital of [2]? = Relate([2], "capital")'
    )


def steps(tree: Tree) -> list[str]:
    return [line.split(" = ")[1] for line in to_compact(tree).split("\n")[2:]]


@pytest.mark.parametrize(
    ("condition", "measure", "direction"),
    [
        ("larger", "area", "larger"),
        ("is the largest", "area", "larger"),
        ("the longest river", "length", "larger"),
        ("shortest", "length", "smaller"),
        ("has the most inhabitants", "population", "larger"),
        ("with the fewest speakers", "number of speakers", "smaller"),
        ("has the largest economy", "economy", "larger"),
        ("smallest by population", "population", "smaller"),
    ],
)
def test_a_filter_that_says_what_it_compares_is_computed(condition: str, measure: str, direction: str) -> None:
    tree = with_comparisons(parse_compact(plan(condition)))
    check(tree)
    assert steps(tree) == [f'Relate([1], "{measure}")', f'Compare([2], "{direction}")', 'Relate([3], "capital")']


@pytest.mark.parametrize("condition", ["oldest", "is younger", "the best", "most", "lowest", "newest by founding"])
def test_a_filter_that_does_not_say_what_it_compares_is_named(condition: str) -> None:
    tree = parse_compact(plan(condition))
    assert with_comparisons(tree) is tree
    (complaint,) = comparing_filters(tree)
    assert "step 2" in complaint
    assert "Compare" in complaint


@pytest.mark.parametrize(
    "condition",
    ["larger than France", "longer than 500 km", "is a metal", "has more than 5 people", "is highest rated", "is long",
     "is the largest city in Spain", "was the first to go to Sirius", "at most 3"],
)  # fmt: skip
def test_a_filter_that_looks_at_one_thing_at_a_time_stays(condition: str) -> None:
    tree = parse_compact(plan(condition))
    assert with_comparisons(tree) is tree
    assert list(comparing_filters(tree)) == []


def test_the_planner_computes_it_or_asks_again() -> None:
    good = plan("is a kingdom")
    backbone = FakeBackbone(plan("oldest"), good)
    made = Planner(backbone, ExampleLibrary.shipped(), Limits()).plan(QUESTION)
    assert (made.origin, made.attempts) == ("model", 2)
    assert "compares things with each other" in backbone.asked[1]
    made = Planner(FakeBackbone(plan("largest")), ExampleLibrary.shipped(), Limits()).plan(QUESTION)
    assert made.attempts == 1
    assert "Compare([" in made.compact
