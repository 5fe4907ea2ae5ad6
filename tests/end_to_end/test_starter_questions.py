"""The twenty example questions on the starter's real parts: all are right when their plans are given."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from atomr_local import Assistant, paths
from atomr_local.errors import MissingPartError
from atomr_local.tree.compact import parse_compact

QUESTIONS = [
    json.loads(line)
    for line in (paths.starter_knowledge_dir() / "questions.jsonl").read_text(encoding="utf-8").splitlines()
]
SOURCES = {"graph": ("graph",), "text and graph": ("text", "graph")}


@pytest.fixture(scope="module", params=SOURCES, ids=list(SOURCES))
def assistant(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Assistant]:
    """Both source sets share one home, so that the starter's indexes are built once."""
    home = tmp_path_factory.getbasetemp() / "starter-home"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ATOMR_HOME", str(home))
        with Assistant.open(sources=SOURCES[request.param]) as opened:
            try:
                opened.preload()
            except MissingPartError as error:
                pytest.skip(f"the starter is not installed: {error.message}")
            yield opened


@pytest.mark.parametrize("line", QUESTIONS, ids=[line["id"] for line in QUESTIONS])
def test_right_with_its_plan(assistant: Assistant, line: dict[str, Any]) -> None:
    for _ in assistant.ask(line["question"], plan=parse_compact(line["plan"], line["question"])):
        pass
    trace = assistant.last_trace
    assert trace is not None
    assert trace.status == "answered"
    steps = [(node.id, node.kind, node.answers, node.method) for node in trace.nodes]
    assert {answer.casefold() for answer in trace.answers} == {gold.casefold() for gold in line["answers"]}, steps
    assert trace.basis == "evidence"
    assert trace.evidence


@pytest.mark.parametrize("assistant", ["text and graph"], indirect=True)
@pytest.mark.parametrize("line", [line for line in QUESTIONS if line.get("shown")], ids=lambda line: line["id"])
def test_what_the_empty_screen_offers_is_right_with_the_models_own_plan(
    assistant: Assistant, line: dict[str, Any]
) -> None:
    for _ in assistant.ask(line["question"]):
        pass
    trace = assistant.last_trace
    assert trace is not None
    assert {answer.casefold() for answer in trace.answers} == {gold.casefold() for gold in line["answers"]}, trace.plan
    assert trace.plan.origin == "model"
