"""Writes the event stream to the log: steps, counts and seconds, without texts."""

from __future__ import annotations

import logging
from collections.abc import Callable

from atomr_local.reasoning.trace import events

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
