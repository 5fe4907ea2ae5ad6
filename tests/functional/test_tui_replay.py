"""A trace opened again gives the state that its events gave."""

from __future__ import annotations

from support.tui.fake_assistant import PLAN, answered_trace, script

from atomr_local.tui.question.replay import replay
from atomr_local.tui.question.state import QuestionState


def test_the_state_of_a_replayed_trace_is_the_one_of_its_events() -> None:
    lived = QuestionState()
    for event in script():
        lived.apply(event)
    shown = replay(answered_trace())
    assert shown.tree == lived.tree
    assert shown.answer == lived.answer
    assert shown.evidence.keys() == lived.evidence.keys()
    for number, view in lived.nodes.items():
        other = shown.nodes[number]
        assert (other.state, other.answer, other.evidence) == (view.state, view.answer, view.evidence)
        assert other.resolved_question == view.resolved_question or view.resolved_question == view.node.question
    assert shown.citations == ["e2"]
    assert shown.users_of("e1") == lived.users_of("e1")


def test_a_trace_whose_plan_cannot_be_read_is_one_step() -> None:
    trace = answered_trace()
    trace.plan.compact = "this is no plan ["
    shown = replay(trace)
    assert shown.tree is not None
    assert len(shown.tree) == 1
    assert shown.answer is not None
    assert shown.answer.answer == "The answer is Vienna."


def test_a_plan_of_other_steps_than_the_trace_has_is_not_believed() -> None:
    trace = answered_trace()
    trace.plan.compact = PLAN.replace(" 4. ", " 9. ").replace("[4]", "[9]")
    shown = replay(trace)
    assert shown.tree is not None
    assert len(shown.tree) == 1
