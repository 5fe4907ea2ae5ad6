#!/usr/bin/env python3
"""What each speed feature is worth: 2wiki questions with all of them on, with each alone off, with none.

    scripts/bench/speed.py --data ../shared/data --home HOME [--count 20] [--adapter auto|none] [--only all none]

HOME holds the text index 2wiki. The questions are the first of the development split, asked over text, all runs in one
process, each after two questions that are not counted. `--adapter none` measures the unadapted model with few-shot
prompts. Prints a Markdown table: seconds a question and their ratio to the run with none on, prompt tokens submitted
and really read, the share of time spent outside the model and retrieval (one step at a time only: side by side they
overlap), and how many answers are those of the run with all on.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from atomr_local.assistant.assistant import Assistant
from atomr_local.settings.schema import load_settings

# What switches each off: settings, by group.
OFF: dict[str, dict[str, dict[str, Any]]] = {
    "drafting": {"llm": {"drafting": False}},
    "prefix cache": {"llm": {"prefix_cache": False}},
    "side by side": {"llm": {"parallel": 1}},
    "prepared weights": {"llm": {"weights": "file"}},
    "page alone": {"features": {"page_alone": False}},
}
NONE = {
    group: {key: value for off in OFF.values() for key, value in off.get(group, {}).items()}
    for group in ("llm", "features")
}
WARMING = 2


@dataclass
class Run:
    """Attributes: seconds: of all questions; inside: of them in the model and in retrieval."""

    seconds: float = 0.0
    inside: float = 0.0
    submitted: int = 0
    evaluated: int = 0
    generated: int = 0
    answers: list[tuple[str, ...]] = field(default_factory=list)


def timed(work: Callable[..., Any], run: Run) -> Callable[..., Any]:
    """The same, its time added to the run's `inside`."""

    def call(*args: Any, **kwargs: Any) -> Any:
        started = time.perf_counter()
        try:
            return work(*args, **kwargs)
        finally:
            run.inside += time.perf_counter() - started

    return call


def ask_all(questions: list[str], adapter: str, off: dict[str, dict[str, Any]]) -> Run:
    settings = load_settings(adapter=adapter, text_index="2wiki", sources=("text",), **off)
    run = Run()
    with Assistant.open(settings) as assistant:
        assistant.preload()
        backbone, source = assistant.parts.backbone, next(iter(assistant.parts.sources.values()))
        assert backbone is not None
        for owner, name in ((backbone, "complete"), (source, "retrieve")):
            setattr(owner, name, timed(getattr(owner, name), run))
        for number, question in enumerate(questions):
            if number == WARMING:
                run = reset(run)
            started = time.perf_counter()
            for _ in assistant.ask(question):
                pass
            trace = assistant.last_trace
            assert trace is not None
            run.seconds += time.perf_counter() - started
            run.submitted += trace.totals.prompt_tokens
            run.evaluated += trace.totals.evaluated_tokens
            run.generated += trace.totals.generated_tokens
            run.answers.append(tuple(trace.answers))
    return run


def reset(run: Run) -> Run:
    """The same object, emptied: the timers hold it."""
    run.__dict__.update(Run().__dict__)
    return run


def line(name: str, run: Run, none: Run | None, best: Run | None, *, alone: bool) -> str:
    count = len(run.answers)
    same = sum(a == b for a, b in zip(run.answers, best.answers, strict=True)) if best is not None else count
    cells = [name, f"{run.seconds / count:.2f}", f"{run.seconds / none.seconds:.2f}" if none is not None else ""]
    cells += [f"{run.submitted / count:.0f}", f"{run.evaluated / count:.0f}", f"{run.evaluated / run.submitted:.2f}"]
    cells += [f"{run.generated / count:.0f}", f"{1 - run.inside / run.seconds:.1%}" if alone else "", f"{same}/{count}"]
    return f"| {' | '.join(cells)} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--home", type=Path, required=True)
    parser.add_argument("--count", type=int, default=20)
    parser.add_argument("--adapter", default="auto")
    parser.add_argument("--only", nargs="+", choices=["all", "none", *OFF], default=["none", *OFF, "all"])
    given = parser.parse_args()
    os.environ["ATOMR_HOME"] = str(given.home)
    lines = (given.data / "qa" / "2wiki_train500_questions.jsonl").read_text("utf-8").splitlines()
    split = lines[len(lines) * 4 // 5 - WARMING :][: given.count + WARMING]
    questions = [json.loads(text)["question"] for text in split]
    runs: dict[str, Run] = {}
    for name in given.only:
        print(f"== {name}", file=sys.stderr, flush=True)
        runs[name] = ask_all(questions, given.adapter, {"none": NONE, "all": {}}.get(name, OFF.get(name, {})))
    print("| off | seconds a question | of none's | submitted | read | ratio | written | outside | same answers |")
    print("|---|---|---|---|---|---|---|---|---|")
    for name, run in runs.items():
        shown = {"none": "all (none on)", "all": "–"}.get(name, name)
        alone = name in {"none", "side by side"}
        print(line(shown, run, runs.get("none"), runs.get("all"), alone=alone))


if __name__ == "__main__":
    main()
