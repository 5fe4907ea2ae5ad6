"""How long a running question takes to stop: from `Assistant.cancel()` to its last event.

    python scripts/bench/cancel.py --tries 20 --json cancel.json

Asks the starter's questions and stops each at a moment drawn at random from the time that it takes to answer, so that
planning, prompt evaluation, generation and retrieval are hit as often as they run. The question is cancelled as Escape
cancels it, from another thread; the time ends when the event stream has ended and the next question may be asked.
Reported are p50, p95 and the longest, in milliseconds, in all and by what ran at that moment. The aim is 200 ms on an
idle machine; the load of the machine is reported beside it.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import threading
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

from atomr_local import Assistant
from atomr_local.reasoning.trace.events import (
    AnswerReady,
    Event,
    EvidenceFound,
    NodeStarted,
    PlanFragment,
    PlanReady,
    RetrievalStarted,
    SourcesSelected,
    StageChanged,
    TextGenerated,
)
from atomr_local.system import paths

_DOING = {
    StageChanged: "planning: prompt",
    PlanFragment: "planning: generating",
    PlanReady: "between steps",
    NodeStarted: "between steps",
    RetrievalStarted: "retrieving",
    EvidenceFound: "reading: prompt",
    SourcesSelected: "reading: prompt",
    TextGenerated: "reading: generating",
}


class Watch:
    """The last event of a question, and when it came."""

    def __init__(self) -> None:
        self.doing = "loading"

    def see(self, event: Event) -> None:
        self.doing = _DOING.get(type(event), self.doing)


def questions() -> list[str]:
    lines = (paths.starter_knowledge_dir() / "questions.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line)["question"] for line in lines]


def whole(assistant: Assistant, question: str) -> float:
    """Seconds that the question takes when it is left alone."""
    started = time.perf_counter()
    for _ in assistant.ask(question):
        pass
    return time.perf_counter() - started


def stopped(assistant: Assistant, question: str, after: float) -> dict[str, Any] | None:
    """Ask, cancel after so many seconds; None where the question was answered before that."""
    watch, status = Watch(), ""
    pressed, doing = 0.0, ""

    def press() -> None:
        nonlocal pressed, doing
        pressed, doing = time.perf_counter(), watch.doing
        assistant.cancel()

    timer = threading.Timer(after, press)
    timer.start()
    for event in assistant.ask(question):
        watch.see(event)
        if isinstance(event, AnswerReady):
            status = event.status
    ended = time.perf_counter()
    timer.cancel()
    timer.join()
    if status != "cancelled":
        return None
    return {"question": question, "after": round(after, 3), "doing": doing, "ms": 1000 * (ended - pressed)}


def summary(times: list[float]) -> dict[str, float]:
    ordered = sorted(times)
    return {
        "tries": len(ordered),
        "p50_ms": round(statistics.median(ordered), 1),
        "p95_ms": round(ordered[min(len(ordered) - 1, int(0.95 * len(ordered)))], 1),
        "longest_ms": round(ordered[-1], 1),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--tries", type=int, default=20, help="questions to be stopped (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--sources", default="text,graph", help="text alone makes the model read more")
    parser.add_argument("--cold", action="store_true", help="read every prompt from its beginning")
    parser.add_argument("--json", type=Path, help="write all tries there")
    arguments = parser.parse_args()
    draw = random.Random(arguments.seed)
    tries: list[dict[str, Any]] = []
    llm = {"prefix_cache": not arguments.cold}
    with Assistant.open(sources=tuple(arguments.sources.split(",")), llm=llm) as assistant:
        assistant.preload()
        asked = questions()
        seconds = {question: whole(assistant, question) for question in draw.sample(asked, min(5, len(asked)))}
        while len(tries) < arguments.tries:
            question = draw.choice(list(seconds))
            one = stopped(assistant, question, draw.uniform(0, seconds[question]))
            if one is not None:
                tries.append(one)
                print(f"{one['ms']:7.1f} ms  {one['doing']}", flush=True)
    by_doing: dict[str, list[float]] = defaultdict(list)
    for one in tries:
        by_doing[one["doing"]].append(one["ms"])
    report = {
        "all": summary([one["ms"] for one in tries]),
        "by": {doing: summary(times) for doing, times in sorted(by_doing.items())},
        "load": [round(value, 2) for value in os.getloadavg()],
        "cores": os.cpu_count(),
    }
    print(json.dumps(report, indent=1))
    if arguments.json is not None:
        arguments.json.write_text(json.dumps(report | {"every": tries}, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
