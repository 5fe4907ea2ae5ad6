#!/usr/bin/env python3
"""Each strategy on questions of the starter: does it end within its limits, and does its trace hold?

    scripts/bench/strategy_traces.py [--strategies atomr rag …] [--questions 5]

Checked of every answer: it ends within the limits, of calls and of its own rounds, hops or steps; its trace replays,
exports and is the same when it is opened from a file; every citation exists, and its passage stands in the index with
this text; every SPARQL query in it runs again with the same rows; and asked again with two calls side by side, it is
the same trace, with the same confidences, scores and notes. Prints a table as Markdown, and what does not hold. Exits
with 1 if anything does not.

The end-to-end test of the strategies uses the same checks on two questions each.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from programs import run_program

from atomr_local import Assistant
from atomr_local.assistant.history.export import to_json, to_markdown, unkept
from atomr_local.assistant.history.trace_import import read_traces
from atomr_local.assistant.session import GraphRows
from atomr_local.errors import AtomrError
from atomr_local.reasoning.asking.asking import CALLS_TO_CONCLUDE
from atomr_local.reasoning.trace.schema import EvidenceTrace, NodeTrace, Trace
from atomr_local.settings.schema import load_settings
from atomr_local.sources.protocol import Page
from atomr_local.strategies.registry import STRATEGIES, find_strategy
from atomr_local.system import paths
from atomr_local.tui.question.correction import replay
from atomr_local.tui.rendering import same_rows

_LONGEST_EXPORT = 100_000  # characters; more than that is no answer to one question
_MOST_ROWS = 1000
# The worked examples of dsp that are there depend on what was asked before.
FIXED = {"dsp": {"demonstrations": 0}}
# What a strategy may do so often: the label of such a step, "" for a use of a tool; and the option that says how often.
_BOUNDED = {
    "react": ("round", "rounds"),
    "searchain": ("round", "rounds"),
    "detllm": ("hop", "hops"),
    "dsp": ("hop", "hops"),
    "ircot": ("sentence", "sentences"),
    "self-ask": ("follow-up", "follow_ups"),
    "humaniq": ("", "steps"),
}
_PLACES = 9  # of a number that has to be the same in every run


@dataclass(frozen=True)
class Checked:
    """One question asked with one strategy, and what does not hold, in words."""

    strategy: str
    question: str
    trace: Trace
    problems: tuple[str, ...]


def starter_questions(number: int) -> list[str]:
    """The first of the starter's own example questions."""
    lines = (paths.starter_knowledge_dir() / "questions.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line)["question"] for line in lines[:number]]


def asked(assistant: Assistant, strategy: str, question: str) -> Trace:
    for _ in assistant.ask(question, strategy=strategy):
        pass
    trace = assistant.last_trace
    assert trace is not None
    return trace


def checked(alone: Assistant, beside: Assistant, strategy: str, question: str) -> Checked:
    """Ask twice, with one call at a time and with several side by side, and check what became of it."""
    trace, again = asked(alone, strategy, question), asked(beside, strategy, question)
    calls = alone.settings.limits.calls + CALLS_TO_CONCLUDE
    problems = [
        *ended(trace, strategy, calls),
        *bounds(trace),
        *citations(trace),
        *passages(trace, alone.lookups.read_page),
        *queries(trace, lambda sparql: alone.query_graph(sparql, limit=_MOST_ROWS)),
        *files(trace),
        *differences(trace, again),
    ]
    return Checked(strategy, question, trace, tuple(problems))


def ended(trace: Trace, strategy: str, calls: int) -> Iterator[str]:
    """What is wrong with the trace's end: its status, and the calls of the model that it took."""
    if trace.strategy != strategy:
        yield f"the trace names the strategy {trace.strategy!r}"
    if trace.status not in {"answered", "unknown"}:
        yield f"it ended as {trace.status}: {'; '.join(trace.warnings) or trace.reason}"
    if trace.totals.llm_calls > calls:
        yield f"{trace.totals.llm_calls} calls of the model, more than {calls}"
    yield from (f"step {node.id} failed: {node.error['message']}" for node in trace.nodes if node.error)


def bounds(trace: Trace) -> Iterator[str]:
    """Where the method did more than its own option allows."""
    if trace.strategy not in _BOUNDED:
        return
    label, option = _BOUNDED[trace.strategy]
    if label:
        taken = sum(node.label.split(" ")[0] == label for node in trace.nodes)
    else:
        taken = sum(bool(node.action) for node in trace.nodes)
    most = getattr(find_strategy(trace.strategy).options(), option)
    if taken > most:
        yield f"{taken} {label or 'step'}s, more than {option} = {most}"


def passages(trace: Trace, page_of: Callable[[str], Page | None]) -> Iterator[str]:
    """The passages that the index does not have, or not with this text."""
    for item in trace.evidence:
        if "passage" not in item.locator:
            continue
        page = page_of(item.title)
        if page is None:
            yield f"{item.id} cites the page {item.title!r}, which the index does not have"
            continue
        known = {sentence.passage for sentence in page.sentences}
        if lost := {str(one) for one in (item.locator["passage"], *item.locator.get("passages", ()))} - known:
            yield f"{item.id} cites a passage that its page does not have: {', '.join(sorted(lost))}"
        if _bare(item.text) not in _bare(" ".join(sentence.text for sentence in page.sentences)):
            yield f"{item.id} has a text that its page does not have"


def _bare(text: str) -> str:
    return "".join(text.split())


def citations(trace: Trace) -> Iterator[str]:
    """The citations that lead nowhere."""
    known = {item.id for item in trace.evidence}
    for node in trace.nodes:
        if lost := set(node.evidence) - known:
            yield f"step {node.id} has evidence that the trace does not hold: {', '.join(sorted(lost))}"
        if lost := set(node.cited) - set(node.evidence):
            yield f"step {node.id} cites what it has not found: {', '.join(sorted(lost))}"
        for candidate in node.candidates:
            if lost := set(candidate["evidence"]) - known:
                yield f"step {node.id} weighs an answer by lost evidence: {', '.join(sorted(lost))}"


def queries(trace: Trace, run: Callable[[str], GraphRows]) -> Iterator[str]:
    """The SPARQL queries that do not give again what the trace has."""
    for item in trace.evidence:
        if sparql := str(item.locator.get("sparql", "")):
            try:
                found = run(sparql)
            except AtomrError as error:
                yield f"the query of {item.id} does not run again: {error.message}"
                continue
            if not _same(item, found):
                yield f"the query of {item.id} gives other rows: {len(found.rows)} of {', '.join(found.columns)}"


def _same(item: EvidenceTrace, found: GraphRows) -> bool:
    rows = item.locator.get("rows") or ()
    if found.columns == ("answer",) and not rows:  # an ASK
        return item.text.strip(" .").casefold() == found.rows[0][0]
    return same_rows(found.columns, found.rows, rows) if rows else not found.rows


def files(trace: Trace) -> Iterator[str]:
    """What is lost when the trace is replayed, exported and opened again."""
    if set(replay(trace).nodes) != {node.id for node in trace.nodes}:
        yield "the replay has other steps"
    kept = unkept(trace)
    written = to_json([kept], several=False)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "trace.json"
        file.write_text(written, encoding="utf-8")
        [opened] = read_traces(file)
    if json.loads(to_json([unkept(opened)], several=False)) != json.loads(written):
        yield "opened from its file, the trace is another one"
    exported = to_markdown([kept])
    if trace.question not in exported:
        yield "the export does not hold the question"
    if len(exported) >= _LONGEST_EXPORT:
        yield f"the export has {len(exported):,} characters"


def differences(trace: Trace, again: Trace) -> Iterator[str]:
    """Where two traces of the same question and seed differ."""
    if len(trace.nodes) != len(again.nodes):
        yield f"asked again it has {len(again.nodes)} steps, not {len(trace.nodes)}"
        return
    for name in ("status", "answers", "confidence"):
        if (one := getattr(trace, name)) != (other := getattr(again, name)):
            yield f"asked again its {name} is {other!r}, not {one!r}"
    for node, other_node in zip(told(trace), told(again), strict=True):
        changed = [f"{name}: {node[name]!r} ≠ {other_node[name]!r}" for name in node if node[name] != other_node[name]]
        if changed:
            yield f"asked again step {node['id']} differs in {'; '.join(changed)}"[:600]


def told(trace: Trace) -> list[dict[str, Any]]:
    """What must be the same in every run; evidence is numbered in the order in which sources answer."""
    texts = {item.id: (item.source, item.title, item.text) for item in trace.evidence}
    return [_told(node, texts) for node in trace.nodes]


def _told(node: NodeTrace, texts: Mapping[str, tuple[str, ...]]) -> dict[str, Any]:
    own = ("question", "label", "thought", "action", "observation", "answers", "method", "supported", "corrected_from")
    names = ("id", "parent", "dropped", *own)
    evidence = {name: sorted(texts[item] for item in getattr(node, name)) for name in ("evidence", "cited")}
    candidates = [(one["answer"], one["origin"], _rounded(one["score"])) for one in node.candidates]
    numbers = {name: _rounded(getattr(node, name)) for name in ("confidence", "plan_confidence")}
    signals = {name: _rounded(value) for name, value in node.signals.items()}
    own_texts = {name: getattr(node, name) for name in names}
    return own_texts | evidence | numbers | {"candidates": candidates, "signals": signals}


def _rounded(number: float | None) -> float | None:
    return None if number is None else round(number, _PLACES)


def table(results: Sequence[Checked]) -> str:
    lines = [
        "| strategy | n | answered | calls, most | seconds, most | queries | not held |",
        "|---|---|---|---|---|---|---|",
    ]
    for strategy in dict.fromkeys(one.strategy for one in results):
        own = [one for one in results if one.strategy == strategy]
        totals = [one.trace.totals for one in own]
        run = sum(bool(item.locator.get("sparql")) for one in own for item in one.trace.evidence)
        answered = sum(one.trace.status == "answered" for one in own)
        calls, seconds = max(each.llm_calls for each in totals), max(each.seconds for each in totals)
        failed = sum(len(one.problems) for one in own)
        lines.append(f"| {strategy} | {len(own)} | {answered} | {calls} | {seconds:.1f} | {run} | {failed} |")
    return "".join(f"{line}\n" for line in lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--strategies", nargs="+", choices=list(STRATEGIES), default=list(STRATEGIES), metavar="NAME")
    parser.add_argument("--questions", type=int, default=5, metavar="N", help="the first of the starter's")
    given = parser.parse_args()
    results: list[Checked] = []
    with (
        Assistant.open(load_settings(llm={"parallel": 1}, strategies=FIXED)) as alone,
        Assistant.open(load_settings(llm={"parallel": 2}, strategies=FIXED)) as beside,
    ):
        for strategy in given.strategies:
            for question in starter_questions(given.questions):
                one = checked(alone, beside, strategy, question)
                results.append(one)
                answer = ", ".join(one.trace.answers) or "not found"
                print(
                    f"{strategy}: {question} → {answer}, {one.trace.totals.seconds:.1f} s", file=sys.stderr, flush=True
                )
                for problem in one.problems:
                    print(f"  ✗ {problem}", file=sys.stderr, flush=True)
    print(table(results), end="")
    for one in results:
        for problem in one.problems:
            print(f"\n{one.strategy}: {one.question}\n  {problem}")
    return 1 if any(one.problems for one in results) else 0


if __name__ == "__main__":
    run_program(main)
