"""The terminal UI of the real program in a real terminal: tmux, with a server of its own for each test."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

needs_tmux = pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed")
# Facts alone: a step that is looked up there needs no reading by the model.
GRAPH_ONLY = {"ATOMR_SOURCES": '["graph"]'}
START = 150.0  # seconds to load the model and the indexes, on a machine that has much else to do
STEP = 120.0


class Terminal:
    """The program at work in `home`; files that it writes by name alone go there too."""

    def __init__(
        self,
        home: Path,
        settings: Mapping[str, str] = GRAPH_ONLY,
        *,
        width: int = 120,
        height: int = 36,
        program: str = f"{sys.executable} -m atomr_local",
    ) -> None:
        self._socket = f"atomr-test-{uuid.uuid4().hex[:8]}"
        # Workers of xdist may have a size of their own in COLUMNS and LINES; here the terminal's counts.
        left_out = ("ATOMR_", "TMUX", "COLUMNS", "LINES")
        environment = {name: value for name, value in os.environ.items() if not name.startswith(left_out)}
        environment |= {
            "ATOMR_HOME": str(home),
            "TERM": "xterm-256color",
            "ATOMR_UI__FIRST_RUN_DONE": "true",
            **settings,
        }
        # The terminal's own bytes go to a file as well, from the first one on: it waits until they are caught.
        self.bytes_file = home / "terminal.bytes"
        command = f"while ! test -e {self.bytes_file}; do sleep 0.02; done; exec {program}"
        self._tmux("new-session", "-d", "-s", "ui", "-x", str(width), "-y", str(height), "-c", str(home), command,
                   environment=environment)  # fmt: skip
        self._tmux("pipe-pane", "-t", "ui", f"cat > {self.bytes_file}")

    def _tmux(self, *arguments: str, environment: dict[str, str] | None = None) -> str:
        done = subprocess.run(
            ["tmux", "-L", self._socket, "-f", "/dev/null", *arguments],
            capture_output=True, text=True, env=environment, check=False,
        )  # fmt: skip
        return done.stdout

    def keys(self, *keys: str) -> None:
        self._tmux("send-keys", "-t", "ui", *keys)

    def type(self, text: str) -> None:
        self._tmux("send-keys", "-t", "ui", "-l", text)

    def screen(self, *, styles: bool = False) -> str:
        return self._tmux("capture-pane", "-p", *(["-e"] if styles else []), "-t", "ui")

    def flags(self) -> str:
        """Whether the alternate screen is shown, and whether the mouse is reported: two digits."""
        return self._tmux("display-message", "-p", "-t", "ui", "#{alternate_on} #{mouse_any_flag}").strip()

    def alive(self) -> bool:
        return bool(self._tmux("list-sessions"))

    def wait_for(self, *texts: str, seconds: float = STEP) -> str:
        """The screen, as soon as one of the texts stands on it."""
        return self.wait_until(lambda screen: any(text in screen for text in texts), f"none of {texts} came", seconds)

    def wait_until(self, holds: Callable[[str], bool], told: str, seconds: float = STEP) -> str:
        """The screen, as soon as it is so and, where it stays so, painted to its end."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            screen = self.screen()
            if holds(screen):
                screen = self._painted(screen, holds)
                assert "Traceback" not in screen
                return screen
            time.sleep(0.05)
        raise AssertionError(f"{told}:\n{self.screen()}")

    def _painted(self, screen: str, holds: Callable[[str], bool]) -> str:
        """The screen once it stands still: widgets are painted one after the other. At most a second, for what keeps moving."""
        for _ in range(10):
            time.sleep(0.1)
            later = self.screen()
            if later == screen or not holds(later):
                return screen
            screen = later
        return screen

    def ready(self) -> str:
        return self.wait_for(" ready ", seconds=START)

    def answered(self) -> str:
        """The screen once the question that is running has come to its end."""
        return self.wait_until(
            lambda screen: " ready " in screen and "Rests on " in screen.partition("─ Answer ─")[2],
            "the question was not answered",
            START,
        )

    def quit(self) -> None:
        self.keys("C-q")
        deadline = time.monotonic() + STEP
        while self.alive():
            assert time.monotonic() < deadline, f"it did not end:\n{self.screen()}"
            time.sleep(0.05)

    def close(self) -> None:
        self._tmux("kill-server")
