"""A trace as text for a terminal: the answer, its citations, the tree with each node's answer."""

from __future__ import annotations

import re

from atomr_local.reasoning.trace import EvidenceTrace, NodeTrace, Trace, left_machine
from atomr_local.sanitize import sanitize_line

_PASSAGE = 160
_STEP = re.compile(r"step (\d+): (.*)")
_MARKS = {True: "", False: "  (not found in the cited evidence)", None: ""}


def answer_text(trace: Trace) -> str:
    """The whole text, sanitised, without colour; every line from outside is one line."""
    lines = [sanitize_line(trace.answer)]
    if trace.confidence is not None:
        lines[0] += f"  (confidence {trace.confidence:.2f})"
    root = next((node for node in trace.nodes if node.parent is None), None)
    cited = root.cited if root is not None else []
    by_id = {item.id: item for item in trace.evidence}
    if cited:
        lines += ["", "Evidence"]
        lines += [f"  {_citation(by_id[item])}" for item in cited if item in by_id]
    if root is not None and len(trace.nodes) > 1:
        lines += ["", "Tree"]
        lines += _branch(trace, root, 0)
    if trace.plan.origin == "fallback" and trace.strategy == "atomr":
        lines += ["", "No valid plan was found: the question was answered by direct RAG."]
    lines += [f"Note: {warning}" for warning in _folded(trace.warnings)]
    if told := departures_text(trace):
        lines += ["", told]
    return "\n".join(lines)


def departures_text(trace: Trace) -> str:
    """What was sent to other machines, on one line; empty where nothing was."""
    told = sanitize_line(left_machine(trace.left_machine))
    return f"Left the machine: {told}" if told else ""


def _folded(warnings: list[str]) -> list[str]:
    """Each warning once, with the steps that met it: an unreachable source fails in every one of them."""
    steps: dict[str, list[str]] = {}
    for warning in map(sanitize_line, warnings):
        match = _STEP.fullmatch(warning)
        steps.setdefault(match[2] if match else warning, []).extend([match[1]] if match else [])
    return [
        f"step{'s' if len(numbers) > 1 else ''} {', '.join(dict.fromkeys(numbers))}: {told}" if numbers else told
        for told, numbers in steps.items()
    ]


def _citation(item: EvidenceTrace) -> str:
    text = sanitize_line(item.text)
    if len(text) > _PASSAGE:
        text = text[: _PASSAGE - 1].rstrip() + "…"
    place = f" <{sanitize_line(str(item.locator['url']))}>" if "url" in item.locator else ""
    return f"[{item.id}] {item.source}: {sanitize_line(item.title)}: {text}{place}"


def _branch(trace: Trace, node: NodeTrace, depth: int) -> list[str]:
    cited = "".join(f" [{item}]" for item in node.cited) if node.cited and depth else ""
    computed = node.method in ("symbolic", "computed")
    how = f"  ({sanitize_line(node.computation)})" if computed and node.computation else ""
    label = f"{node.id}. " if node.parent is not None else ""
    error = f"  ! {sanitize_line(node.error['message'])}" if node.error else ""
    line = f"  {'  ' * depth}{label}{sanitize_line(node.resolved_question)} → {sanitize_line(node.answer or '—')}"
    lines = [line + how + cited + _MARKS[node.supported] + error]
    for child in trace.nodes:
        if child.parent == node.id:
            lines += _branch(trace, child, depth + 1)
    return lines
