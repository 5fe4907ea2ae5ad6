#!/usr/bin/env python3
"""How well the starter answers what a newcomer asks, by kind of question.

    scripts/bench/newcomer.py [--questions scripts/pocket/questions.jsonl] [--split dev|held] [--limit N]
        [--strategy NAME] [--jsonl OUT]

A line of the questions is {"question", "answers", "answerable", "kind", "split"} and, where they apply, "several" (all
answers are asked for) and "about" (the topic that is to be told of).

- right: a short answer has a token F1 of at least 0.6 with one of the answers, or holds one in at most 45 words; of
  several, at least three quarters are told; a topic is told by a passage of its own article. An unanswerable question
  is right if it is declined.
- declined: no answer is given.

Prints a table by kind, with the median seconds. The split "held" is for one measurement at the end.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter, defaultdict
from pathlib import Path
from statistics import median
from typing import Any

from atomr_local.reasoning.trace.schema import Trace

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from training.grading import is_right, quoted

ROOT = Path(__file__).resolve().parents[2]


def about(trace: Trace) -> set[str]:
    """Titles of what the answer cites."""
    cited = {item for node in trace.nodes if node.parent is None for item in node.cited}
    cited |= {quote["evidence"] for node in trace.nodes if node.parent is None for quote in node.quotes}
    return {item.title for item in trace.evidence if item.id in cited}


def right(row: dict[str, Any], trace: Trace) -> bool:
    """Whether the answer is right; of an unanswerable question, that there is none."""
    answered = trace.status == "answered"
    if not row["answerable"]:
        return not answered
    if not answered:
        return False
    if "about" in row:
        return row["about"] in about(trace)
    kind = "l" if row.get("several") else "y" if row["kind"] == "yesno" else "f"
    told = [" ".join(trace.answers), *([quoted(trace)] if quoted(trace) else [])]
    return any(is_right({"kind": kind, "answers": row["answers"]}, [text], "") for text in told)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--questions", type=Path, default=ROOT / "scripts" / "pocket" / "questions.jsonl")
    parser.add_argument("--split", default="dev", choices=("dev", "held"))
    parser.add_argument("--limit", type=int, default=0)
    parser.add_argument("--strategy", default="atomr")
    parser.add_argument("--jsonl", type=Path, help="write a line for each question")
    given = parser.parse_args()
    rows = [json.loads(line) for line in given.questions.read_text("utf-8").splitlines() if line]
    rows = [row for row in rows if row["split"] == given.split]
    if given.limit:
        rows = rows[:: max(1, len(rows) // given.limit)][: given.limit]
    from atomr_local.assistant.assistant import Assistant

    table: dict[str, Counter[str]] = defaultdict(Counter)
    seconds: dict[str, list[float]] = defaultdict(list)
    out = given.jsonl.open("w", encoding="utf-8") if given.jsonl else None
    with Assistant.open(
        model="starter", text_index="starter", graph_index="starter", sources=("text", "graph")
    ) as asked:
        asked.preload()
        for row in rows:
            started = time.perf_counter()
            trace = asked.answer(row["question"], strategy=given.strategy).trace
            took = time.perf_counter() - started
            answered = trace.status == "answered"
            good = right(row, trace)
            for kind in (row["kind"], "answerable" if row["answerable"] else "unanswerable"):
                table[kind].update({"n": 1, "right": good, "declined": not answered, "wrong": answered and not good})
                seconds[kind].append(took)
            if out is not None:
                line = row | {
                    "right": good, "answered": answered, "given": trace.answers, "quoted": quoted(trace),
                    "guess": trace.guess.answers if trace.guess else [], "about_given": sorted(about(trace)),
                    "reason": trace.reason, "origin": trace.plan.origin, "seconds": round(took, 2),
                    "steps": [node.question for node in trace.nodes],
                    "confidence": next((node.confidence for node in trace.nodes if node.parent is None), None),
                }  # fmt: skip
                out.write(json.dumps(line, ensure_ascii=False) + "\n")
                out.flush()
    print("kind                n  right  declined  wrong  median s")
    for kind in [*sorted(table.keys() - {"answerable", "unanswerable"}), "answerable", "unanswerable"]:
        if n := table[kind]["n"]:
            shares = " ".join(f"{100 * table[kind][key] / n:6.1f}" for key in ("right", "declined", "wrong"))
            print(f"{kind:16} {n:4} {shares}  {median(seconds[kind]):6.2f}")


if __name__ == "__main__":
    main()
