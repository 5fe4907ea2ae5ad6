"""What a step thought, did, saw, weighed and noted, as short lines of text; the same for an event and a trace."""

from __future__ import annotations

from collections.abc import Iterator

from atomr_local.reasoning.trace.events import NodeFinished
from atomr_local.reasoning.trace.schema import NodeTrace
from atomr_local.reasoning.trace.words import action_text, computation_text, kind_text, weighed_text, whence_text
from atomr_local.sanitize import sanitize_line

_LONGEST = 1_000  # characters of a text
_MOST_CANDIDATES = 10
_MOST_NOTES = 20


def is_stage(step: NodeFinished | NodeTrace, label: str, question: str) -> bool:
    """Whether the step has ended as it should without an answer of its own: a thought, a sentence, the use of a tool.

    Args:
        label: what the step is to its method; "" for a step of a plan.
        question: what it was opened with, which may be a sentence or a query.
    """
    if step.answers or step.error or step.candidates:
        return False
    said = step.thought or step.observation or not question.rstrip().endswith("?")
    return bool(step.action or (label and said))


def step_title(step: NodeFinished | NodeTrace, label: str, question: str) -> str:
    """What the step is on one line, without its answer: the tool that it used, else what it was opened with.

    Args:
        label: what the step is to its method.
        question: with references replaced by answers.
    """
    what = action_text(step.action) if step.action else sanitize_line(question)
    if new := corrected_text(step):
        what += f" (corrected: {new})"
    name = kind_text(label, "step")
    return f"{name}: {what}" if name else what


def corrected_text(step: NodeFinished | NodeTrace) -> str:
    """What the statement that the step was opened with was corrected to; "" if it was not, or if it has answers."""
    return bounded(step.thought) if step.corrected_from is not None and not step.answers else ""


def winner_text(step: NodeFinished | NodeTrace) -> str:
    """Where the answer comes from that won over others, and its rating; "" if none was weighed."""
    best = step.candidates[0] if step.candidates and step.answers else None
    return whence_text(best) if best is not None else ""


def step_details(step: NodeFinished | NodeTrace) -> Iterator[tuple[str, str]]:
    """Name and text of each thing that is known, each on one line, sanitised and bounded."""
    if step.thought:
        yield "thought", bounded(step.thought)
    if step.action:
        yield "action", action_text(step.action)
    if step.observation:
        yield "observation", bounded(step.observation)
    for candidate in step.candidates[:_MOST_CANDIDATES]:
        yield "weighed", bounded(weighed_text(candidate))
    if (left := len(step.candidates) - _MOST_CANDIDATES) > 0:
        yield "weighed", f"and {left} more"
    for note in step.dropped[:_MOST_NOTES]:
        yield "note", bounded(computation_text(note[: 2 * _LONGEST]))
    if (left := len(step.dropped) - _MOST_NOTES) > 0:
        yield "note", f"and {left} more"


def bounded(text: str, longest: int = _LONGEST) -> str:
    """The text on one line, cut where it is longer."""
    line = sanitize_line(text[: 2 * longest])
    return line if len(line) <= longest and len(text) <= 2 * longest else f"{line[:longest].rstrip()} …"
