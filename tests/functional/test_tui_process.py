"""Correcting the steps of an answer that used tools, and keeping them as a worked process."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.tui.screens import screen_text, until
from textual.app import App
from textual.widgets import TextArea

from atomr_local.errors import InputError
from atomr_local.strategies.processes.process import TOOLS, Process, read_processes, shipped
from atomr_local.system import paths
from atomr_local.tui.question.state import LEAVE_A_PROCESS
from atomr_local.tui.screens.ask.plan_editor import ProcessEditor


class Editing(App[None]):
    def __init__(self) -> None:
        super().__init__()
        self.done: list[Process] = []
        self.left: bool | None = None

    def on_mount(self) -> None:
        def left(kept: bool | None) -> None:
            self.left = kept

        self.push_screen(ProcessEditor(shipped()[0], self.do_again, lambda: None), left)

    def do_again(self, process: Process) -> Process:
        self.done.append(process)
        if process.answer == "Bob":
            raise InputError("the process does not hold: step 2")
        return process


@pytest.fixture(autouse=True)
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("ATOMR_HOME", str(tmp_path))


def test_whose_steps_can_be_kept() -> None:
    assert set(TOOLS) == LEAVE_A_PROCESS


async def test_a_corrected_process_is_done_again_and_kept() -> None:
    app = Editing()
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: "✓ 6 steps" in screen_text(app))
        area = app.screen.query_one(TextArea)
        area.load_text("hello")
        await until(pilot, lambda: "✗ line 1 begins with none of" in screen_text(app))
        await pilot.press("ctrl+s")
        assert app.done == [], "what is no process is not kept"
        area.load_text(shipped()[0].as_text().replace("Answer: Jane Austen", "Answer: Bob"))
        await until(pilot, lambda: "✓ 6 steps" in screen_text(app))
        await pilot.press("ctrl+s")
        await until(pilot, lambda: "✗ the process does not hold: step 2" in screen_text(app))
        area.load_text(shipped()[0].as_text().replace("I run it.", "I run \x1b[31mit."))
        await until(pilot, lambda: "✓ 6 steps" in screen_text(app))
        await pilot.press("ctrl+s")
        await until(pilot, lambda: app.left is True)
    [kept], _ = read_processes(paths.processes_file())
    assert kept.question == shipped()[0].question and "\x1b" not in kept.as_text()


async def test_leaving_a_changed_process_is_asked_about() -> None:
    app = Editing()
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: "✓ 6 steps" in screen_text(app))
        app.screen.query_one(TextArea).insert("# x\n")
        await pilot.press("escape")
        await until(pilot, lambda: "Leave without keeping?" in screen_text(app))
