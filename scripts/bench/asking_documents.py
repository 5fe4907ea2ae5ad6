#!/usr/bin/env python3
"""How well questions over people's own documents are answered, by kind.

    scripts/bench/asking_documents.py --questions scripts/training_questions/documents_dev.jsonl --documents FOLDER
        [--collections DATA/collections] [--limit N] [--strategy NAME] [--adapter NAME] [--jsonl OUT]

Builds an index of FOLDER (and one of each collection that a question's `file` begins with) in a temporary home, words
first, and asks each question of the index of its documents. A line of the questions is {"question", "kind", "file",
"quote", "answers", "also"}: `quote` is the text of `file` that answers, `answers` the short answers.

- right: a short answer has a token F1 of at least 0.6 with one of the answers, or the quotation covers it; a quotation
  has a token F1 of at least 0.5 with `quote`, or holds at least 0.6 of it in at most four times its words.
- shown: the answer's quotes or the closest passages hold at least half of the words of `quote`, in its file.
- declined: no answer is given. Questions without an answer (kind `n`) are right if they are declined.

Prints a table by kind, with the median seconds. Nothing is fitted on these questions.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from pathlib import Path
from statistics import median
from typing import Any

from atomr_local.reasoning.trace.schema import Trace

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from training.grading import QUOTED, is_right, quoted, share

ROOT = Path(__file__).resolve().parents[2]
_KINDS = {
    "h": "how to", "w": "why", "d": "what is", "i": "what if", "m": "who may, rules", "u": "what does it say",
    "f": "fact", "l": "list", "y": "yes or no", "t": "two at once", "n": "not there", "c": "whole collection",
}  # fmt: skip


def is_shown(row: dict[str, Any], trace: Trace) -> bool:
    by_id = {item.id: item for item in trace.evidence}
    told = {quote["evidence"] for node in trace.nodes for quote in node.quotes} if trace.status == "answered" else set()
    told |= {one["evidence"] for one in trace.closest}
    told |= {item for node in trace.nodes if node.parent is None and trace.status == "answered" for item in node.cited}
    of_file = [by_id[item] for item in told if item in by_id and by_id[item].locator.get("file") == row["path"]]
    return share(row["quote"], " ".join(item.text for item in of_file)) >= 0.5


def build(folder: Path, name: str, home: Path) -> None:
    environment = os.environ | {"ATOMR_HOME": str(home), "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "atomr_local", "text", "build", str(folder), "--name", name, "--vectors", "later"]
    subprocess.run(command, env=environment, check=True, capture_output=True)
    subprocess.run(
        [sys.executable, "-m", "atomr_local", "text", "embed", name], env=environment, check=True, capture_output=True
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--questions", type=Path, nargs="+", required=True)
    parser.add_argument("--documents", type=Path, required=True)
    parser.add_argument("--collections", type=Path)
    parser.add_argument("--home", type=Path, help="kept; what is built there already is used again")
    parser.add_argument("--limit", type=int, default=0)
    parser.add_argument("--strategy", default="atomr")
    parser.add_argument("--adapter", default="")
    parser.add_argument("--accept", type=float, help="the lowest confidence of an answer, instead of the card's")
    parser.add_argument("--jsonl", type=Path, help="write a line for each question, with its trace's signals")
    given = parser.parse_args()
    rows = [json.loads(line) for path in given.questions for line in path.read_text("utf-8").splitlines() if line]
    if given.limit:
        rows = rows[:: max(1, len(rows) // given.limit)][: given.limit]
    home = given.home or Path(tempfile.mkdtemp(prefix="atomr-asking-"))
    home.mkdir(parents=True, exist_ok=True)
    os.environ["ATOMR_HOME"] = str(home)
    folders = {"own": given.documents}
    for row in rows:
        top = row["file"].split("/")[0] if row["file"] else row.get("collection", "own")
        collection = given.collections / top if given.collections else None
        row["index"] = top if collection is not None and collection.is_dir() else "own"
        row["path"] = row["file"].removeprefix(f"{row['index']}/")
        if row["index"] != "own":
            folders[row["index"]] = collection
    from atomr_local.assistant.assistant import Assistant

    out = given.jsonl.open("w", encoding="utf-8") if given.jsonl else None
    table: dict[str, Counter[str]] = defaultdict(Counter)
    seconds: dict[str, list[float]] = defaultdict(list)
    extra = {"adapter": given.adapter} if given.adapter else {}
    for name, folder in folders.items():
        mine = [row for row in rows if row["index"] == name]
        if not mine:
            continue
        if not (home / "indexes" / "text" / name).is_dir():
            build(folder, name, home)
        with Assistant.open(text_index=name, sources=("text",), **extra) as assistant:
            assistant.preload()
            for row in mine:
                started = time.perf_counter()
                trace = assistant.answer(row["question"], strategy=given.strategy).trace
                took = time.perf_counter() - started
                answered = trace.status == "answered"
                shown = quoted(trace)
                guess = trace.answers if answered else (trace.guess.answers if trace.guess else [])
                is_there = row["kind"] != "n"
                right = is_there and is_right(row, trace.answers, shown)
                told = {
                    "n": 1, "answered": answered, "right": right or not (is_there or answered),
                    "guess right": is_there and is_right(row, guess, shown),
                    "wrong": answered and not right,
                    "declined": not answered, "shown": row["kind"] not in "nc" and is_shown(row, trace),
                }  # fmt: skip
                table[row["kind"]].update({key: int(value) for key, value in told.items()})
                seconds[row["kind"]].append(took)
                if out is not None:
                    root = next(node for node in trace.nodes if node.parent is None) if trace.nodes else None
                    line = {k: row[k] for k in ("question", "kind", "file", "quote", "answers")} | told | {
                        "given": guess, "confidence": root.confidence if root else None, "seconds": round(took, 2),
                        "signals": root.signals if root else {}, "origin": trace.plan.origin, "reason": trace.reason,
                    }  # fmt: skip
                    out.write(json.dumps(line, ensure_ascii=False) + "\n")
                    out.flush()
    print("kind               n  right  guess  shown  declined  wrong  median s")
    groups = {name: [kind] for kind, name in _KINDS.items()}
    groups |= {"by quotation": sorted(QUOTED), "answerable": [k for k in _KINDS if k not in "nc"], "all": list(_KINDS)}
    for name, kinds in groups.items():
        total: Counter[str] = sum((table[kind] for kind in kinds), Counter())
        times = [one for kind in kinds for one in seconds[kind]]
        if n := total["n"]:
            parts = (total[key] / n for key in ("right", "guess right", "shown", "declined", "wrong"))
            print(f"{name:16} {n:4} " + " ".join(f"{100 * part:6.1f}" for part in parts) + f"  {median(times):6.2f}")


if __name__ == "__main__":
    main()
