"""The passages nearest to a question are read before a plan is made."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from support.fake_parts import FakeBackbone, FakeSource, Said, passages, reply, toolbox

from atomr_local.reasoning.confidence import GUESS, POINTED, Calibration, LogisticModel
from atomr_local.reasoning.results import Result
from atomr_local.reasoning.trace.events import Event, NodeFinished, PlanReady
from atomr_local.sources.protocol import Value
from atomr_local.strategies.atomr import AtomR
from atomr_local.strategies.protocol import QuestionContext
from atomr_local.strategies.shared.first_reading import concludes, read_first
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


@pytest.mark.parametrize(
    ("question", "bound", "stands"),
    [
        (QUESTION, None, False),
        (QUESTION, 1.01, False),
        (QUESTION, 0.1, True),
        ("Which are the four kinds of leave?", 0.1, False),
        ("Which is longer, a day or 25 days?", 0.1, False),
    ],
    ids=["articles are not measured", "not sure", "sure", "one of several", "compared"],
)
def test_a_reading_of_articles_has_a_bound_of_its_own(question: str, bound: float | None, stands: bool) -> None:
    tools = tools_of(Said("1: 25 days", 0.99), calibration=Calibration(settled=0.0, settled_articles=bound))
    tools.retriever.sources["text"].found = {question: PASSAGES}  # type: ignore[attr-defined]
    result, sure = read_first(question, tools)
    assert result is not None
    assert (result.texts, sure) == (("25 days",), stands)


@pytest.mark.parametrize(("bound", "points"), [(None, False), (0.9, True)])
def test_articles_are_read_first_only_by_a_model_that_was_measured_on_them(bound: float | None, points: bool) -> None:
    tools = toolbox(QUESTION, FakeBackbone(), points=True, calibration=Calibration(settled_articles=bound))
    assert tools.reader.points is points


@pytest.mark.parametrize(
    ("question", "accept", "reason"),
    [
        (QUESTION, 1.0, "not sure"),
        ("How many days are my leave?", 0.0, "not sure"),
        ("How many days are there and who gets them?", 0.0, "one of two answers"),
        ("How many days are there and in which year?", 0.0, "one of two answers"),
    ],
)
def test_a_reading_of_articles_that_may_not_be_enough_is_none(question: str, accept: float, reason: str) -> None:
    tools = tools_of("1: 25 days", calibration=Calibration(settled_articles=0.1, accept_articles=accept))
    tools.retriever.sources["text"].found = {question: PASSAGES}  # type: ignore[attr-defined]
    result, sure = read_first(question, tools)
    assert result is not None
    assert (result.values, len(result.evidence), sure) == ((), 1, False)
    assert tools.recorder.trace.node(0).answers == []
    assert result.dropped[-1] == f"{reason}: 25 days"


def test_what_articles_do_not_tell_is_looked_up_and_not_guessed() -> None:
    plan = f'0. {QUESTION} = Answer(number)\n1. How many? = Relate("leave", "days")'
    tools = tools_of("Unknown", features={"guess": True}, calibration=Calibration(settled_articles=0.5))
    tools.retriever.sources["text"].found = {QUESTION: PASSAGES}  # type: ignore[attr-defined]
    result, sure = read_first(QUESTION, tools)
    assert result is not None
    assert (result.values, sure) == ((), False)
    assert not concludes(parse_compact(plan, QUESTION), result, tools)


def always(probability: float) -> LogisticModel:
    return LogisticModel(math.log(probability / (1 - probability)))


@pytest.mark.parametrize(
    ("read", "steps", "given"),
    [
        (0.8, '1. How many? = Relate("leave", "days")', "25 days"),
        (0.6, '1. How many? = Relate("leave", "days")', "24 days"),
        (0.8, '1. How many? = Relate("leave", "days")\n2. How many? = Count([1])', "24 days"),
    ],
    ids=["the reading is surer", "the tree is surer", "computed"],
)
def test_a_reading_of_articles_stands_where_it_is_surer_than_the_tree(read: float, steps: str, given: str) -> None:
    calibration = Calibration(always(0.7), sure=0.6, pointed=always(read), settled_articles=0.9)
    replies = ("1: 25 days", f"0. {QUESTION} = Answer(number)\n{steps}", reply("24 days", evidence=[1]))
    tools = tools_of(*replies, sources=("text", "graph"), features={"rival": True}, calibration=calibration)
    tools.retriever.sources["text"].found = {QUESTION: PASSAGES, "leave days": PASSAGES}  # type: ignore[attr-defined]
    assert AtomR().run(QUESTION, None, "model", tools).texts == (given,)


@pytest.mark.parametrize(
    ("read", "given"),
    [
        ("1: 25", "25"),
        ("1: twenty", "twenty"),
        ("1: days; a year", "Unknown"),
        ("1: a year", "Unknown"),
        ("1", "You get 25 days a year."),
    ],
)
def test_a_number_that_the_plan_computes_is_not_read_as_something_else(read: str, given: str) -> None:
    steps = (
        '1. Who? = Relate("a", "b")\n2. Who? = Relate("c", "d")\n3. How many years lie between? = Difference([1], [2])'
    )
    replies = (read, f"0. {QUESTION} = Answer(number)\n{steps}", *["Unknown"] * 8)
    tools = tools_of(*replies, features={"rival": True}, calibration=Calibration(settled_articles=2.0))
    text = "You get twenty, or 25 days a year. Ask your lead." if "twenty" in read else PASSAGES.evidence[0].text
    tools.retriever.sources["text"].found = {QUESTION: passages(("Leave", text))}  # type: ignore[attr-defined]
    assert AtomR().run(QUESTION, None, "model", tools).answer == given


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


def test_a_bare_topic_is_answered_by_its_page_where_there_are_articles() -> None:
    tools = tools_of("1: 25 days", calibration=Calibration(settled_articles=1.1))
    tools.retriever.sources["text"].found = {QUESTION: PASSAGES}  # type: ignore[attr-defined]
    result, _ = read_first(QUESTION, tools)
    assert result is not None
    assert result.texts == ("25 days",)
    assert not concludes(parse_compact(f"0. {QUESTION} = Answer(summary)", QUESTION), result, tools)
    assert concludes(parse_compact(PLAN, QUESTION), result, tools)


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


def test_a_yes_from_articles_needs_a_plan() -> None:
    tools = tools_of(Said("1: yes", 0.99), calibration=Calibration(settled=0.1, settled_articles=0.1))
    assert read_first(QUESTION, tools)[1]
    tools = tools_of(Said("1: yes", 0.99), calibration=Calibration(settled=0.1, settled_articles=0.1))
    tools.retriever.sources["text"].found = {QUESTION: PASSAGES}  # type: ignore[attr-defined]
    assert not read_first(QUESTION, tools)[1]


@pytest.mark.parametrize(("read", "given"), [(0.8, "25 days"), (0.4, "a year")])
def test_the_surer_of_two_direct_readings_stands(read: float, given: str) -> None:
    calibration = Calibration(direct=always(0.5), pointed=always(read), settled_articles=0.9)
    replies = ("1: 25 days", f"0. {QUESTION} = Answer(summary)", reply("a year", evidence=[1]))
    tools = tools_of(*replies, calibration=calibration)
    tools.retriever.sources["text"].found = {QUESTION: PASSAGES}  # type: ignore[attr-defined]
    assert AtomR().run(QUESTION, None, "model", tools).texts == (given,)


TWO_DARWINS = passages(
    ("Susannah Darwin", "Susannah Darwin, born Susannah Wedgwood, was the mother of Charles Darwin.")
)


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("Who was the mother of Charles Darwin?", "Susannah Wedgwood"),
        ("Who was the mother of Erasmus Darwin?", ""),
    ],
)
def test_what_articles_tell_of_another_is_no_answer(question: str, answer: str) -> None:
    tools = tools_of("1: Susannah Wedgwood", calibration=Calibration(settled_articles=0.1))
    tools.retriever.sources["text"].found = {question: TWO_DARWINS}  # type: ignore[attr-defined]
    result, sure = read_first(question, tools)
    assert result is not None
    assert (" ".join(result.texts), sure) == (answer, bool(answer))


@pytest.mark.parametrize(("name", "given"), [("Charles", ("Susannah Wedgwood",)), ("Erasmus", ())])
def test_the_plan_tells_whom_a_question_in_small_letters_is_about(name: str, given: tuple[str, ...]) -> None:
    question = f"who was the mother of {name.casefold()} darwin"
    plan = f'0. Who was the mother of {name} Darwin? = Answer(person)\n1. Who? = Relate("{name} Darwin", "mother")'
    replies = ("1: Susannah Wedgwood", plan, *["Unknown"] * 8)
    tools = tools_of(*replies, features={"rival": True}, calibration=Calibration(settled_articles=1.1))
    found = {question: TWO_DARWINS, f"{name} Darwin mother": TWO_DARWINS}
    tools.retriever.sources["text"].found = found  # type: ignore[attr-defined]
    assert AtomR().run(question, None, "model", tools).texts == given
