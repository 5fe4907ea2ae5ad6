"""The recorder: forwards every event to the consumer and adds it up into the trace."""

from __future__ import annotations

import json
import logging
import threading
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from atomr_local.reasoning.trace import events, take_over
from atomr_local.reasoning.trace.events import (
    AnswerReady,
    Event,
    EvidenceFound,
    Finished,
    LeavesMachine,
    ModelCalled,
    NodeAdded,
    NodeFinished,
    NodeJudged,
    NodeStarted,
    PlanReady,
    QuestionAsked,
    QuestionUnderstood,
    RetrievalStarted,
    SourcesSelected,
    WarningRaised,
    planned,
)
from atomr_local.reasoning.trace.schema import Departure, LlmUse, NodeTrace, Trace, traced
from atomr_local.sources.protocol import Evidence
from atomr_local.system.sanitize import sanitize_all


def apply(trace: Trace, event: Event) -> None:
    """Add the event to the trace: what the recorder keeps, and what is shown of a question while it runs.

    Raises:
        KeyError: the trace has no such node.
        ValueError: it has the added node already.
    """
    match event:
        case QuestionAsked() | QuestionUnderstood() | AnswerReady():
            take_over(event, trace)
        case PlanReady():
            _plan(trace, event)
        case NodeAdded():
            trace.node(event.parent)
            if any(node.id == event.node_id for node in trace.nodes):
                raise ValueError(f"there is a step {event.node_id} already")
            added = NodeTrace(event.node_id, event.parent, event.question, "step", event.question, label=event.label)
            trace.nodes.append(added)
        case NodeStarted() | NodeFinished() | NodeJudged():
            take_over(event, trace.node(event.node_id))
        case SourcesSelected():
            trace.node(event.node_id).sources = [str(source) for source in event.sources]
        case RetrievalStarted():
            retrievals, source = trace.totals.retrievals, str(event.source)
            retrievals[source] = retrievals.get(source, 0) + 1
        case EvidenceFound():
            known, ids = trace.node(event.node_id).evidence, {item.id for item in trace.evidence}
            known.extend(item.id for item in event.evidence if item.id not in known)
            trace.evidence.extend(traced(item) for item in event.evidence if item.id not in ids)
        case ModelCalled():
            made, totals = event.completion, trace.totals
            totals.llm_calls += 1
            totals.prompt_tokens += made.prompt_tokens
            totals.evaluated_tokens += made.evaluated_tokens
            totals.generated_tokens += made.generated_tokens
        case LeavesMachine():
            _left(trace, event)
        case WarningRaised():
            trace.warnings.append(event.message)


def _plan(trace: Trace, event: PlanReady) -> None:
    take_over(event, trace.plan)
    trace.understood_as = event.tree.question
    trace.expects = event.tree.expects.to_dict() if event.tree.expects is not None else None
    before = {node.id: node.evidence for node in trace.nodes}
    trace.nodes = [planned(event.tree, node) for node in event.tree.nodes()]
    # What was read before the plan was made belongs to the whole question.
    trace.node(event.tree.root.id).evidence = before.get(event.tree.root.id, [])
    for node_id, confidence in event.confidences.items():
        trace.node(node_id).plan_confidence = confidence


def _left(trace: Trace, event: LeavesMachine) -> None:
    for item in trace.left_machine:
        if (item.to, item.query) == (event.to, event.query) and item.what in event.what:
            item.what = event.what  # the question first, then its evidence too
            return
    when = datetime.now(UTC).isoformat(timespec="seconds")
    trace.left_machine.append(Departure(event.what, event.to, when, event.query))


class Recorder:
    """Adds events up into `trace`. Thread-safe; the consumer gets one event at a time.

    Every text passes the sanitiser here, so that events and trace contain nothing that could control a terminal.
    """

    def __init__(
        self, question: str, strategy: str, settings: Mapping[str, Any], sink: Callable[[Event], None]
    ) -> None:
        self.trace = Trace(question="", strategy=strategy, settings={}, id=uuid.uuid4().hex)
        self._sink = sink
        self._lock = threading.RLock()
        self._started = time.perf_counter()
        self._known: dict[str, Evidence] = {}
        self._use: dict[int | None, LlmUse] = {}
        self.emit(QuestionAsked(question=question, strategy=strategy, settings=settings))

    def emit(self, event: Event) -> None:
        """Add the event to the trace and hand it on."""
        event = sanitize_all(event)
        with self._lock:
            apply(self.trace, event)
            if isinstance(event, ModelCalled):
                made = event.completion
                use = LlmUse(1, made.prompt_tokens, made.evaluated_tokens, made.generated_tokens)
                self.use_of(event.node_id).add(use)
            self._sink(event)

    def leaves(self, what: str, to: str, query: str | None = None) -> None:
        """Emit that something is about to leave the machine; once for the same thing and host."""
        with self._lock:
            known = [item for item in self.trace.left_machine if (item.to, item.query) == (to, query)]
            if not any(what in item.what for item in known):
                self.emit(LeavesMachine(what=what, to=to, query=query))

    def take_in(self, found: Sequence[Evidence]) -> tuple[Evidence, ...]:
        """The evidence sanitised and with ids e1, e2, … in order of appearance; a known piece keeps its id."""
        found = sanitize_all(tuple(found))
        with self._lock:
            return tuple(map(self._with_id, found))

    def settle(self, settings: Mapping[str, Any]) -> None:
        """Update the trace's settings with what they resolve to once the parts are loaded."""
        self.trace.settings.update(sanitize_all(dict(settings)))

    def _with_id(self, item: Evidence) -> Evidence:
        place = [item.locator.get("passage"), item.locator.get("index")]
        written = item.locator.get("sparql")
        if "sketch" in item.locator or item.query == written:
            # Two entities may share a name: what was asked for and what came back read alike, the queries do not.
            place.append(written)
        key = json.dumps([str(item.source), item.title, item.text, *place], default=str)
        if key not in self._known:
            known = self._known[key] = replace(item, id=f"e{len(self._known) + 1}")
            self.trace.evidence.append(traced(replace(known, source=str(known.source))))
        return replace(item, id=self._known[key].id)

    def use_of(self, node_id: int | None) -> LlmUse:
        """The node's use of the model so far; None: calls for the whole question."""
        return self._use.setdefault(node_id, LlmUse())

    def evidence_of(self, node_id: int) -> list[Evidence]:
        """The evidence retrieved for the node so far, in order."""
        with self._lock:
            by_id = {item.id: item for item in self._known.values()}
            return [by_id[found] for found in self.trace.node(node_id).evidence]

    def finish(self) -> Trace:
        """Close the trace and emit `Finished`."""
        self.trace.totals.seconds = round(time.perf_counter() - self._started, 3)
        self._sink(Finished(trace=self.trace))
        return self.trace


# Writes the event stream to the log: steps, counts and seconds, without texts.

_log = logging.getLogger(__name__)


def logged(sink: Callable[[events.Event], None]) -> Callable[[events.Event], None]:
    """A sink that logs each event before `sink` gets it."""

    def log_and_pass(event: events.Event) -> None:
        _write(event)
        sink(event)

    return log_and_pass


def _write(event: events.Event) -> None:
    match event:
        case events.QuestionAsked():
            _log.info("Question asked: strategy %s", event.strategy)
        case events.StageChanged():
            _log.info("Stage: %s", event.stage)
        case events.PlanReady():
            _log.info("Plan ready: origin %s, attempts %d", event.origin, event.attempts)
        case events.LeavesMachine():
            _log.info("Sent to %s: %s", event.to, event.what)
        case events.RetrievalStarted():
            _log.debug("Step %d: %s is searched", event.node_id, event.source)
        case events.EvidenceFound():
            _log.debug("Step %d: %s gave %d pieces of evidence", event.node_id, event.source, len(event.evidence))
        case events.ModelCalled():
            done = event.completion
            numbers = (done.prompt_tokens, done.evaluated_tokens, done.generated_tokens, done.seconds)
            _log.debug("Model called: %s, tokens %d (%d evaluated) + %d, %.2f s", event.purpose, *numbers)
        case events.NodeFinished():
            _log.debug("Step %d: %s, %s, %.2f s", event.node_id, event.method, event.outcome, event.seconds)
            if event.error is not None:
                _log.warning("Step %d failed: %s", event.node_id, event.error.get("title", ""))
        case events.WarningRaised():
            _log.warning("A warning was shown (its text is logged at level debug)")
            _log.debug("Warning: %s", event.message)
        case events.Finished():
            trace = event.trace
            _log.info("Question %s: %.2f s, %d model calls", trace.status, trace.totals.seconds, trace.totals.llm_calls)
