"""Question files, traces as the reasoning writes them, and an assistant that answers from a list."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from atomr_local.cli.main import main
from atomr_local.reasoning.trace.events import Event, Finished, StageChanged
from atomr_local.reasoning.trace.schema import NodeTrace, PlanTrace, Totals, Trace
from atomr_local.tree.nodes import Tree


def write_lines(path: Path, *lines: dict[str, Any] | str) -> Path:
    path.write_text(
        "".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines), encoding="utf-8"
    )
    return path


def atomr_eval(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    """Exit status, output and errors of `atomr eval`."""
    with pytest.raises(SystemExit) as ended:
        main(["eval", *map(str, arguments)])
    shown = capsys.readouterr()
    assert "Traceback" not in shown.err
    return int(ended.value.code or 0), shown.out, shown.err


def read_lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def make_trace(question: str, answers: list[str], **changed: Any) -> Trace:
    """The trace of a question that two nodes and three model calls answered."""
    trace = Trace(
        question=question,
        strategy="atomr",
        settings={"model": "fake", "adapter": None, "sources": ["text"], "web": False},
        status="answered" if answers else "unknown",
        answer=", ".join(answers),
        answers=answers,
        plan=PlanTrace('1. a = Search("b")', "model", 1),
        nodes=[
            NodeTrace(0, None, question, "root", answers=answers, method="child"),
            NodeTrace(1, 0, "a", "search", arguments=["b"], method="operator"),
        ],
        totals=Totals(2.0, 3, 100, 60, 20, {"text": 2, "graph": 1, "web": 0}),
    )
    for name, value in changed.items():
        setattr(trace, name, value)
    return trace


class FakeAssistant:
    """Answers from a dictionary by question; a callable is called instead (to fail, or to interrupt)."""

    def __init__(self, answers: dict[str, list[str] | Trace | Callable[[], Any]]) -> None:
        self.answers = answers
        self.asked: list[str] = []
        self.plans: list[Tree | None] = []
        self.cancelled = 0

    def ask(self, question: str, *, plan: Tree | None = None, plan_origin: str = "user") -> Iterator[Event]:
        self.asked.append(question)
        self.plans.append(plan)
        yield StageChanged(stage="reasoning")
        given = self.answers[question]
        if callable(given):
            given = given()
        trace = given if isinstance(given, Trace) else make_trace(question, given)
        if plan is not None:
            trace.plan.origin = plan_origin  # type: ignore[assignment]
        yield Finished(trace=trace)

    def cancel(self) -> None:
        self.cancelled += 1

    def preload(self, on_stage: Callable[[str], None] | None = None) -> None:
        if on_stage:
            on_stage("loading model")

    def __enter__(self) -> FakeAssistant:
        return self

    def __exit__(self, *_: object) -> None: ...
