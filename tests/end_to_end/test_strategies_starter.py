"""The strategies on the starter's real parts: two questions each."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from atomr_local import Assistant
from atomr_local.errors import MissingPartError
from atomr_local.history.files.export import to_json, to_markdown, unkept
from atomr_local.history.files.trace_import import read_traces
from atomr_local.reasoning.asking.asking import CALLS_TO_CONCLUDE
from atomr_local.reasoning.trace.schema import NodeTrace, Trace
from atomr_local.settings.schema import load_settings
from atomr_local.strategies.registry import find_strategy
from atomr_local.tui.question.replay import replay

STRATEGIES = ("dsp", "ircot", "probtree", "react", "self-ask")
QUESTIONS = ("Where was the director of Metropolis born?", "Who was the father of Marie Curie?")


@pytest.fixture(scope="module")
def assistants(starter_home: Path) -> Iterator[dict[int, Assistant]]:
    """By the number of calls that may run side by side."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ATOMR_HOME", str(starter_home))
        fixed = {"dsp": {"demonstrations": 0}}  # those that are there depend on what was asked before
        opened = {many: Assistant.open(load_settings(llm={"parallel": many}, strategies=fixed)) for many in (1, 2)}
        try:
            for assistant in opened.values():
                assistant.preload()
        except MissingPartError as error:
            pytest.skip(f"the starter is not installed: {error.message}")
        yield opened
        for assistant in opened.values():
            assistant.close()


def asked(assistant: Assistant, strategy: str, question: str) -> Trace:
    for _ in assistant.ask(question, strategy=strategy):
        pass
    trace = assistant.last_trace
    assert trace is not None
    return trace


def told(trace: Trace) -> list[Any]:
    """What must be the same in every run; evidence is numbered in the order in which sources answer."""
    texts = {item.id: (item.source, item.title, item.text) for item in trace.evidence}

    def node_told(node: NodeTrace) -> tuple[Any, ...]:
        evidence = [sorted(texts[item] for item in ids) for ids in (node.evidence, node.cited)]
        step = (node.id, node.parent, node.question, node.label, node.thought, node.action, node.observation)
        return (*step, node.answers, node.method, node.supported, evidence, len(node.candidates))

    return [trace.status, trace.answers, *map(node_told, trace.nodes)]


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_strategy_on_the_starter(
    assistants: dict[int, Assistant], strategy: str, question: str, tmp_path: Path
) -> None:
    trace = asked(assistants[1], strategy, question)
    limits = load_settings().limits
    assert trace.strategy == strategy == find_strategy(strategy).name
    assert trace.status in {"answered", "unknown"}, trace.warnings
    assert 1 <= trace.totals.llm_calls <= limits.calls + CALLS_TO_CONCLUDE

    known = {item.id for item in trace.evidence}
    for node in trace.nodes:
        assert set(node.cited) <= set(node.evidence) <= known
        assert all(set(candidate["evidence"]) <= known for candidate in node.candidates)

    again = asked(assistants[2], strategy, question)
    assert told(again) == told(trace), "the same seed gives the same trace, one at a time or side by side"

    state = replay(trace)
    assert set(state.nodes) == {node.id for node in trace.nodes}
    kept = unkept(trace)
    file = tmp_path / "trace.json"
    file.write_text(to_json([kept], several=False), encoding="utf-8")
    [reopened] = read_traces(file)
    assert json.loads(to_json([unkept(reopened)], several=False)) == json.loads(file.read_text(encoding="utf-8"))
    exported = to_markdown([kept])
    assert question in exported and len(exported) < 100_000
