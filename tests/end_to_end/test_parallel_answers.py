"""Steps that run together on the starter's real parts: word for word what they come to one at a time."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from atomr_local import Assistant
from atomr_local.errors import MissingPartError
from atomr_local.reasoning.trace.events import Event, NodeFinished, NodeStarted
from atomr_local.reasoning.trace.schema import Trace
from atomr_local.system import paths
from atomr_local.tree.compact import parse_compact
from atomr_local.tree.nodes import ROOT_ID

Both = tuple[dict[str, "Asked"], dict[str, "Asked"]]
# Comparisons of two or three chains: dates, numbers, and dates of directors.
ASKED = ("starter-08", "starter-10", "starter-20")
QUESTIONS = {
    line["id"]: line
    for line in map(
        json.loads, (paths.starter_knowledge_dir() / "questions.jsonl").read_text(encoding="utf-8").splitlines()
    )
}
# By text alone everything is read by the model.
SOURCES: dict[str, tuple[str, ...]] = {"text and graph": ("text", "graph"), "text": ("text",)}


@dataclass
class Asked:
    """What came of one question: its trace, and how many of its steps ran at once at most."""

    trace: Trace
    most_at_once: int


def most_at_once(events: Iterable[Event]) -> int:
    """How many steps ran at once; not the whole question, which asks on within its own step."""
    running: set[int] = set()
    most = 0
    for event in events:
        if isinstance(event, NodeStarted) and event.node_id != ROOT_ID:
            running.add(event.node_id)
        elif isinstance(event, NodeFinished):
            running.discard(event.node_id)
        most = max(most, len(running))
    return most


def ask_all(parallel: int, sources: tuple[str, ...]) -> dict[str, Asked]:
    """Every question by its plan, and the first also by the plan that the model makes."""
    asked: dict[str, Asked] = {}
    with Assistant.open(sources=sources, llm={"parallel": parallel}) as assistant:
        try:
            assistant.preload()
        except MissingPartError as error:
            pytest.skip(f"the starter is not installed: {error.message}")
        for name in (*ASKED, "planned"):
            line = QUESTIONS[ASKED[0] if name == "planned" else name]
            plan = None if name == "planned" else parse_compact(line["plan"], line["question"])
            most = most_at_once(assistant.ask(line["question"], plan=plan))
            assert assistant.last_trace is not None
            asked[name] = Asked(assistant.last_trace, most)
    return asked


@pytest.fixture(scope="module", params=SOURCES, ids=list(SOURCES))
def both(request: pytest.FixtureRequest, starter_home: Path) -> Both:
    """The traces of one at a time and of four at once; the starter's indexes are built once for all tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ATOMR_HOME", str(starter_home))
        return ask_all(1, SOURCES[request.param]), ask_all(4, SOURCES[request.param])


def told(trace: Trace) -> list[dict[str, Any]]:
    """What each node came to; ids of evidence, given in order of appearance, become titles and texts."""
    shown = {item.id: (item.source, item.title, item.text) for item in trace.evidence}
    return [
        {
            "id": node.id,
            "question": node.resolved_question,
            "answers": node.answers,
            "confidence": node.confidence,
            "method": node.method,
            "sources": node.sources,
            "evidence": [shown[item] for item in node.evidence],
            "cited": [shown[item] for item in node.cited],
            "supported": node.supported,
            "computation": node.computation,
            "dropped": [re.sub(r"^e\d+\b", lambda match: str(shown[match[0]]), note) for note in node.dropped],
            "error": node.error,
            "calls": node.llm.calls,
            "tokens": (node.llm.prompt_tokens, node.llm.generated_tokens),
        }
        for node in trace.nodes
    ]


@pytest.mark.parametrize("name", [*ASKED, "planned"])
def test_four_at_once_answer_as_one_at_a_time(both: Both, name: str) -> None:
    one, four = (asked[name].trace for asked in both)
    assert four.status == one.status
    assert four.status in {"answered", "unknown"}, "a question may be declined, but alike"
    assert (four.answers, four.confidence, four.basis) == (one.answers, one.confidence, one.basis)
    assert four.plan == one.plan
    assert told(four) == told(one)
    assert four.totals.retrievals == one.totals.retrievals
    assert four.totals.llm_calls == one.totals.llm_calls


@pytest.mark.parametrize("name", ASKED)
def test_the_chains_of_a_comparison_ran_together_and_the_model_read_where_text_alone_tells(
    both: Both, name: str
) -> None:
    one, four = (asked[name] for asked in both)
    assert one.most_at_once == 1
    if "graph" in four.trace.settings["sources"]:
        assert set(four.trace.answers) == set(QUESTIONS[name]["answers"])
    else:
        assert four.most_at_once > 1
        assert four.trace.totals.llm_calls >= 2
