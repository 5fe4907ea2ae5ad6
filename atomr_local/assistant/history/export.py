"""Exports kept questions: Markdown with numbered citations, or the trace as JSON.

Markdown is written so that nothing from outside acts in it: texts are escaped, addresses are code and not links, SPARQL
stands in fences longer than any run of backticks in it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

from atomr_local.assistant.history.database import QuestionSummary, StoredQuestion
from atomr_local.assistant.history.pending import encode
from atomr_local.reasoning.confidence import NOT_FOUND, confidence_text, confidence_value, status_word
from atomr_local.reasoning.trace import telling
from atomr_local.reasoning.trace.schema import EvidenceTrace, NodeTrace, Trace
from atomr_local.system.sanitize import sanitize, sanitize_line

_ROWS = 20
_PLANS = {
    "model": "made by the model",
    "user": "made by the user",
    "steps": "none: each step follows from the ones before",
}
# What stands behind a step, by role, and the words before it.
_REMARKS = {"computed": "computed: ", "own": "", "corrected": "", "doubt": "", "misfit": "", "failed": "failed: "}
_AS_TEXT = {"characters ", "section ", "retrieved "}  # other places are names, which are written as code
_SPECIAL = re.compile(r"[\\`*_\[\]|~$!#^]")
# What some renderers make links of without any brackets: addresses, www names, mail addresses.
_SELF_LINKING = re.compile(r":(?=//)|@|(?<=www)\.", re.IGNORECASE)
_AT_LINE_START = re.compile(r"^([-+=]|\d+(?=[.)]))")
_BACKTICKS = re.compile(r"`+")


def unkept(trace: Trace) -> StoredQuestion:
    """A trace that is in no history, in the form that is exported; when it was asked is not known."""
    summary = QuestionSummary(
        0, "", "asked", sanitize_line(trace.question), sanitize(trace.answer or trace.reason), trace.status,
        sanitize_line(trace.strategy), trace.confidence, trace.totals.seconds,
    )  # fmt: skip
    return StoredQuestion(summary, trace, json.loads(encode(trace)))


def to_json(kept: Iterable[StoredQuestion], *, several: bool) -> str:
    """The trace as an indented JSON object; several: one a line, JSON lines."""
    documents = [item.document for item in kept]
    if several:
        return "".join(json.dumps(document) + "\n" for document in documents)
    return "".join(json.dumps(document, indent=2) + "\n" for document in documents)


def to_markdown(
    kept: Iterable[StoredQuestion], *, conversation: bool = False, earlier: Mapping[str, str] | None = None
) -> str:
    """Each question as a section: answer, tree, the evidence that was cited.

    Args:
        conversation: they are the questions of one conversation, in order; an overview of it comes first.
        earlier: questions by trace id that these may have taken something from, beside one another.
    """
    items = list(kept)
    known = {**(earlier or {}), **{item.trace.id: item.trace.question for item in items}}
    if not conversation or not items:
        return "\n".join(_section(item, known, 1) for item in items)
    turns = "\n".join(f"{place}. {_turn(item.trace)}" for place, item in enumerate(items, 1))
    begin = f"# Conversation: {_escaped(items[0].trace.question)}\n\n{turns}\n"
    return "\n".join([begin, *(_section(item, known, 2) for item in items)])


def _turn(trace: Trace) -> str:
    text = "; ".join(trace.answers) or trace.answer
    answer = f"**{_escaped(text)}**" if trace.status == "answered" else f"*{status_word(trace.status)}*"
    return f"{_escaped(telling.understood(trace) or trace.question)} → {answer}"


def _section(kept: StoredQuestion, earlier: Mapping[str, str], level: int) -> str:
    trace, marks = kept.trace, "#" * level
    numbers = _citation_numbers(trace)
    root = telling.root_of(trace)
    blocks = [
        f"{marks} {_escaped(trace.question)}",
        *(text for part in telling.told_answer(trace) for text in _blocks(part, _cited(root, numbers))),
        "\n".join(f"- {name}: {value}" for name, value in _facts(kept, earlier)),
    ]
    if root is not None:
        blocks += [f"{marks}# Tree", "\n".join(_branch(trace, root, numbers, 0))]
    if numbers:
        blocks.append(f"{marks}# Evidence")
        blocks += [text for item in telling.pieces(trace, numbers) for text in _evidence(numbers[item.id], item)]
    if left := len(trace.evidence) - len(numbers):
        blocks.append(f"Found and not cited: {left} (they stand in the JSON export).")
    if trace.warnings:
        blocks += [
            f"{marks}# Notes",
            "\n".join(f"- {_escaped(telling.warning_text(warning))}" for warning in trace.warnings),
        ]
    return "\n\n".join(blocks) + "\n"


def _blocks(part: telling.Part, marks: str) -> Iterable[str]:
    """A part of the answer; `marks`: of its citations."""
    match part.role:
        case "answer":
            yield f"{_escaped(part.text)}{marks}"
        case "quotation":
            yield telling.block(map(_escaped, sanitize(part.text).splitlines()))
            yield f"{', '.join(_escaped(passage.source) for passage in part.passages)}{marks}"
        case "guess":
            sure = confidence_text(part.confidence)
            yield f"{part.lead}: {_escaped(part.text)}{f' ({sure})' if sure else ''}{marks}"
        case _:
            yield from telling.in_markdown(part, _escaped)


def _facts(kept: StoredQuestion, earlier: Mapping[str, str]) -> Iterable[tuple[str, str]]:
    trace, summary = kept.trace, kept.summary
    if meant := telling.understood(trace):
        yield "understood as", _escaped(meant)
    if taken := telling.taken_from(trace, earlier):
        yield "taken from", "; ".join(f"“{_escaped(question)}”" for question in taken)
    if summary.asked_at:
        yield ("asked" if summary.origin == "asked" else "imported"), _escaped(summary.asked_at)
    yield "status", status_word(trace.status)
    if trace.confidence is not None and not trace.by_user:
        yield "confidence", confidence_value(trace.confidence)
    if trace.answer:
        evidence = "evidence" if trace.basis == "evidence" else "the model's own knowledge, not evidence"
        yield "rests on", telling.OWN if trace.by_user else evidence
    yield "strategy", _escaped(trace.strategy)
    yield "plan", _PLANS.get(trace.plan.origin, trace.plan.origin)
    for key in ("options", "model", "adapter", "text_index", "graph_index", "sources", "web"):
        value = trace.settings.get(key)
        if value not in (None, "", [], {}):
            yield key.replace("_", " "), _escaped(_plain(value))
    if text := telling.left_machine(trace.left_machine):
        yield "left the machine", _escaped(text)
    yield "time", f"{trace.totals.seconds:.1f} s, {trace.totals.llm_calls} model calls"


def _citation_numbers(trace: Trace) -> dict[str, int]:
    """Evidence id → number: the answer's citations first, then those of the nodes in order."""
    ordered = sorted(trace.nodes, key=lambda node: node.parent is not None)
    known = {item.id for item in trace.evidence}
    cited = dict.fromkeys(name for node in ordered for name in node.cited if name in known)
    return {name: number for number, name in enumerate(cited, 1)}


def _cited(node: NodeTrace | None, numbers: Mapping[str, int]) -> str:
    return "" if node is None else "".join(f" [{numbers[name]}]" for name in node.cited if name in numbers)


def _branch(trace: Trace, node: NodeTrace, numbers: Mapping[str, int], depth: int) -> list[str]:
    label = f"({node.id}) " if node.parent is not None else ""
    if name := telling.kind_text(node.label, "step"):
        label += f"{_escaped(name)}: "
    told = telling.remarks(node, given=trace.is_given(node))
    question = _escaped(node.resolved_question or node.question)
    if new := telling.corrected_text(node):
        question = f"~~{question}~~ corrected: {_escaped(new)}"
        told.pop("corrected")
    ways = {"computed": _code, "corrected": _escaped, "failed": _escaped}
    answer = f" → **{_escaped(node.answer)}**" if sanitize_line(node.answer) else " → —"
    if telling.is_stage(node, node.label, node.question):
        answer = ""
    elif node.outcome == "not found":
        answer = f" → *{NOT_FOUND}*"
    marks = _cited(node, numbers)
    for role, lead in _REMARKS.items():
        if role in told:
            marks += f", {lead}{ways.get(role, str)(told[role])}"
    indent = "  " * depth
    lines = [f"{indent}- {label}{question}{answer}{marks}"]
    lines += [f"{indent}  - {name}: {_escaped(text)}" for name, text in telling.step_details(node)]
    for child in trace.nodes:
        if child.parent == node.id:
            lines += _branch(trace, child, numbers, depth + 1)
    return lines


def _evidence(number: int, item: EvidenceTrace) -> Iterable[str]:
    locator = item.locator
    where = [f"{lead}{_escaped(text) if lead in _AS_TEXT else _code(text)}" for lead, text in telling.places(item)]
    yield f"[{number}] **{_escaped(item.title) or '—'}** ({', '.join([item.source, *where])})"
    yield f"> {_escaped(item.text) or '—'}"
    if "sparql" in locator:
        yield _fenced("sparql", _plain(locator["sparql"]))
    rows = locator.get("rows") or []
    if rows:
        shown = [", ".join(f"{key}: {_plain(value)}" for key, value in row.items()) for row in rows[:_ROWS]]
        more = f"\n- and {len(rows) - _ROWS} more" if len(rows) > _ROWS else ""
        yield f"{len(rows)} rows:" if len(rows) > 1 else "1 row:"
        yield "\n".join(f"- {_code(row)}" for row in shown) + more


def _plain(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {_plain(item)}" for key, item in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(_plain(item) for item in value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "none" if value is None else str(value)


def _escaped(text: str) -> str:
    """The text on one line, with every character that Markdown or HTML would act on made harmless."""
    line = sanitize_line(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    line = _SELF_LINKING.sub(r"\\\g<0>", _SPECIAL.sub(r"\\\g<0>", line))
    return _AT_LINE_START.sub(lambda start: _literal(start[0]), line)


def _literal(start: str) -> str:
    return f"{start[:-1]}&#{ord(start[-1])};"


def _code(text: str) -> str:
    line = sanitize_line(text)
    ticks = "`" * (max((len(run) for run in _BACKTICKS.findall(line)), default=0) + 1)
    return f"{ticks} {line} {ticks}" if line.startswith("`") or line.endswith("`") else f"{ticks}{line or ' '}{ticks}"


def _fenced(language: str, text: str) -> str:
    text = sanitize(text).strip("\n")
    fence = "`" * max(3, max((len(run) for run in _BACKTICKS.findall(text)), default=0) + 1)
    return f"{fence}{language}\n{text}\n{fence}"
