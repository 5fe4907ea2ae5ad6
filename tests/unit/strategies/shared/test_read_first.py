"""The passages nearest to a question are read before a plan is made."""

from __future__ import annotations

from dataclasses import replace

import pytest
from support.fake_parts import FakeBackbone, FakeSource, Said, passages, toolbox

from atomr_local.reasoning.confidence import GUESS, POINTED, Calibration
from atomr_local.reasoning.results import Result
from atomr_local.reasoning.trace.events import Event, NodeFinished, PlanReady
from atomr_local.sources.protocol import Value
from atomr_local.strategies.atomr import AtomR
from atomr_local.strategies.protocol import QuestionContext
from atomr_local.strategies.shared.follow_ups import concludes, read_first
from atomr_local.tree.compact import parse_compact

QUESTION = "How many days off do I get?"
PASSAGES = passages(("Leave", "You get 25 days a year. Ask your lead."))
OF_A_FILE = [replace(item, locator={**item.locator, "file": "leave.md"}) for item in PASSAGES.evidence]
FOUND = {QUESTION: replace(PASSAGES, evidence=tuple(OF_A_FILE))}
PLAN = f"0. {QUESTION} = Answer(number)"
TWO_HOPS = (
    f'0. {QUESTION} = Answer(number)\n1. Who is my lead? = Relate("me", "lead")\n2. What? = Relate([1], "days off")'
)


def tools_of(
    *replies: str, sources: tuple[str, ...] = ("text",), points: bool = True, **given: object
) -> QuestionContext:
    events: list[Event] = given.pop("events", [])  # type: ignore[assignment]
    found = [FakeSource(name, FOUND if name == "text" else {}) for name in sources]
    tools = toolbox(QUESTION, FakeBackbone(*replies), *found, sink=events.append, **given)
    tools.reader.points = points
    return tools


def test_a_sure_reading_is_the_answer_without_a_plan() -> None:
    events: list[Event] = []
    tools = tools_of(Said("1: 25 days", 0.99), events=events, calibration=Calibration(settled=0.1))
    result = AtomR().run(QUESTION, None, "model", tools)
    assert (result.texts, result.signals[POINTED]) == (("25 days",), 1.0)
    [plan] = [event for event in events if isinstance(event, PlanReady)]
    assert plan.origin == "rule"
    root = tools.recorder.trace.node(0)
    assert (root.answers, root.cited, root.supported) == (["25 days"], ["e1"], True)
    assert root.quotes == [{"evidence": "e1", "span": [0, 23]}]


def test_a_reading_of_an_encyclopedia_is_never_sure_enough_by_itself() -> None:
    tools = tools_of(Said("1: 25 days", 0.99), calibration=Calibration(settled=0.1))
    tools.retriever.sources["text"].found = {QUESTION: PASSAGES}  # type: ignore[attr-defined]
    result, sure = read_first(QUESTION, tools)
    assert result is not None
    assert (result.texts, sure) == (("25 days",), False)


def test_an_unsure_reading_is_told_once_the_plan_asks_no_more_than_one_thing() -> None:
    events: list[Event] = []
    tools = tools_of("1: 25 days", PLAN, events=events, calibration=Calibration(settled=1.01))
    result = AtomR().run(QUESTION, None, "model", tools)
    assert result.texts == ("25 days",)
    assert [event.answers for event in events if isinstance(event, NodeFinished)] == [["25 days"]]


def test_a_question_that_the_passages_do_not_answer_has_a_guess_if_guesses_are_on() -> None:
    tools = tools_of("Unknown", "2", PLAN, features={"guess": True}, calibration=Calibration(accept_pointed=0.99))
    result = AtomR().run(QUESTION, None, "model", tools)
    assert (result.texts, result.signals[GUESS]) == (("Ask your lead.",), 1.0)
    assert tools.recorder.trace.node(0).outcome == "not found"
    silent = tools_of("Unknown", PLAN, features={"guess": False})
    assert AtomR().run(QUESTION, None, "model", silent).values == ()


@pytest.mark.parametrize(
    "given", [{"points": False}, {"sources": ("graph",)}, {"features": {"pointing": False}, "points": False}]
)
def test_without_a_model_that_points_or_without_passages_nothing_is_read_first(given: dict[str, object]) -> None:
    assert read_first(QUESTION, tools_of(**given)) == (None, False)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("plan", "graph", "told", "stands"),
    [
        (PLAN, False, False, True),
        (PLAN, True, False, True),
        (f'{PLAN}\n1. What? = Relate("me", "days off")', False, False, True),
        (f'{PLAN}\n1. What? = Relate("me", "days off")', True, False, False),
        (f'{PLAN}\n1. What? = Relate("me", "days off")', True, True, True),
        (TWO_HOPS, False, True, False),
        (f'0. {QUESTION} = Answer(number)\n1. A? = Relate("A", "b")\n2. How many? = Count([1])', False, True, False),
        (f"0. {QUESTION} = Answer(language)", False, True, False),
        (f"0. {QUESTION} = Answer(nothing)", False, True, False),
    ],
)
def test_when_what_was_read_stands_for_the_question(plan: str, graph: bool, told: bool, stands: bool) -> None:
    tools = tools_of(sources=("text", "graph") if graph else ("text",))
    read = Result((Value("25 days"),), signals={} if told else {GUESS: 1.0})
    assert concludes(parse_compact(plan, QUESTION), read, tools) is stands


def test_what_the_model_declined_is_answered_where_it_is_likely_all_the_same() -> None:
    tools = tools_of(
        "Unknown",
        Said("1: 25 days", 0.99),
        features={"guess": True},
        calibration=Calibration(settled=0.1, accept_pointed=0.1),
    )
    result = AtomR().run(QUESTION, None, "model", tools)
    assert result.texts == ("25 days",)
    assert GUESS not in result.signals
    assert tools.recorder.trace.node(0).outcome == "found"


def test_evidence_read_before_the_plan_stays_with_the_question() -> None:
    tools = tools_of("Unknown", TWO_HOPS, *["Unknown"] * 8)
    read_first(QUESTION, tools)
    assert tools.recorder.trace.node(0).evidence == ["e1"]
    tree = parse_compact(TWO_HOPS, QUESTION)
    tools.steps.begin_tree(PlanReady(tree=tree, compact=TWO_HOPS, origin="model", attempts=1))
    assert tools.recorder.trace.node(0).evidence == ["e1"]
