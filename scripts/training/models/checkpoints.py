"""The directory of a training run: a checkpoint that an interrupted run resumes from, and a log of the loss."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")


class Run:
    """A directory with `checkpoint.pt` and `log.jsonl`."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._checkpoint = folder / "checkpoint.pt"
        self._log = folder / "log.jsonl"

    def state(self) -> dict[str, Any] | None:
        """What was saved last; None in a new run."""
        import torch

        found: dict[str, Any] | None = None
        if self._checkpoint.exists():
            found = torch.load(self._checkpoint, weights_only=True)
        return found

    def save(self, state: dict[str, Any]) -> None:
        import torch

        partial = self._checkpoint.with_suffix(".partial")
        torch.save(state, partial)
        partial.replace(self._checkpoint)

    def log(self, entry: dict[str, Any]) -> None:
        with self._log.open("a") as stream:
            stream.write(json.dumps(entry) + "\n")
