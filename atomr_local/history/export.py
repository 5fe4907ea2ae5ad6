"""Exports kept questions: Markdown with numbered citations, or the trace as JSON.

Markdown is written so that nothing from outside acts in it: texts are escaped, addresses are code and not links, SPARQL
stands in fences longer than any run of backticks in it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

from atomr_local.history.database import QuestionSummary, StoredQuestion
from atomr_local.history.pending import encode
from atomr_local.reasoning.confidence import NOT_FOUND, confidence_text, confidence_value, status_word
from atomr_local.reasoning.trace.schema import (
    MISFIT,
    OWN,
    EvidenceTrace,
    NodeTrace,
    Trace,
    check_text,
    computation_text,
    correction_text,
    kind_text,
    left_machine,
    taken_from,
    understood,
    warning_text,
)
from atomr_local.reasoning.trace.telling import advice_texts, corrected_text, is_stage, passages_of, step_details
from atomr_local.sanitize import sanitize, sanitize_line

_ROWS = 20
_PLANS = {
    "model": "made by the model",
    "user": "made by the user",
    "steps": "none: each step follows from the ones before",
}
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
    return f"{_escaped(understood(trace) or trace.question)} → {answer}"


def _section(kept: StoredQuestion, earlier: Mapping[str, str], level: int) -> str:
    trace, marks = kept.trace, "#" * level
    numbers = _citation_numbers(trace)
    root = next((node for node in trace.nodes if node.parent is None), None)
    blocks = [
        f"{marks} {_escaped(trace.question)}",
        *_answer(trace, root, numbers),
        "\n".join(f"- {name}: {value}" for name, value in _facts(kept, earlier)),
    ]
    if root is not None:
        blocks += [f"{marks}# Tree", "\n".join(_branch(trace, root, numbers, 0))]
    if numbers:
        blocks.append(f"{marks}# Evidence")
        by_id = {item.id: item for item in trace.evidence}
        blocks += [block for name, number in numbers.items() for block in _evidence(number, by_id[name])]
    if left := len(trace.evidence) - len(numbers):
        blocks.append(f"Found and not cited: {left} (they stand in the JSON export).")
    if trace.warnings:
        blocks += [f"{marks}# Notes", "\n".join(f"- {_escaped(warning_text(warning))}" for warning in trace.warnings)]
    return "\n\n".join(blocks) + "\n"


def _answer(trace: Trace, root: NodeTrace | None, numbers: Mapping[str, int]) -> Iterable[str]:
    """The answer; or why there is none, what to do about it, and the guess apart."""
    heading, passages = passages_of(trace)
    shown = [f"{_block(passage.marked(_escaped, '**', '**'))}\n>\n> {_escaped(passage.source)}" for passage in passages]
    if trace.status != "unknown" or not trace.reason:
        if passages and trace.answer_kind == "quotation":
            yield _block(map(_escaped, sanitize(trace.answer).splitlines()))
            yield f"{', '.join(_escaped(passage.source) for passage in passages)}{_cited(root, numbers)}"
            return
        yield f"{_escaped(trace.answer)}{_cited(root, numbers)}"
        yield from shown
        return
    yield f"**{NOT_FOUND.capitalize()}.** {_escaped(trace.reason)}"
    if shown:
        yield f"**{heading}**"
        yield from shown
    if told := advice_texts(trace.advised, trace.advice, "remote"):
        yield "\n".join(f"- {_escaped(item)}" for item in told)
    if trace.guess is not None and trace.guess.answers:
        whence = " from the model's own knowledge" if trace.guess.basis == "model" else ""
        sure = confidence_text(trace.guess.confidence)
        text = f" ({sure})" if sure else ""
        yield f"A guess{whence}, not an answer: {_escaped(trace.guess.text)}{text}{_cited(root, numbers)}"


def _block(lines: Iterable[str]) -> str:
    """Escaped lines as a block quotation that keeps them."""
    return "  \n".join(f"> {line}" for line in lines if line.strip())


def _facts(kept: StoredQuestion, earlier: Mapping[str, str]) -> Iterable[tuple[str, str]]:
    trace, summary = kept.trace, kept.summary
    if meant := understood(trace):
        yield "understood as", _escaped(meant)
    if taken := taken_from(trace, earlier):
        yield "taken from", "; ".join(f"“{_escaped(question)}”" for question in taken)
    if summary.asked_at:
        yield ("asked" if summary.origin == "asked" else "imported"), _escaped(summary.asked_at)
    yield "status", status_word(trace.status)
    if trace.confidence is not None and not trace.by_user:
        yield "confidence", confidence_value(trace.confidence)
    if trace.answer:
        evidence = "evidence" if trace.basis == "evidence" else "the model's own knowledge, not evidence"
        yield "rests on", OWN if trace.by_user else evidence
    yield "strategy", _escaped(trace.strategy)
    yield "plan", _PLANS.get(trace.plan.origin, trace.plan.origin)
    for key in ("options", "model", "adapter", "text_index", "graph_index", "sources", "web"):
        value = trace.settings.get(key)
        if value not in (None, "", [], {}):
            yield key.replace("_", " "), _escaped(_plain(value))
    if text := left_machine(trace.left_machine):
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
    if name := kind_text(node.label, "step"):
        label += f"{_escaped(name)}: "
    computed = node.method in ("symbolic", "computed")
    how = f", computed: {_code(computation_text(node.computation))}" if computed and node.computation else ""
    own = f", {OWN}" if trace.is_given(node) else ""
    unsure = f", {check_text(node)}" if node.supported is False else ""
    misfit = f", {MISFIT}" if node.misfit else ""
    mended = f", {_escaped(correction_text(node.corrected_from))}" if node.corrected_from is not None else ""
    failed = f", failed: {_escaped(node.error['message'])}" if node.error else ""
    question = _escaped(node.resolved_question or node.question)
    if new := corrected_text(node):
        question, mended = f"~~{question}~~ corrected: {_escaped(new)}", ""
    answer = f"**{_escaped(node.answer)}**" if sanitize_line(node.answer) else "—"
    if node.outcome == "not found":
        answer = f"*{NOT_FOUND}*"
    marks = f"{_cited(node, numbers)}{how}{own}{mended}{unsure}{misfit}{failed}"
    indent = "  " * depth
    lines = [f"{indent}- {label}{question}{'' if is_stage(node, node.label, node.question) else f' → {answer}'}{marks}"]
    lines += [f"{indent}  - {name}: {_escaped(text)}" for name, text in step_details(node)]
    for child in trace.nodes:
        if child.parent == node.id:
            lines += _branch(trace, child, numbers, depth + 1)
    return lines


def _evidence(number: int, item: EvidenceTrace) -> Iterable[str]:
    locator = item.locator
    place = [item.source]
    if locator.get("index"):
        place.append(f"index {_code(_plain(locator['index']))}")
    if "passage" in locator:
        span = locator.get("span")
        characters = f", characters {_plain(span).replace(', ', '–')}" if span else ""
        place.append(f"passage {_code(_plain(locator['passage']))}{_escaped(characters)}")
    if locator.get("section"):
        place.append(f"section {_escaped(_plain(locator['section']))}")
    if "url" in locator:
        place.append(_code(_plain(locator["url"])))
    if locator.get("retrieved_at"):
        place.append(f"retrieved {_escaped(_plain(locator['retrieved_at']))}")
    yield f"[{number}] **{_escaped(item.title) or '—'}** ({', '.join(place)})"
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
