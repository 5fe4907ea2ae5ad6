"""What the fields of a trace are called for people."""

from __future__ import annotations

from dataclasses import replace
from typing import get_args

from atomr_local.reasoning import confidence as signals
from atomr_local.reasoning.trace.schema import Method, NodeTrace, Trace, rating_text, taken_from_step
from atomr_local.reasoning.trace.telling import (
    MEASURES,
    METHODS,
    check_text,
    computation_text,
    measures_text,
    warning_text,
)


def test_every_method_has_words_and_none_of_them_is_its_own_name() -> None:
    assert set(METHODS) == set(get_args(Method))
    assert not any(word in text for text in METHODS.values() for word in ("RAG", "operator", "child", "symbolic"))


def test_where_nothing_is_cited_no_cited_passage_is_blamed() -> None:
    step = NodeTrace(1, 0, "Who?", "relate", answers=["Franz Liszt"], cited=["e1"], supported=False)
    assert check_text(step) == "the cited passage does not contain this answer"
    assert check_text(replace(step, cited=[])) == "no passage is cited for this answer"
    assert check_text(replace(step, supported=True)) == "the cited passage contains this answer"
    another = "the cited passage contains this answer, but is about another subject"
    assert check_text(replace(step, signals={"subject": 0.0})) == another


def test_computations_are_told_without_the_programs_inner_words() -> None:
    assert computation_text("answer of [5]") == "taken from step 5"
    assert computation_text("answer of [5]; in full: 1813-05-22") == "taken from step 5; in full: 1813-05-22"
    told = computation_text("tree: Rhine (0.01); direct: the Elbe (0.29)")
    assert told == "step by step: Rhine (0.01); directly from what was found: the Elbe (0.29)"
    assert taken_from_step("answer of [5]") == 5
    assert taken_from_step("answer of [5]; in full: 1813-05-22") is taken_from_step(None) is None
    assert computation_text("1813 < 1814") == "1813 < 1814"


def test_what_plan_or_evidence_leave_out_is_said_with_what_it_means() -> None:
    assert warning_text("the plan leaves out 1948") == "no step asks about 1948: the answer may not fit it"
    assert warning_text("step 1: no connection") == "step 1: no connection"
    said = warning_text("the evidence does not mention 2019")
    assert said == "the cited evidence does not mention 2019: the answer may not fit it"


def test_every_signal_has_words_and_none_of_them_is_shown_by_its_name() -> None:
    names = {
        value
        for name, value in vars(signals).items()
        if name.isupper() and isinstance(value, str) and value.isidentifier()
    }
    assert set(MEASURES) == names - {signals.OTHER}
    told = measures_text(dict.fromkeys(MEASURES, 0.5))
    assert not any(f" {name} " in f" {told} " for name in ("null", "verify", "type_fit", "leaves", "span", "rival"))
    assert measures_text({"steps": 3.0, "link": 0.978, "from.elsewhere": 1.0}) == (
        "name found in the graph 98% · steps looked up 3"
    )


def test_an_answer_taken_from_the_users_own_is_the_users() -> None:
    nodes = [
        NodeTrace(0, None, "a?", "root", answers=["x"], method="child", computation="answer of [1]"),
        NodeTrace(1, 0, "b?", "parent", answers=["x"], method="child", computation="answer of [2]"),
        NodeTrace(2, 1, "c?", "relate", answers=["x"]),
        NodeTrace(3, 1, "d?", "relate", answers=["x"], method="operator"),
        NodeTrace(4, 1, "e?", "parent", answers=["x"], method="child", computation="answer of [4]"),
    ]
    trace = Trace("a?", "atomr", {}, "answered", "x", ["x"], nodes=nodes)
    assert trace.by_user
    assert [trace.is_given(node) for node in nodes] == [True, True, True, False, False]


def test_a_rating_near_zero_has_no_minus() -> None:
    assert [rating_text(score) for score in (-0.001, -0.21, 0.8, None)] == ["0.00", "-0.21", "0.80", "–"]
