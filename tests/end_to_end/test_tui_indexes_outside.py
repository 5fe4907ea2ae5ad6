"""Another process removes the index in use, and builds it again, while the UI is open: no restart is needed."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from support.tui.screens import ask, done, screen_text, until
from textual.pilot import Pilot

from atomr_local import Assistant
from atomr_local.reasoning.trace.schema import Trace
from atomr_local.tui.app import AtomrApp

QUESTION = "Who wrote Quillmoor?"


def atomr(*arguments: str | Path) -> None:
    """Run the command in a process of its own."""
    command = [sys.executable, "-m", "atomr_local", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def write(file: Path, *rows: dict[str, Any]) -> Path:
    file.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    return file


def build(kind: str, folder: Path, writer: str) -> None:
    """An index of one book, by this writer."""
    text = f"Quillmoor is a novel of 1851. It was written by {writer}."
    article = {"id": "quillmoor", "title": "Quillmoor", "text": text}
    fact = {"s": "Quillmoor", "s_qid": "Q990000017", "p": "author", "p_id": "P50", "o": writer, "o_type": "entity"}
    file = write(folder / f"{kind}.jsonl", article if kind == "text" else fact)
    atomr(kind, "build", file, "--name", "mine")


@pytest.mark.parametrize("kind", ["text", "graph"])
async def test_removed_and_built_again_by_another_process(kind: str, built_home: Path) -> None:
    build(kind, built_home, "Herman Melville")

    async def asked(pilot: Pilot[None], app: AtomrApp) -> tuple[Trace, str]:
        before = app.ask_screen.state.trace
        await ask(pilot, QUESTION)
        await until(pilot, lambda: done(app) and app.ask_screen.state.trace not in (None, before))
        await pilot.pause(0.2)
        trace = app.ask_screen.state.trace
        assert trace is not None
        return trace, " ".join(item.text for item in trace.evidence if item.source == kind)

    with Assistant.open(**{f"{kind}_index": "mine"}) as assistant:
        app = AtomrApp(assistant)
        async with app.run_test(size=(120, 40)) as pilot:
            await until(pilot, lambda: app.ask_screen.widgets_mounted and app.ask_screen.loading_stage == "")
            _, found = await asked(pilot, app)
            assert "Herman Melville" in found

            # Removed: its source is left out with a word, the other one goes on.
            atomr("indexes", "remove", kind, "mine", "--yes")
            trace, found = await asked(pilot, app)
            assert trace.status not in {"failed", "cancelled"}
            assert not found
            assert any(f"no {kind} index named 'mine'" in warning for warning in trace.warnings), trace.warnings

            # Built again with another content: that is what is found.
            build(kind, built_home, "Nathaniel Hawthorne")
            trace, found = await asked(pilot, app)
            assert "Nathaniel Hawthorne" in found
            assert not any("mine" in warning for warning in trace.warnings), trace.warnings

            # Removed and built between two questions: nothing of the old one is used.
            atomr("indexes", "remove", kind, "mine", "--yes")
            build(kind, built_home, "Emily Dickinson")
            trace, found = await asked(pilot, app)
            assert "Emily Dickinson" in found
            assert "Hawthorne" not in found
            assert trace.status not in {"failed", "cancelled"}
            assert "Traceback" not in screen_text(app)
