"""A kept question as text: its line in the list, and what is shown of it before it is opened."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.text import Text

from atomr_local.errors import AtomrError
from atomr_local.history.entries import QuestionSummary, StoredQuestion
from atomr_local.reasoning.confidence.words import NOT_FOUND, confidence_text, status_word
from atomr_local.reasoning.trace.schema import EvidenceTrace, NodeTrace, Trace, understood
from atomr_local.reasoning.trace.step_details import step_title
from atomr_local.reasoning.trace.words import OWN, correction_text, warning_text
from atomr_local.sanitize import sanitize, sanitize_line
from atomr_local.tui.rendering import coloured, short_line

MARKS = {
    "answered": ("●", "green"),
    "unknown": ("?", "magenta"),
    "cancelled": ("⊘", "yellow"),
    "failed": ("✗", "red"),
    "interrupted": ("✗", "yellow"),
}
# What is shown is bounded: a trace from elsewhere may hold a million characters in a field.
_LONGEST_LINE = 300
_LONGEST_TEXT = 2_000
_MOST_PIECES = 20
_MOST_STEPS = 60


def listed(item: QuestionSummary) -> Text:
    """Two lines: mark and question; when, how, and the answer."""
    mark, style = MARKS.get(item.status, ("·", ""))
    text = Text()
    text.append(f"{mark} ", style)
    if item.follows is not None:  # another question of the same conversation
        text.append(f"↳ {item.follows} ", "dim")
    text.append(short_line(item.question))
    text.append(f"\n  {item.local_time}  {sanitize_line(item.strategy)}", "dim")
    if item.origin == "imported":
        text.append("  imported", "italic dim")
    if item.status == "unknown":
        text.append(f"  {NOT_FOUND}", "magenta")
    if item.answer:
        text.append("  → ", "dim").append(short_line(item.answer))
    return text


def previewed(kept: StoredQuestion) -> RenderableType:
    """The answer, what it cites, and the plan; sanitised and bounded."""
    return Group(*_blocks(kept))


def unreadable(error: AtomrError) -> Text:
    """Why a question cannot be shown, and what to do about it."""
    text = Text.assemble((f"{sanitize(error.title)}\n", "bold red"), sanitize(error.message))
    if error.hint:
        text.append(f"\n→ {sanitize(error.hint)}", "cyan")
    return text


def _blocks(kept: StoredQuestion) -> Iterator[RenderableType]:
    trace, summary = kept.trace, kept.summary
    mark, style = MARKS.get(trace.status, ("·", ""))
    yield Text(_bounded(trace.question), "bold")
    if meant := understood(trace):
        yield Text.assemble(("Understood as: ", "dim"), short_line(meant))
    if summary.follows is not None:
        yield Text(f"Goes on with the conversation of question {summary.follows}", "dim")
    how = "imported" if summary.origin == "imported" else "asked"
    yield Text.assemble(
        (f"{mark} {status_word(trace.status)}", style),
        (f" · {sanitize_line(trace.strategy)} · {how} {summary.local_time}", "dim"),
        (f" · {trace.totals.seconds:.1f} s", "dim"),
    )  # fmt: skip
    yield Text()
    if trace.status == "unknown" and trace.reason:
        yield from _not_found(trace)
    else:
        sure = f"  {OWN}" if trace.by_user else _sure(trace.confidence)
        yield Text.assemble(_bounded(trace.answer) or "—", (sure, "yellow" if trace.by_user else "dim"))
    if given := [node.id for node in trace.nodes if node.by_user and node.parent is not None]:
        numbers = ", ".join(map(str, given[:_MOST_PIECES]))
        yield coloured(f"{OWN} to step{'s' if len(given) > 1 else ''} {numbers}", "yellow")
    for warning in trace.warnings[:_MOST_PIECES]:
        yield coloured(f"⚠ {short_line(warning_text(warning))}", "yellow")
    if trace.basis == "model" and trace.answers:
        yield coloured("⚠ The model's own knowledge: no evidence supports it.", "yellow")
    pieces = cited(trace)
    if pieces:
        yield Text("\nCitations", "bold")
        for piece in pieces[:_MOST_PIECES]:
            yield Text.assemble(
                (f"[{sanitize_line(piece.id)}] ", "cyan"),
                f"{short_line(piece.title)} ({sanitize_line(piece.source)}): ",
                (short_line(piece.text), "dim"),
            )
        if len(pieces) > _MOST_PIECES:
            yield Text(f"and {len(pieces) - _MOST_PIECES} more", "dim")
    plan = [line for line in sanitize(trace.plan.compact).splitlines() if line.strip()]
    steps = plan if trace.plan.origin != "steps" else [_step(node) for node in trace.nodes if node.parent is not None]
    if steps:
        yield Text("\nPlan" if steps is plan else "\nSteps", "bold")
        yield from (Text(line[:_LONGEST_LINE]) for line in steps[:_MOST_STEPS])
        if len(steps) > _MOST_STEPS:
            yield Text(f"and {len(steps) - _MOST_STEPS} more steps", "dim")


def _step(node: NodeTrace) -> str:
    """A step that no plan has, with its answer where it has one."""
    title = step_title(node, node.label, node.resolved_question or node.question)
    answer = short_line(node.answer) if node.answers and node.outcome != "not found" else ""
    mended = f" ({correction_text(node.corrected_from)})" if answer and node.corrected_from is not None else ""
    return f"{node.id}. {title}" + (f" → {answer}{mended}" if answer else "")


def _not_found(trace: Trace) -> Iterator[RenderableType]:
    yield Text.assemble((f"{NOT_FOUND.capitalize()}: ", "bold"), _bounded(trace.reason))
    for item in trace.advice[:_MOST_PIECES]:
        yield coloured(f"→ {short_line(item)}", "cyan")
    if trace.guess is not None and trace.guess.answers:
        whence = " from the model's own knowledge" if trace.guess.basis == "model" else ""
        guess = short_line(trace.guess.text)
        yield Text.assemble(f"A guess{whence}, not an answer: {guess}", (_sure(trace.guess.confidence), "dim"))


def _sure(confidence: float | None) -> str:
    return "" if confidence is None else f"  ({confidence_text(confidence)})"


def cited(trace: Trace) -> list[EvidenceTrace]:
    """The pieces that the answer cites, in its order."""
    root = next((node for node in trace.nodes if node.parent is None), None)
    by_id = {item.id: item for item in trace.evidence}
    return [by_id[name] for name in dict.fromkeys(root.cited if root is not None else ()) if name in by_id]


def _bounded(text: str) -> str:
    shown = sanitize(text[: 2 * _LONGEST_TEXT])
    return shown if len(shown) <= _LONGEST_TEXT else f"{shown[:_LONGEST_TEXT].rstrip()} …"
