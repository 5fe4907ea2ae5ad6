"""The twenty example questions on the starter's real parts: all are right when their plans are given."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from atomr_local import Assistant
from atomr_local.errors import MissingPartError
from atomr_local.models.llama import scheduler as sampling
from atomr_local.models.llama.engine import library, library_directory, loaded_cpu_variant, variants
from atomr_local.system import paths
from atomr_local.tree.compact import parse_compact

QUESTIONS, SHOWN = (
    [json.loads(line) for line in (paths.starter_knowledge_dir() / name).read_text(encoding="utf-8").splitlines()]
    for name in ("questions.jsonl", "examples.jsonl")
)
# CPU backends that round otherwise than the best one of a later processor (docs/builds.md).
ROUND_OTHERWISE = ("haswell", "ivybridge", "sandybridge", "armv8.0_1")
SOURCES = {"graph": ("graph",), "text and graph": ("text", "graph")}


@pytest.fixture(scope="module", params=SOURCES, ids=list(SOURCES))
def assistant(request: pytest.FixtureRequest, starter_home: Path) -> Iterator[Assistant]:
    """Both source sets share one home, so that the starter's indexes are built once."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ATOMR_HOME", str(starter_home))
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
@pytest.mark.parametrize("line", SHOWN, ids=lambda line: line["question"])
def test_what_the_empty_screen_offers_is_right_with_the_models_own_plan(
    assistant: Assistant, line: dict[str, Any]
) -> None:
    for _ in assistant.ask(line["question"]):
        pass
    trace = assistant.last_trace
    assert trace is not None
    assert {answer.casefold() for answer in trace.answers} == {gold.casefold() for gold in line["answers"]}, trace.plan
    assert trace.basis == "evidence"


@pytest.mark.parametrize("assistant", ["text and graph"], indirect=True)
def test_what_the_empty_screen_offers_is_right_on_another_build_of_llama_cpp(
    assistant: Assistant, starter_home: Path, tmp_path: Path
) -> None:
    here = loaded_cpu_variant()
    usable = [variant.name for variant in variants(library_directory(library())) if variant.score > 0]
    other = next((name for name in ROUND_OTHERWISE if name in usable and name != here), None)
    if other is None:
        pytest.skip(f"one way of rounding only: this build of llama.cpp can run {', '.join(usable) or 'one backend'}")
    asked = tmp_path / "shown.jsonl"
    asked.write_text("".join(json.dumps(line) + "\n" for line in SHOWN), encoding="utf-8")
    ran = subprocess.run(
        [sys.executable, "-m", "atomr_local", "eval", "run", "--questions", str(asked), "--out", str(tmp_path / "run"),
         "--sources", "text,graph", "--text-index", "starter", "--graph-index", "starter", "--no-web"],
        capture_output=True, text=True, timeout=600, check=False,
        env=os.environ | {"ATOMR_LLM__CPU_VARIANT": other, "ATOMR_HOME": str(starter_home)},
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    traces = [json.loads(line) for line in (tmp_path / "run" / "traces.jsonl").read_text("utf-8").splitlines()]
    assert [trace["question"] for trace in traces] == [line["question"] for line in SHOWN]
    for line, trace in zip(SHOWN, traces, strict=True):
        assert folded(trace["answers"]) == folded(line["answers"]), trace["plan"]


@pytest.mark.parametrize("assistant", ["text and graph"], indirect=True)
def test_what_the_empty_screen_offers_has_a_margin(assistant: Assistant, monkeypatch: pytest.MonkeyPatch) -> None:
    """As much noise as 8-bit activations make of another build's rounding: 0.25 between the two best tokens."""
    choose, random = sampling.Sampler.choose, np.random.default_rng(1)

    def disturbed(sampler: sampling.Sampler, logits: Any) -> tuple[int | None, float]:
        return choose(sampler, logits + random.normal(0.0, 0.18, len(logits)).astype(np.float32))

    monkeypatch.setattr(sampling.Sampler, "choose", disturbed)
    for line in SHOWN:
        for _ in assistant.ask(line["question"]):
            pass
        assert assistant.last_trace is not None
        assert folded(assistant.last_trace.answers) == folded(line["answers"]), assistant.last_trace.plan


def folded(answers: Any) -> set[str]:
    return {answer.casefold() for answer in answers}
