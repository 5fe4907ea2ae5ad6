"""Where a wrong answer of a method that goes step by step went wrong, on traces made by hand."""

from __future__ import annotations

from typing import Any

import pytest
from atomr_lab.evaluation.datasets import GoldFact, Question
from atomr_lab.evaluation.diagnosis import Stage, diagnose
from support.eval_fakes import make_trace

from atomr_local.reasoning.trace.schema import EvidenceTrace, NodeTrace, PlanTrace, Totals, Trace

FILM, ROSSON = "King of the Sierras", "Arthur Rosson"
CHAIN = Question(
    "c",
    "When was the director of film King Of The Sierras born?",
    ("24 August 1886",),
    "compositional",
    (ROSSON, FILM),
    (GoldFact(FILM, "director", ROSSON), GoldFact(ROSSON, "date of birth", "24 August 1886")),
)
FILM_PAGE = (FILM, "King of the Sierras is a 1938 film directed by Arthur Rosson.")
ROSSON_PAGE = (ROSSON, "Arthur Rosson (24 August 1886 – 17 June 1960) was a director.")
OTHER_PAGE = ("King of the Sea", "A book of 1950.")
BOTH = (FILM_PAGE, ROSSON_PAGE)


def step(node_id: int, question: str, *answers: str, **more: Any) -> NodeTrace:
    return NodeTrace(node_id, 0, question, "step", answers=list(answers), **more)


def grown(question: Question, steps: list[NodeTrace], final: list[str], *pages: tuple[str, str]) -> Trace:
    evidence = [EvidenceTrace(f"e{n}", "text", *page, 1.0, "", {"passage": str(n)}) for n, page in enumerate(pages, 1)]
    return make_trace(
        question.question,
        final,
        strategy="self-ask",
        plan=PlanTrace("", "steps", 0),
        nodes=[NodeTrace(0, None, question.question, "root", answers=final), *steps],
        evidence=evidence,
        totals=Totals(1.0, 3, 100, 60, 20, {"text": len(pages), "graph": 0, "web": 0}),
    )


FIRST = step(1, "Who directed King of the Sierras?", ROSSON)
BORN = "When was Arthur Rosson born?"


@pytest.mark.parametrize(
    ("steps", "pages", "stage", "node"),
    [
        ([step(1, "Who wrote King of the Sea?", "Melville")], BOTH, Stage.STEP, 1),
        ([FIRST, step(2, "When was the film made?", "1938")], BOTH, Stage.STEP, 2),
        ([step(1, "When was King of the Sierras born?", "1938")], BOTH, Stage.STEP, 1),
        ([], (), Stage.STOPPED, 0),
        ([FIRST], BOTH, Stage.STOPPED, 1),
        ([FIRST, step(2, BORN)], (FILM_PAGE, OTHER_PAGE), Stage.RETRIEVAL, 2),
        ([FIRST, step(2, BORN, "1938")], BOTH, Stage.READING, 2),
        ([FIRST, step(2, BORN, "24 August 1886")], BOTH, Stage.FINAL, 0),
        ([step(1, "Who directed King of the Sierras?", "Someone")], BOTH, Stage.READING, 1),
        ([step(1, "Who directed King of the Sierras?")], (OTHER_PAGE,), Stage.RETRIEVAL, 1),
    ],
    ids=[
        "wrong first",
        "wrong second",
        "another relation",
        "none",
        "stopped",
        "not found",
        "misread",
        "final",
        "first misread",
        "first not found",
    ],
)
def test_follow_ups(steps: list[NodeTrace], pages: tuple[tuple[str, str], ...], stage: Stage, node: int) -> None:
    found = diagnose(CHAIN, grown(CHAIN, steps, ["1938"], *pages).to_dict())
    assert found is not None
    assert (found.stage, found.node) == (stage, node)


def test_sentences_of_a_chain_of_thought_tell_and_ask() -> None:
    told = "King of the Sierras was directed by Arthur Rosson."
    steps = [step(1, CHAIN.question, label="first search", thought=told), step(2, told, thought="He was born in 1938.")]
    found = diagnose(CHAIN, grown(CHAIN, steps, ["1938"], *BOTH).to_dict())
    assert found is not None
    assert (found.stage, found.node) == (Stage.READING, 2)
    steps[1].thought = "Arthur Rosson was born on 24 August 1886."
    found = diagnose(CHAIN, grown(CHAIN, steps, ["1938"], *BOTH).to_dict())
    assert found is not None
    assert found.stage == Stage.FINAL


def test_actions_ask_with_their_input() -> None:
    steps = [step(1, "search", ROSSON, action={"name": "search", "input": FILM}, thought=""), step(2, "lookup")]
    steps[1].action = {"name": "lookup", "input": "Italy"}
    found = diagnose(CHAIN, grown(CHAIN, steps, [], *BOTH).to_dict())
    assert found is not None
    assert (found.stage, found.node) == (Stage.STEP, 2)


PLAIN = Question(
    "p", "What post did the woman who played Corliss Archer hold?", ("Chief of Protocol",), "", ("Temple",)
)
TEMPLE = ("Temple", "She was Chief of Protocol.")


@pytest.mark.parametrize(
    ("steps", "pages", "stage"),
    [
        ([step(1, "What post did Temple hold?", "Chief of Protocol")], (TEMPLE,), Stage.FINAL),
        ([step(1, "What post did Temple hold?", "singer")], (TEMPLE,), Stage.READING),
        ([step(1, "What post did Temple hold?", "singer")], (OTHER_PAGE,), Stage.RETRIEVAL),
        ([step(1, "Who was Corliss Archer?", "singer")], (OTHER_PAGE,), Stage.STEP),
    ],
)
def test_without_a_chain(steps: list[NodeTrace], pages: tuple[tuple[str, str], ...], stage: Stage) -> None:
    found = diagnose(PLAIN, grown(PLAIN, steps, ["actress"], *pages).to_dict())
    assert found is not None
    assert found.stage == stage


def test_what_every_strategy_shares() -> None:
    assert diagnose(CHAIN, grown(CHAIN, [FIRST], ["24 August 1886"], *BOTH).to_dict()) is None
    form = diagnose(CHAIN, grown(CHAIN, [FIRST], ["August 24, 1886"], *BOTH).to_dict())
    model = diagnose(CHAIN, grown(CHAIN, [step(1, BORN, "1938", method="closed_book")], ["1938"]).to_dict())
    failed = grown(CHAIN, [FIRST], [], *BOTH)
    failed.status, failed.warnings = "failed", ["no model"]
    error = diagnose(CHAIN, failed.to_dict())
    assert [found and found.stage for found in (form, model, error)] == [Stage.FORM, Stage.MODEL, Stage.ERROR]


def test_a_trace_of_an_earlier_version_has_no_thoughts() -> None:
    trace = grown(CHAIN, [FIRST], ["1938"], *BOTH).to_dict()
    for node in trace["nodes"]:
        for name in ("thought", "action", "label"):
            node.pop(name)
    found = diagnose(CHAIN, trace)
    assert found is not None
    assert found.stage == Stage.STOPPED
