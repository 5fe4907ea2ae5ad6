"""What is told of a step in a line, and when a step without an answer has ended as it should."""

from __future__ import annotations

import math
from typing import Any

import pytest

from atomr_local.reasoning.candidates import Candidate
from atomr_local.reasoning.trace.schema import NodeTrace
from atomr_local.reasoning.trace.telling import (
    bounded,
    is_stage,
    kind_text,
    method_text,
    origin_text,
    step_details,
    step_title,
    winner_text,
)
from atomr_local.sources.protocol import Value

SEARCH = {"name": "search", "input": "Metropolis"}
WEIGHED = [{"answer": "Vienna", "score": -0.214, "origin": "text", "evidence": ["e1"]}]


def step(question: str = "Who directed it?", **given: Any) -> NodeTrace:
    return NodeTrace(1, 0, question, "step", question, **given)


@pytest.mark.parametrize(
    ("node", "label", "is_one"),
    [
        (step(action=SEARCH), "round 1", True),
        (step(action=SEARCH, answers=["Vienna"]), "round 1", False),
        (step(action=SEARCH, error={"title": "x", "message": "y"}), "round 1", False),
        (step("Lang was born there."), "sentence 2", True),
        (step(thought="Lang was born there."), "first search", True),
        (step(observation="Nothing."), "round 1", True),
        (step(), "follow-up", False),
        (step("Lang was born there."), "", False),
        (step(candidates=WEIGHED), "vote", False),
    ],
)
def test_a_step_on_the_way_is_told_from_one_that_found_nothing(node: NodeTrace, label: str, is_one: bool) -> None:
    assert is_stage(node, label, node.question) is is_one


def test_a_title_is_the_use_of_the_tool_or_the_question() -> None:
    assert step_title(step(action=SEARCH), "round 1", "Who?") == "round 1: search[Metropolis]"
    assert step_title(step(), "", "Who?") == "Who?"
    assert step_title(step(), "\x1b[2J" + "x" * 500, "Who\n?") == f"{'x' * 60}: Who ?"


def test_long_texts_are_cut_and_stay_one_line() -> None:
    long = "word " * 100_000
    for name, text in step_details(
        step(thought=long, action={"name": long, "input": long}, observation=long,
             candidates=[{"answer": long, "score": None, "origin": long, "evidence": []}] * 50)
    ):  # fmt: skip
        assert len(text) < 1_100, name
        assert "\n" not in text
    assert bounded("short") == "short"


def test_many_weighed_answers_are_counted() -> None:
    told = [text for name, text in step_details(step(candidates=WEIGHED * 12)) if name == "weighed"]
    assert told[0] == "Vienna: from the text, rating -0.21"
    assert told[-1] == "and 2 more"


def test_what_was_left_out_or_ended_the_method_is_told_as_a_note() -> None:
    told = list(step_details(step(dropped=["the model asked again: Who?", *["e1 left out"] * 30])))
    assert told[0] == ("note", "the model asked again: Who?")
    assert told[-1] == ("note", "and 11 more")


def test_the_winner_tells_where_it_comes_from() -> None:
    assert winner_text(step(candidates=WEIGHED, answers=["Vienna"])) == "from the text, rating -0.21"
    assert winner_text(step(candidates=WEIGHED)) == ""
    lost = Candidate((Value("Graz"),), -math.inf, "children").to_dict()
    assert winner_text(step(candidates=[lost], answers=["Graz"])) == "from the steps below"


def test_names_of_another_version_are_shown_as_text() -> None:
    assert method_text("vote") == "the most frequent of several answers"
    assert method_text("dow\x1b[2Jsing") == "dowsing"
    assert len(method_text("x" * 1_000)) == 60
    assert kind_text("", "oracle") == "oracle"
    assert kind_text("", "step") == kind_text("", "root") == ""
    assert kind_text("follow-up", "step") == "follow-up"
    assert kind_text("vote", "step") == "several tries"
    assert origin_text("stars") == "stars"
