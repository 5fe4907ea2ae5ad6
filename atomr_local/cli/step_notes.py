"""Progress of a question on standard error: the steps of a plan as they begin, steps that no plan has as they end."""

from __future__ import annotations

from collections.abc import Iterator

from atomr_local.reasoning.confidence.words import NOT_FOUND
from atomr_local.reasoning.trace.events import Event, NodeAdded, NodeFinished, NodeStarted, StageChanged
from atomr_local.reasoning.trace.step_details import is_stage, step_title
from atomr_local.reasoning.trace.words import correction_text
from atomr_local.sanitize import sanitize_line


class StepNotes:
    """The lines for each event, sanitised. What a step without a plan did is known only when it ends."""

    def __init__(self) -> None:
        self._added: dict[int, NodeAdded] = {}

    def of(self, event: Event) -> Iterator[str]:
        match event:
            case StageChanged():
                yield f"… {sanitize_line(event.stage)}"
            case NodeAdded():
                self._added[event.node_id] = event
            case NodeStarted() if event.node_id not in self._added:
                yield f"… [{event.node_id}] {sanitize_line(event.resolved_question)}"
            case NodeFinished() if event.node_id in self._added:
                yield f"… [{event.node_id}] {_ended(event, self._added[event.node_id])}"


def _ended(event: NodeFinished, added: NodeAdded) -> str:
    title = step_title(event, added.label, added.question)
    if event.error is not None:
        return f"{title} ! {sanitize_line(event.error.get('message', ''))}"
    if is_stage(event, added.label, added.question):
        return title
    found = event.outcome != "not found" and event.answers
    mended = f" ({correction_text(event.corrected_from)})" if found and event.corrected_from is not None else ""
    return f"{title} → {sanitize_line(event.answer) if found else NOT_FOUND}{mended}"
