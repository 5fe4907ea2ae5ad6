"""A fake assistant that plays scripted events, held back by gates where a test wants to look."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from atomr_local.errors import AtomrError
from atomr_local.reasoning.trace.events import (
    AnswerReady,
    Event,
    EvidenceFound,
    Finished,
    NodeFinished,
    NodeStarted,
    PlanFragment,
    PlanReady,
    QuestionAsked,
    QuestionUnderstood,
    RetrievalStarted,
    SourcesSelected,
)
from atomr_local.reasoning.trace.recorder import Recorder
from atomr_local.reasoning.trace.schema import Trace
from atomr_local.settings.schema import Settings, load_settings
from atomr_local.sources.protocol import Evidence, SourceName
from atomr_local.tree.compact import parse_compact

QUESTION = "Where was the director of Metropolis born?"
PLAN = """1. Who directed Metropolis?
 3. What is Metropolis? = Search("Metropolis", "film")
 4. Who directed [3]? = Relate([3], "director")
2. Where was [1] born? = Relate([1], "place of birth")
"""


def finished(node_id: int, answer: str, evidence: tuple[str, ...] = (), **fields: Any) -> NodeFinished:
    told = NodeFinished(
        node_id=node_id,
        answer=answer or "Unknown",
        answers=[answer] if answer else [],
        method="operator" if answer else None,
        confidence=0.9 if answer else None,
        evidence=list(evidence),
        cited=list(evidence),
        supported=True if answer else None,
        seconds=0.5,
    )
    return replace(told, **fields)


def passage(identifier: str, text: str, title: str = "Metropolis") -> Evidence:
    locator = {"passage": "m#0", "span": [0, len(text)]}
    return Evidence(SourceName.TEXT, title, text, 0.5, "query", locator, id=identifier)


def rows(identifier: str, title: str, value: str) -> Evidence:
    locator = {"sparql": "SELECT ?value WHERE { ?head ?relation ?value }", "rows": [{"value": value}]}
    return Evidence(
        SourceName.GRAPH, title, f"{title} — place of birth: {value}.", 1.0, "query", locator, id=identifier
    )


def script(question: str = QUESTION, plan: str = PLAN) -> list[Event]:
    """A whole question: planned, answered from text and graph."""
    tree = parse_compact(plan, question)
    film = passage("e1", "Metropolis is a film directed by Fritz Lang.")
    birth = rows("e2", "Fritz Lang", "Vienna")
    return [
        QuestionAsked(question=question, strategy="atomr", settings={}),
        PlanFragment(text=plan),
        PlanReady(tree=tree, compact=plan, origin="model", attempts=1),
        NodeStarted(node_id=3, resolved_question="What is Metropolis?"),
        SourcesSelected(node_id=3, sources=(SourceName.TEXT,), reason="only source"),
        RetrievalStarted(node_id=3, source=SourceName.TEXT, query="Metropolis film"),
        EvidenceFound(node_id=3, source=SourceName.TEXT, evidence=(film,)),
        finished(3, "Metropolis", ("e1",)),
        NodeStarted(node_id=4, resolved_question="Who directed Metropolis?"),
        finished(4, "Fritz Lang", ("e1",)),
        finished(1, "Fritz Lang", ("e1",), method="child"),
        NodeStarted(node_id=2, resolved_question="Where was Fritz Lang born?"),
        EvidenceFound(node_id=2, source=SourceName.GRAPH, evidence=(birth,)),
        finished(2, "Vienna", ("e2",)),
        finished(0, "Vienna", ("e2",), method="child", computation="answer of [2]"),
        AnswerReady(
            status="answered", answer="The answer is Vienna.", answers=("Vienna",), confidence=0.9, basis="evidence"
        ),
    ]


class FakeAssistant:
    """Plays `events`; with `hold`, waits before the event of that index until released or cancelled.

    Args:
        trace: of the question, in the place of one that holds only the question and its answer.
    """

    def __init__(
        self,
        events: list[Event] | None = None,
        *,
        hold: int | None = None,
        failure: AtomrError | None = None,
        trace: Trace | None = None,
    ) -> None:
        self.trace = self.last_trace = trace
        self.events = script() if events is None else events
        self.hold = hold
        self.failure = failure
        self.settings = Settings()
        self.trace_settings: dict[str, Any] = {}
        self.questions: list[str] = []
        self.extras: list[dict[str, Any]] = []
        self.changes: list[dict[str, Any]] = []
        self.web_enabled = False
        self.examples: list[str] | None = None
        self.cancelled = threading.Event()
        self.released = threading.Event()

    def preload(self, on_stage: Callable[[str], None] | None = None) -> None:
        if on_stage is not None:
            on_stage("loading model")
        if self.failure is not None:
            raise self.failure

    def example_questions(self) -> list[str] | None:
        return self.examples

    def ask(self, question: str, **extras: Any) -> Iterator[Event]:
        self.questions.append(question)
        self.extras.append(extras)
        self.cancelled.clear()
        given = dict(self.trace_settings)
        trace = Trace(question=question, strategy="atomr", settings=given, id=f"trace{len(self.questions)}")
        for index, event in enumerate(self.events):
            if index == self.hold:
                while not (self.released.wait(0.01) or self.cancelled.is_set()):
                    pass
            if self.cancelled.is_set():
                trace.status = "cancelled"
                yield AnswerReady(
                    status="cancelled", answer="Cancelled.", answers=(), confidence=None, basis="evidence"
                )
                break
            if isinstance(event, QuestionUnderstood):
                trace.conversation, trace.took_from = event.conversation, list(event.took_from)
                trace.understood_as = event.understood_as
            elif isinstance(event, PlanReady):
                trace.understood_as = event.tree.question
            elif isinstance(event, AnswerReady):
                trace.status, trace.answers, trace.reason = event.status, list(event.answers), event.reason
                trace.answer, trace.guess = event.answer, event.guess
            yield event
        trace.totals.seconds = 1.5
        self.last_trace = trace if self.trace is None or trace.status == "cancelled" else self.trace
        yield Finished(trace=self.last_trace)

    def cancel(self) -> None:
        self.cancelled.set()

    def stop_loading(self) -> None:
        """Nothing loads."""

    def set_web(self, enabled: bool) -> None:
        self.web_enabled = enabled

    def reconfigure(self, **changes: Any) -> None:
        self.changes.append(changes)
        self.settings = load_settings(**{**self.settings.model_dump(), **changes})

    def query_graph(self, sparql: str, *, timeout: float = 10.0, limit: int = 500) -> Any:
        raise NotImplementedError

    def close(self) -> None:
        self.cancel()


def answered_trace() -> Trace:
    """The trace of the scripted question, as a recorder makes it."""
    recorder = Recorder(QUESTION, "atomr", {}, lambda _event: None)
    for event in script():
        if isinstance(event, QuestionAsked):
            continue
        if isinstance(event, EvidenceFound):
            recorder.emit(replace(event, evidence=recorder.take_in(event.evidence)))
        else:
            recorder.emit(event)
    return recorder.finish()
