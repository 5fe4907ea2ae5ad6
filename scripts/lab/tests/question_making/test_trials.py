"""What asking rules out, with an assistant that is told what to answer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from atomr_lab.question_making.hops import Candidate, Composed, Hop, Source, composed, confirming
from atomr_lab.question_making.knowledge import Reason
from atomr_lab.question_making.making import Trials, holds, trial_settings
from support.eval_fakes import make_trace

from atomr_local.errors import AtomrError, Cancelled
from atomr_local.reasoning.trace.events import Event, Finished, LeavesMachine
from atomr_local.reasoning.trace.schema import Guess, Trace
from atomr_local.settings.schema import load_settings

BORN = "3 May 1901"


def candidate(first: Source = "text", second: Source = "graph") -> Candidate:
    return Candidate(
        Hop(first, "The Lake", "director", ("Ann Lee",), ("the-lake#0",), "Directed by Ann Lee.", (3, 10)),
        Hop(second, "Ann Lee", "date of birth", (BORN,), ("<a> <b> <c>",), "Ann Lee — date of birth: 3 May 1901."),
        ("Ann Lee",),
        "ann",
    )


class Said:
    """An assistant that answers by strategy and sources: (strategy, "text+graph") → answer."""

    def __init__(self, answers: dict[tuple[str, str], str], status: str = "") -> None:
        self.answers, self.status = answers, status
        self.asked: list[tuple[str, str, bool]] = []

    def ask(
        self, question: str, *, strategy: str | None = None, sources: Sequence[str] | None = None, web: bool | None = None,
        plan: Any = None, plan_origin: str = "user",
    ) -> Iterator[Event]:  # fmt: skip
        names = "+".join([*(sources or ()), *(["web"] if web else [])])
        self.asked.append((str(strategy), names, plan is not None))
        answer = self.answers.get((str(strategy), names), "")
        trace: Trace = make_trace(question, [answer] if answer else [])
        if self.status:
            trace.status = self.status  # type: ignore[assignment]
        yield Finished(trace=trace)

    def model_tools(self, question: str) -> Any:
        raise AssertionError("the tests recall by themselves")


def test_warnings_are_told() -> None:
    class Warning(Said):
        def ask(self, question: str, **given: Any) -> Iterator[Event]:
            for event in super().ask(question, **given):
                assert isinstance(event, Finished)
                event.trace.warnings.append("the span reader is not used")
                yield event

    told: list[str] = []
    Trials(Warning({}), lambda _question: [], told.append).of(composed(candidate()))
    assert set(told) == {"the span reader is not used"}


def test_each_web_query_of_a_trial_is_told() -> None:
    """Also where the trial then fails; what else leaves the machine has no words to tell."""

    class Searching(Said):
        def ask(self, question: str, **given: Any) -> Iterator[Event]:
            if given["web"]:
                yield LeavesMachine(what="question, evidence", to="model.example")
                yield LeavesMachine(what="web query", to="search.example", query=f"{question} searched")
            yield from super().ask(question, **given)

    made = composed(candidate("text", "web"))
    told: list[tuple[str, str]] = []
    trials = Trials(Searching({}), lambda _q: [], on_web_query=lambda to, query: told.append((to, query)))
    trials.of(made)
    assert told == [("search.example", f"{made.question} searched")]
    told.clear()
    with pytest.raises(AtomrError):
        Trials(Searching({}, "failed"), lambda _q: [], on_web_query=lambda to, query: told.append((to, query))).of(made)
    assert len(told) == 1


def tried(answers: dict[tuple[str, str], str], recalled: Sequence[str] = (), made: Composed | None = None) -> Any:
    said = Said(answers)
    failed = Trials(said, lambda _question: list(recalled)).of(made or composed(candidate()))
    return failed, said.asked


BOTH = {("atomr", "text+graph"): BORN}


def test_a_question_that_needs_both() -> None:
    failed, asked = tried(BOTH, ["1 May 1900", "", "never"])
    assert failed is None
    assert asked == [
        ("atomr", "graph", True), ("atomr", "text+graph", True), ("atomr", "text", True), ("rag", "text", False),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("answers", "recalled", "reason"),
    [
        (BOTH | {("atomr", "graph"): "May 3, 1901"}, [], Reason.GRAPH_ALONE),
        (BOTH, ["", "1900", BORN], Reason.CLOSED_BOOK),
        ({}, [], Reason.NOT_BOTH),
        ({("atomr", "text+graph"): "1901"}, [], Reason.NOT_BOTH),
        (BOTH | {("atomr", "text"): BORN}, [], Reason.TEXT_ALONE),
        (BOTH | {("rag", "text"): "on 3 May 1901 in York"}, [], Reason.TEXT_ALONE),
    ],
)
def test_reasons(answers: dict[tuple[str, str], str], recalled: list[str], reason: Reason) -> None:
    failed, _ = tried(answers, recalled)
    assert failed.reason is reason


def test_the_web_is_a_side_like_the_others() -> None:
    failed, asked = tried(
        {("atomr", "text+web"): BORN, ("atomr", "web"): BORN}, made=composed(candidate("text", "web"))
    )
    assert failed.reason is Reason.WEB_ALONE
    assert ("atomr", "text+web", True) in asked
    failed, asked = tried({("atomr", "graph+web"): BORN}, made=composed(candidate("graph", "web")))
    assert failed is None
    assert not [one for one in asked if one[0] == "rag"]


def test_without_a_web_side_nothing_goes_to_the_web() -> None:
    _, asked = tried(BOTH)
    assert not [names for _, names, _ in asked if "web" in names]


def test_a_guess_counts_as_an_answer() -> None:

    class Guessing(Said):
        def ask(self, question: str, **more: Any) -> Iterator[Event]:
            for event in super().ask(question, **more):
                assert isinstance(event, Finished)
                if more["strategy"] == "rag":
                    event.trace.answers, event.trace.guess = [], Guess([BORN], 0.2)
                yield event

    failed = Trials(Guessing(BOTH), lambda _q: []).of(composed(candidate()))
    assert failed is not None
    assert failed.reason is Reason.TEXT_ALONE


def test_yes_or_no_with_both_sources() -> None:
    made = confirming(candidate(), "4 May 1901", right=False)
    assert made is not None
    assert made.question == "Was the director of The Lake born on 4 May 1901?"
    assert Trials(Said({("atomr", "text+graph"): "no"}), lambda _q: []).missed(made) is None
    assert Trials(Said({("atomr", "text+graph"): "yes"}), lambda _q: []).missed(made) is not None


def test_failures_end_the_run() -> None:
    with pytest.raises(AtomrError):
        Trials(Said(BOTH, "failed"), lambda _q: []).of(composed(candidate()))
    with pytest.raises(Cancelled):
        Trials(Said(BOTH, "cancelled"), lambda _q: []).of(composed(candidate()))


@pytest.mark.parametrize(
    ("said", "answer", "right"),
    [("Ann Lee", "ann lee", True), ("it was Ann Lee", "Ann Lee", True), ("", "Ann Lee", False), ("no one", "no", False),
     ("1924", "2", False), ("Rome, Italy", "Rome", True), ("no", "no", True), ("May 3, 1901", BORN, True), ("Lee", "Ann Lee", False)],
)  # fmt: skip
def test_what_holds_an_answer(said: str, answer: str, right: bool) -> None:
    assert holds(said, [answer]) is right


def test_rag_reads_ten_passages_and_nothing_is_asked_beside_a_gold_plan(own_home: Path) -> None:
    settings = load_settings(strategies={"rag": {"ranking": True}})
    tried = trial_settings(settings)
    assert tried.strategies["rag"] == {"ranking": True, "top_k": 10}
    assert (tried.features.rival, tried.features.ask_on) == (False, False)
    assert settings.features.rival
