"""What the fields of a trace are called for people."""

from __future__ import annotations

from typing import get_args

from atomr_local.reasoning.trace.schema import Method
from atomr_local.reasoning.trace.words import METHODS, computation_text, taken_from_step, warning_text


def test_every_method_has_words_and_none_of_them_is_its_own_name() -> None:
    assert set(METHODS) == set(get_args(Method))
    assert not any(word in text for text in METHODS.values() for word in ("RAG", "operator", "child", "symbolic"))


def test_computations_are_told_without_the_programs_inner_words() -> None:
    assert computation_text("answer of [5]") == "taken from step 5"
    assert computation_text("answer of [5]; in full: 1813-05-22") == "taken from step 5; in full: 1813-05-22"
    told = computation_text("tree: Rhine (0.01); direct: the Elbe (0.29)")
    assert told == "step by step: Rhine (0.01); directly from what was found: the Elbe (0.29)"
    assert taken_from_step("answer of [5]") == 5
    assert taken_from_step("answer of [5]; in full: 1813-05-22") is taken_from_step(None) is None
    assert computation_text("1813 < 1814") == "1813 < 1814"


def test_what_a_plan_leaves_out_is_said_with_what_it_means() -> None:
    assert warning_text("the plan leaves out 1948") == "no step asks about 1948: the answer may not fit it"
    assert warning_text("step 1: no connection") == "step 1: no connection"
