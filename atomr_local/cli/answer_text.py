"""Formats a trace for the terminal: the answer, its citations, and the tree with each node's answer."""

from __future__ import annotations

import re
from collections.abc import Mapping

from atomr_local.reasoning.confidence.words import NOT_FOUND, confidence_text
from atomr_local.reasoning.trace.schema import EvidenceTrace, NodeTrace, Trace, left_machine, taken_from, understood
from atomr_local.reasoning.trace.step_details import is_stage, step_details, step_title, winner_text
from atomr_local.reasoning.trace.words import MISFIT, OWN, check_text, computation_text, correction_text, warning_text
from atomr_local.sanitize import sanitize_line
from atomr_local.sources.place_words import place_words

_PASSAGE = 160
_STEP = re.compile(r"step (\d+): (.*)")


def answer_text(
    trace: Trace, *, guess: bool = False, earlier: Mapping[str, str] | None = None, verbose: bool = False
) -> str:
    """The whole text, sanitised, without colour; every line from outside is one line.

    Args:
        guess: where the question was declined, show the best guess too, with what it rests on.
        earlier: questions by trace id that this one may have taken something from.
        verbose: tell also what each step thought, did, saw and weighed, and the graph queries of the evidence.
    """
    declined = trace.status == "unknown" and bool(trace.reason)  # earlier versions said it in the answer
    lines = _not_found(trace, guess) if declined else [_answer(trace)]
    if meant := understood(trace):
        lines += ["", f"Understood as: {meant}"]
        lines += [f"  taken from: “{question}”" for question in taken_from(trace, earlier or {})]
    root = next((node for node in trace.nodes if node.parent is None), None)
    cited = root.cited if root is not None and (guess or not declined) else []
    by_id = {item.id: item for item in trace.evidence}
    if cited:
        lines += ["", "Evidence of the guess" if declined else "Evidence"]
        for item in (by_id[item] for item in cited if item in by_id):
            lines += [f"  {_citation(item)}", *(_query(item) if verbose else [])]
    if own := [f"step {node.id}" for node in trace.nodes if node.by_user]:
        lines += ["", f"Your own answers: {', '.join(own)}"]
    if root is not None and len(trace.nodes) > 1:
        lines += ["", "Tree"]
        lines += _branch(trace, root, 0, guess, verbose)
    if trace.plan.origin == "fallback" and trace.plan.attempts:
        lines += ["", "No valid plan was found: the question was answered directly from what was found."]
    if trace.plan.origin == "example":
        lines += ["", "The plan is one that you kept for this question (`atomr examples`)."]
    lines += [f"Note: {warning}" for warning in _folded(trace.warnings)]
    if text := departures_text(trace):
        lines += ["", text]
    return "\n".join(lines)


def _answer(trace: Trace) -> str:
    said = sanitize_line(trace.answer)
    return f"{said}  ({OWN})" if trace.by_user else _sure(said, trace.confidence)


def _not_found(trace: Trace, guess: bool) -> list[str]:
    """Why there is no answer, what to do about it, and the guess or where it is."""
    lines = [f"{NOT_FOUND.capitalize()}: {sanitize_line(trace.reason)}"]
    lines += [f"  → {sanitize_line(item)}" for item in trace.advice]
    if trace.guess is None or not trace.guess.answers:
        return lines
    if not guess:
        return [*lines, "  There is a guess: --guess shows it."]
    whence = " from the model's own knowledge" if trace.guess.basis == "model" else ""
    text = f"A guess{whence}, not an answer: {sanitize_line(trace.guess.text)}"
    return [*lines, "", _sure(text, trace.guess.confidence)]


def _sure(text: str, confidence: float | None) -> str:
    return f"{text}  ({confidence_text(confidence)})" if confidence is not None else text


def departures_text(trace: Trace) -> str:
    """What was sent to other machines, on one line; empty if nothing was."""
    text = sanitize_line(left_machine(trace.left_machine))
    return f"Left the machine: {text}" if text else ""


def _folded(warnings: list[str]) -> list[str]:
    """Each warning once, with the steps that met it: an unreachable source fails in every one of them."""
    steps: dict[str, list[str]] = {}
    for warning in map(sanitize_line, map(warning_text, warnings)):
        match = _STEP.fullmatch(warning)
        steps.setdefault(match[2] if match else warning, []).extend([match[1]] if match else [])
    return [
        f"step{'s' if len(numbers) > 1 else ''} {', '.join(dict.fromkeys(numbers))}: {text}" if numbers else text
        for text, numbers in steps.items()
    ]


def _citation(item: EvidenceTrace) -> str:
    text = sanitize_line(item.text)
    if len(text) > _PASSAGE:
        text = text[: _PASSAGE - 1].rstrip() + "…"
    place = f" <{sanitize_line(str(item.locator['url']))}>" if "url" in item.locator else ""
    if words := sanitize_line(place_words(item.locator)):
        place = f" ({words})"
    index = f" ({sanitize_line(str(item.locator['index']))})" if item.locator.get("index") else ""
    return f"[{item.id}] {item.source}{index}: {sanitize_line(item.title)}: {text}{place}"


def _query(item: EvidenceTrace) -> list[str]:
    """The graph query of a piece of evidence, and how many rows it gave."""
    if "sparql" not in item.locator:
        return []
    rows = item.locator.get("rows")
    many = [f"       rows: {len(rows)}"] if isinstance(rows, list) else []
    return [f"       query: {sanitize_line(str(item.locator['sparql']))}", *many]


def _branch(trace: Trace, node: NodeTrace, depth: int, guess: bool, verbose: bool) -> list[str]:
    lost = node.outcome == "not found"
    cited = "".join(f" [{item}]" for item in node.cited) if node.cited and depth and not lost else ""
    computed = node.method in ("symbolic", "computed")
    how = f"  ({sanitize_line(computation_text(node.computation))})" if computed and node.computation else ""
    label = f"{node.id}. " if node.parent is not None else ""
    error = f"  ! {sanitize_line(node.error['message'])}" if node.error else ""
    title = step_title(node, node.label, node.resolved_question)
    line = f"  {'  ' * depth}{label}{title} → "
    if is_stage(node, node.label, node.question):
        lines = [line.removesuffix(" → ") + cited + error]
    elif lost:
        text = f"  (a guess: {sanitize_line(node.answer)})" if guess and node.answers else ""
        lines = [f"{line}{NOT_FOUND}{text}{error}"]
    else:
        whence = f"  ({OWN})" if trace.is_given(node) else ""
        misfit = f"  ({MISFIT})" if node.misfit else ""
        if node.outcome == "memory":
            whence = "  (from the model's own knowledge)"
        elif node.corrected_from is not None:
            whence = f"  ({correction_text(node.corrected_from)})"
        elif origin := winner_text(node):
            whence = f"  ({origin})"
        unsure = f"  ({check_text(False, node.cited)})" if node.supported is False else ""
        answer = sanitize_line(node.answer or "—")
        lines = [line + answer + how + whence + cited + unsure + misfit + error]
    if verbose:
        lines += [f"      {'  ' * depth}{name}: {text}" for name, text in step_details(node)]
    for child in trace.nodes:
        if child.parent == node.id:
            lines += _branch(trace, child, depth + 1, guess, verbose)
    return lines
