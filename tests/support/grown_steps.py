"""A scripted method whose steps follow one from the other, with everything that a step can tell."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from atomr_local.reasoning.candidates import Candidate
from atomr_local.reasoning.results import Action, Result
from atomr_local.reasoning.steps import Steps
from atomr_local.reasoning.trace.events import AnswerReady, Event, EvidenceFound, NodeFinished
from atomr_local.reasoning.trace.recorder import Recorder
from atomr_local.reasoning.trace.schema import PlanOrigin, Trace
from atomr_local.sources.protocol import Evidence, SourceName, Value
from atomr_local.strategies.options import NoOptions, StrategyOptions
from atomr_local.strategies.protocol import Need, QuestionContext
from atomr_local.system.cancellation import Cancellation
from atomr_local.tree.nodes import Tree

GROWN_QUESTION = "Where was the director of Metropolis born?"
_FILM = Evidence(SourceName.TEXT, "Metropolis", "Metropolis is a film directed by Fritz Lang.", 0.5, "Metropolis",
                 {"passage": "m#0", "span": [0, 44]})  # fmt: skip
_BIRTH = Evidence(SourceName.TEXT, "Fritz Lang", "Fritz Lang was born in Vienna.", 0.5, "Fritz Lang",
                  {"passage": "l#0", "span": [0, 30]})  # fmt: skip


def _told(_event: Event) -> None:
    """Nobody listens."""


def _timed(event: Event) -> Event:
    return replace(event, seconds=0.5) if isinstance(event, NodeFinished) else event


def grown_events(**given: Any) -> list[Event]:
    """The events of that trace but the last. Args: those of `grown_trace`."""
    events: list[Event] = []
    grown_trace(sink=events.append, **given)
    return events[:-1]


def grown_trace(strategy: str = "react", sink: Callable[[Event], None] = _told, *, told: str = "") -> Trace:
    """The trace of one question: two uses of tools, a follow-up below the first, and answers that were weighed.

    Args:
        sink: takes the events.
        told: put before every text that the model or a source writes.
    """
    recorder = Recorder(GROWN_QUESTION, strategy, {}, lambda event: sink(_timed(event)))
    _run(Steps(recorder, Cancellation()), recorder, told)
    recorder.emit(AnswerReady(status="answered", answer="The answer is Vienna.", answers=("Vienna",), confidence=0.9))
    recorder.trace.nodes = [replace(node, seconds=0.5) for node in recorder.trace.nodes]
    return recorder.finish()


def _run(steps: Steps, recorder: Recorder, told: str) -> Result:
    steps.begin(GROWN_QUESTION)

    def found(node_id: int, piece: Evidence) -> Evidence:
        [kept] = recorder.take_in([piece])
        recorder.emit(EvidenceFound(node_id=node_id, source=str(piece.source), evidence=(kept,)))
        return kept

    with steps.open(f"{told}What is Metropolis?", label=f"{told}round 1") as first:
        film = found(first.id, _FILM)
        first.result = Result(
            method="tool",
            evidence=[film],
            thought=f"{told}I need the director of Metropolis first.",
            action=Action(f"{told}search", f"{told}Metropolis"),
            observation=f"{told}Metropolis is a film directed by Fritz Lang. " + "It was made in 1927. " * 12,
        )
    with steps.open(f"{told}Who directed Metropolis?", first.id, f"{told}follow-up") as follow_up:
        film = found(follow_up.id, _FILM)
        follow_up.result = Result((Value("Fritz Lang"),), "operator", 0.8, [film], cited=[film.id])
    with steps.open(f"{told}Where was Fritz Lang born?", label=f"{told}round 2") as last:
        birth = found(last.id, _BIRTH)
        last.result = Result(
            (Value("Vienna"),),
            "aggregate",
            0.9,
            [birth],
            cited=[birth.id],
            thought=f"{told}Now his place of birth.",
            candidates=(
                Candidate((Value(f"{told}Vienna"),), -0.21, f"{told}text", (birth.id,)),
                Candidate((Value("Graz"),), -1.5, "model"),
                Candidate((), None, "children"),
            ),
        )
    with steps.root(GROWN_QUESTION) as root:
        root.result = Result((Value("Vienna"),), "tool", 0.9, [birth], cited=[birth.id])
    return root.result


class Scripted:
    """The method as a strategy; it needs no model."""

    name = "scripted"
    summary = "steps as they are written down"
    paper = ""
    needs: frozenset[Need] = frozenset()
    options: type[StrategyOptions] = NoOptions
    uses_sources = False
    revises = False
    takes_plans = False

    def run(self, question: str, plan: Tree | None, origin: PlanOrigin, tools: QuestionContext) -> Result:
        return _run(tools.steps, tools.recorder, "")
