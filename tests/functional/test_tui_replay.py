"""A trace opened again gives the state that its events gave."""

from __future__ import annotations

from dataclasses import replace

import pytest
from support.grown_steps import GROWN_QUESTION, grown_trace
from support.tui.fake_assistant import PLAN, answered_trace, script

from atomr_local.reasoning.trace.events import Event, Finished, NodeFinished, NodeJudged
from atomr_local.reasoning.trace.schema import NodeTrace, Trace
from atomr_local.tui.question.correction import replay
from atomr_local.tui.question.state import NodeState, QuestionState
from atomr_local.tui.widgets.node_panel import verdict


def test_the_state_of_a_replayed_trace_is_the_one_of_its_events() -> None:
    lived = QuestionState()
    for event in script():
        lived.apply(event)
    shown = replay(answered_trace())
    assert shown.tree == lived.tree
    assert shown.answer == replace(lived.record, id=shown.record.id, totals=shown.record.totals)
    for number, view in lived.nodes.items():
        other = shown.nodes[number]
        assert (other.state, other.step) == (view.state, view.step)
    assert shown.citations == ["e2"]
    assert shown.users == lived.users


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


def test_a_tree_that_grew_is_rebuilt_from_its_nodes() -> None:
    events: list[Event] = []
    trace = grown_trace(sink=events.append)
    lived = QuestionState()
    for event in events:
        lived.apply(event)
    shown = replay(trace)
    assert [(n, v.parent, v.label) for n, v in shown.nodes.items()] == [
        (0, None, ""),
        (1, 0, "round 1"),
        (3, 0, "round 2"),
        (2, 1, "follow-up"),
    ]
    assert shown.record.strategy == lived.record.strategy == "react"
    for number, view in lived.nodes.items():
        other = shown.nodes[number]
        assert (other.state, other.parent, other.label) == (view.state, view.parent, view.label)
        assert other.result == view.result == trace.node(number)


def test_steps_that_the_plan_lacks_hang_where_the_nodes_say() -> None:
    trace = answered_trace()
    trace.nodes.append(NodeTrace(9, 4, "Who is Lang?", "oracle", "Who is Lang?", answer="A man", answers=["A man"]))
    shown = replay(trace)
    assert shown.tree is not None
    assert len(shown.tree) == 5
    assert (shown.nodes[9].parent, shown.nodes[9].label, shown.nodes[9].step.answer) == (4, "oracle", "A man")
    assert shown.nodes[4].node.call is not None


def test_steps_whose_plan_cannot_be_read_are_shown_by_their_kinds() -> None:
    trace = answered_trace()
    trace.plan.compact = "this is no plan ["
    shown = replay(trace)
    assert [(n, v.parent, v.label) for n, v in shown.nodes.items()] == [
        (0, None, ""), (1, 0, ""), (2, 0, "relate"), (3, 1, "search"), (4, 1, "relate"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    "places",
    [
        [(0, None), (1, 2), (2, 1)],
        [(0, None), (1, 1)],
        [(0, None), (1, 7)],
        [(0, None), (1, 0), (1, 1)],
        [(0, None), (0, None), (1, 0)],
        [(5, None), (0, 5)],
        [(1, 0), (0, 1)],
        [],
        [(0, None), *((number, number - 1) for number in range(1, 100))],
        [(0, None), *((number, 0) for number in range(1, 2000))],
    ],
)
def test_hostile_places_of_nodes_end_in_some_tree(places: list[tuple[int, int | None]]) -> None:
    nodes = [NodeTrace(number, parent, "?", "step", "?") for number, parent in places]
    trace = Trace(GROWN_QUESTION, "self-ask", {}, nodes=nodes)
    trace.plan.origin = "steps"
    shown = replay(trace)
    assert 0 in shown.nodes
    assert len(shown.nodes) <= max(1, len(nodes))
    for number, view in shown.nodes.items():
        above = view.parent
        while above is not None:
            assert above != number
            above = shown.nodes[above].parent


def test_steps_that_a_cancelled_question_has_not_ended_are_shown_as_such() -> None:
    """Neither as running on, nor as what was not found; live and from the history."""
    trace, lived = answered_trace(), QuestionState()
    trace.status = "cancelled"
    events = [event for event in script() if not isinstance(event, NodeFinished | NodeJudged) or event.node_id > 2]
    for event in events:
        lived.apply(event)
    lived.apply(Finished(trace=trace))
    for number in [number for number, view in lived.nodes.items() if view.result is None]:
        node = trace.node(number)
        trace.nodes[trace.nodes.index(node)] = NodeTrace(
            number, node.parent, kind=node.kind, question=node.question, resolved_question=node.resolved_question
        )
    shown = replay(trace)
    for state in (lived, shown):
        cut = {number for number, view in state.nodes.items() if view.state is NodeState.STOPPED}
        assert cut == {0, 1, 2}
        assert verdict(state.nodes[0]).plain == "not finished: the question ended before"
