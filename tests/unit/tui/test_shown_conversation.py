"""The conversation on the screen, and what a question's state says of how it was understood."""

from __future__ import annotations

from typing import Any

from atomr_local.reasoning.trace.events import PlanReady, QuestionAsked, QuestionUnderstood
from atomr_local.reasoning.trace.schema import NodeTrace, Status, Trace
from atomr_local.reasoning.trace.telling import understood
from atomr_local.tree.compact import parse_compact
from atomr_local.tui.clipboard import answer_text
from atomr_local.tui.question.conversation import ShownConversation
from atomr_local.tui.question.correction import replay
from atomr_local.tui.question.state import QuestionState
from atomr_local.tui.widgets.welcome import understood_text


def trace(question: str, name: str, status: Status = "answered", **fields: object) -> Trace:
    answer = {"answer": "x", "answers": ["x"]} if status == "answered" else {}
    return Trace(question, "atomr", {}, id=name, status=status, **(answer | fields))  # type: ignore[arg-type]


def asked(question: str, **known: Any) -> Trace:
    return Trace(question, "", {}, **known)


def ended(one: Trace) -> QuestionState:
    return QuestionState(one, trace=one)


def test_what_has_no_answer_is_listed_but_nothing_refers_to_it_and_what_is_asked_again_keeps_its_place() -> None:
    talk = ShownConversation()
    first, second, again = trace("a?", "1"), trace("b?", "2"), trace("a?", "3")
    for one in (first, trace("c?", "4", "cancelled"), trace("d?", "5", "failed"), second):
        talk.take(ended(one))
    assert [turn.trace.id for turn in talk.turns] == ["1", "4", "5", "2"]
    assert [turn.status for turn in talk.turns] == ["answered", "cancelled", "failed", "answered"]
    talk.take(ended(again), first)
    assert [turn.trace.id for turn in talk.turns] == ["3", "4", "5", "2"]
    before = talk.context(second)
    assert before is not None
    assert [turn.trace_id for turn in before.turns] == ["3"]
    assert talk.context(again) is None, "nothing came before the first question"
    everything = talk.context(first)  # which is none of them any more
    assert everything is not None
    assert len(everything.turns) == 2


def test_a_stopped_correction_leaves_the_earlier_answer_in_its_place() -> None:
    talk = ShownConversation()
    first = trace("a?", "1", confidence=0.9)
    talk.take(ended(first))
    talk.take(ended(trace("a?", "2", "cancelled")), first)
    assert [(turn.trace.id, turn.status) for turn in talk.turns] == [("1", "well supported")]


def test_what_is_asked_again_after_a_stopped_run_still_takes_the_first_ones_place() -> None:
    talk = ShownConversation()
    first, stopped, other = trace("a?", "1"), trace("a?", "2", "cancelled"), trace("a?", "3")
    talk.take(ended(first))
    talk.take(ended(stopped), first)
    assert talk.context(stopped) is None, "the question is no follow-up of itself"
    talk.take(ended(other), stopped)
    assert [turn.trace.id for turn in talk.turns] == ["3"]


def test_answers_are_compared_where_a_plan_reads_the_question_otherwise() -> None:
    talk = ShownConversation()
    plain = trace("How many moons has Mars?", "1")
    planned = trace("How many moons has Mars?", "2", understood_as="What are the moons of Mars?")
    planned.strategy = "roht"
    follow_up = trace("And Venus?", "3", understood_as="How many moons has Venus?", took_from=["1"])
    for one in (plain, planned, follow_up):
        talk.take(ended(one))
    assert talk.compared.of(plain) == [plain, planned]
    assert talk.compared.of(follow_up) == [follow_up]


def test_a_question_is_asked_again_as_it_was_meant_and_not_as_a_plan_reads_it() -> None:
    state = QuestionState()
    state.apply(QuestionUnderstood(understood_as="How many moons has Mars?", took_from=("1",), conversation="1"))
    tree = parse_compact("0. What are the moons of Mars? = Answer(thing)", "And Mars?")
    state.apply(PlanReady(tree=tree, compact="", origin="model", attempts=1, problems=()))
    assert (state.record.understood_as, state.meant) == ("What are the moons of Mars?", "How many moons has Mars?")


def test_an_answer_of_the_users_own_is_said_to_be_theirs() -> None:
    talk = ShownConversation()
    given = NodeTrace(0, None, "a?", "root", answers=["x"])
    looked_up = NodeTrace(0, None, "b?", "root", answers=["x"], method="symbolic")
    below = NodeTrace(1, 0, "c?", "relate", answers=["x"])
    talk.take(ended(trace("a?", "1", confidence=1.0, nodes=[given])))
    talk.take(ended(trace("b?", "2", confidence=0.9, nodes=[looked_up, below])))
    talk.take(ended(trace("d?", "3", confidence=0.9, warnings=["the plan leaves out 1948"])))
    assert [turn.status for turn in talk.turns] == ["✎ your answer", "well supported ✎", "well supported ⚠"]


def test_of_a_question_asked_twice_in_a_row_the_later_answer_counts() -> None:
    talk = ShownConversation()
    talk.open([trace("a?", "1"), trace("b?", "2"), trace(" b? ", "3"), trace("c?", "4", "failed")])
    assert [turn.trace.id for turn in talk.turns] == ["1", "3"]


def test_the_state_and_a_kept_trace_say_how_the_question_was_understood() -> None:
    state = QuestionState()
    state.apply(QuestionAsked(question="and hers?", strategy="atomr", settings={}))
    assert not understood(state.record)
    state.apply(QuestionUnderstood(understood_as="Who is hers?", took_from=("1",), conversation="1"))
    assert understood(state.record)
    tree = parse_compact('0. Whose is it? = Answer(person)\n1. Who? = Search("x")\n', "Who is hers?")
    state.apply(PlanReady(tree=tree, compact="", origin="model", attempts=1))
    assert (state.record.understood_as, state.record.took_from) == ("Whose is it?", ["1"])
    kept = trace("and hers?", "2", understood_as="Who is hers?", conversation="1", took_from=["1"])
    kept.nodes = [NodeTrace(0, None, "Who is hers?", "root", "Who is hers?")]
    again = replay(kept)
    assert (again.record.understood_as, again.record.took_from, again.record.conversation) == (
        "Who is hers?",
        ["1"],
        "1",
    )
    assert again.tree is not None
    assert again.tree.question == "Who is hers?"
    assert answer_text(again).startswith("and hers?\n(understood as: Who is hers?)\n")
    old = replay(trace("Who?", ""))
    assert not understood(old.record)
    assert not old.record.conversation


def test_the_line_says_what_was_taken_from_where() -> None:
    state = asked("and hers?", understood_as="Who is hers?", conversation="1", took_from=["1"])
    assert understood_text(state, {"1": "Who is it?"}).plain == "Understood as: Who is hers? · from “Who is it?”"
    assert understood_text(state, {}).plain == "Understood as: Who is hers? · from an earlier question"
    state.took_from = []
    assert understood_text(state, {}).plain == "Understood as: Who is hers?"
    state.understood_as = "and  hers?"
    assert not understood_text(state, {}), "a new topic needs no line"
    assert not understood_text(asked("a?", understood_as="a?"), {})
    first = asked("can you say who", understood_as="Who?")
    assert understood_text(first, {}).plain == "Understood as: Who?", "a first question may be reworded too"
