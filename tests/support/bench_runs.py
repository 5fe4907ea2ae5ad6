"""Runs of `atomr eval run` made up for the benchmarks' tests."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any


def write_run(directory: Path, predictions: Sequence[dict[str, Any]]) -> Path:
    """A run whose predictions have these fields; the others are made up."""
    directory.mkdir(parents=True)
    (directory / "run.json").write_text(json.dumps({"questions": {}, "plans": None, "settings": {"strategy": "atomr"}}))
    lines = [
        {"id": f"q{i}", "question": f"Q{i}?", "predicted": "", "gold": ["Ann"], "seconds": 2.0, **given}
        for i, given in enumerate(predictions)
    ]
    (directory / "predictions.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    (directory / "traces.jsonl").write_text("")
    return directory


def told(confidence: float, right: bool, **fields: Any) -> dict[str, Any]:
    """A prediction that answers."""
    return {"predicted": "Ann" if right else "Eve", "confidence": confidence, **fields}


def declined(confidence: float, right: bool, **fields: Any) -> dict[str, Any]:
    """A prediction that only guesses."""
    return {"guess": "Ann" if right else "Eve", "confidence": confidence, **fields}
