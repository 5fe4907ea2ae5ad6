#!/usr/bin/env python3
"""Fit the calibration of an adapter: how often an answer of a given confidence is right.

    scripts/calibrate.py --adapter models/adapters/NAME.gguf --set questions.jsonl:TEXT_INDEX … [--limit 50]

Answers the first questions of each set three times, by the tree (without a rival), by direct RAG and by what the model
reads in all that the tree's steps cite, and fits P(right) = logistic(…) as in `atomr_local/reasoning/rivals.py`, token
F1 being the share of being right. The result is written into the adapter's card. Use questions that the adapter was not
trained on and that nothing is reported on, such as scripts/training_questions/held_back.jsonl, of which those on
passages of the index are taken.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import shutil
import tempfile
from pathlib import Path
from typing import Any

from atomr_local.assistant import Assistant
from atomr_local.catalog.record import sha256_of
from atomr_local.evaluation.metrics import score_answer
from atomr_local.reasoning.events import Finished, PlanReady
from atomr_local.reasoning.trace import Trace
from atomr_local.settings import load_settings

# By this the tree is never sure and any rival stands, with a probability p that tells its confidence: p / (1 − p).
_RIVAL_STANDS = {"calibration": {"tree": [-60, 0], "direct": [0, 1], "cited": [0, 1], "sure": 1}}


def answered(assistant: Assistant, question: str, strategy: str) -> tuple[Trace, PlanReady | None]:
    ready = None
    for event in assistant.ask(question, strategy=strategy, sources=("text",)):
        if isinstance(event, PlanReady):
            ready = event
        if isinstance(event, Finished):
            return event.trace, ready
    raise AssertionError("a question ends with Finished")


def log(values: list[float]) -> Any:
    import numpy as np

    return np.log(np.maximum(np.array(values, dtype=float), 0.02))


def fit(features: Any, share: Any) -> Any:
    """Coefficients (constant first) of a regularised logistic regression on shares in 0 to 1."""
    import numpy as np
    from sklearn.linear_model import LogisticRegression

    x = np.vstack([features, features])
    y = np.concatenate([np.ones(len(share)), np.zeros(len(share))])
    weights = np.concatenate([share, 1 - share])
    model = LogisticRegression(C=1.0).fit(x[weights > 0], y[weights > 0], sample_weight=weights[weights > 0])
    return [float(model.intercept_[0]), *map(float, model.coef_[0])]


def with_card(adapter: Path, card: dict[str, Any], folder: Path) -> Path:
    """A copy of the adapter with another calibration."""
    copy = folder / adapter.name
    shutil.copyfile(adapter, copy)
    given = json.loads(adapter.with_suffix(".json").read_text("utf-8"))
    copy.with_suffix(".json").write_text(json.dumps(given | card), encoding="utf-8")
    return copy


def rivals_confidence(trace: Trace) -> float | None:
    """Of the answer read from cited evidence, in a trace by `_RIVAL_STANDS`; None where no such answer stands there."""
    cited = any(node.cited for node in trace.nodes if node.kind in {"search", "relate", "filter"})
    right = trace.confidence or 0.0
    # A tree without an answer is not rivalled: a guess of the model has its own confidence, above that of any rival.
    return right / (1 - right) if cited and 1e-6 < right <= 0.5 else None


def main() -> None:
    import numpy as np

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--adapter", type=Path, required=True)
    parser.add_argument("--set", action="append", required=True, metavar="QUESTIONS:INDEX")
    parser.add_argument("--limit", type=int, default=50)
    parser.add_argument(
        "--rows", type=Path, help="keep what was measured here; rows that are there are not asked again"
    )
    given = parser.parse_args()
    rows: list[dict[str, Any]] = []
    if given.rows and given.rows.exists():
        rows = [json.loads(line) for line in given.rows.read_text("utf-8").splitlines()]
    known = {row["question"] for row in rows}
    for item in given.set:
        path, index = item.rsplit(":", 1)
        settings = load_settings(adapter=str(given.adapter), text_index=index, means={"rival": False})
        records = [json.loads(line) for line in Path(path).read_text("utf-8").splitlines() if line.strip()]
        records = [r for r in records if r.get("corpus", index) == index][: given.limit]
        with contextlib.ExitStack() as stack:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            adapter = str(with_card(given.adapter, _RIVAL_STANDS, folder))
            forced = load_settings(adapter=adapter, text_index=index, means={"guess": False})
            assistant, rivalled = (stack.enter_context(Assistant.open(each)) for each in (settings, forced))
            for record in records:
                if record["question"] in known:
                    continue
                gold = record.get("answers") or [record["answer"]]
                trace, ready = answered(assistant, record["question"], "atomr")
                direct, _ = answered(assistant, record["question"], "rag")
                rival, _ = answered(rivalled, record["question"], "atomr")
                assert ready is not None
                row = {
                    "set": index,
                    "question": record["question"],
                    "leaves": trace.node(0).signals.get("leaves"),
                    "plan": ready.confidence,
                    "tree_f1": score_answer(", ".join(trace.answers), gold).f1,
                    "direct": direct.confidence,
                    "direct_f1": score_answer(", ".join(direct.answers), gold).f1,
                    "cited": rivals_confidence(rival),
                    "cited_f1": score_answer(", ".join(rival.answers), gold).f1,
                }
                rows.append(row)
                print(json.dumps(row), flush=True)
                if given.rows:
                    with given.rows.open("a", encoding="utf-8") as stream:
                        stream.write(json.dumps(row) + "\n")
    planned = [r for r in rows if r["plan"] is not None]  # the others were answered by direct RAG
    tree = fit(log([r["leaves"] for r in planned])[:, None], np.array([r["tree_f1"] for r in planned]))
    told = [r for r in rows if r["direct"]]
    direct_fit = fit(log([r["direct"] for r in told])[:, None], np.array([r["direct_f1"] for r in told]))
    read = [r for r in rows if r["cited"]]
    cited_fit = fit(log([r["cited"] for r in read])[:, None], np.array([r["cited_f1"] for r in read]))
    card_path = given.adapter.with_suffix(".json")
    card = json.loads(card_path.read_text("utf-8"))
    card["calibration"] = {
        "tree": [round(value, 3) for value in tree],
        "direct": [round(value, 3) for value in direct_fit],
        "cited": [round(value, 3) for value in cited_fit],
        "sure": card.get("calibration", {}).get("sure", 0.5),
        "questions": len(rows),
    }
    card["sha256"] = sha256_of(given.adapter)
    card_path.write_text(json.dumps(card, indent=1) + "\n", encoding="utf-8")
    print(card["calibration"])


if __name__ == "__main__":
    main()
