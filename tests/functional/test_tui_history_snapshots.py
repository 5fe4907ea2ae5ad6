"""How the history's windows look: the list, whose preview is beside it or below it, at three sizes; the others at the smallest."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.tui.history_list import QUESTIONS, Bare, keep
from support.tui.screens import ALL_SIZES, SMALL, screen_text, until
from textual.pilot import Pilot

from atomr_local.tui.screens.dialogs import Confirm
from atomr_local.tui.screens.history.export import ExportScreen


@pytest.fixture(autouse=True)
def utc(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


async def listed(pilot: Pilot[None]) -> None:
    app: Any = pilot.app
    await until(pilot, lambda: "Citations" in screen_text(app))


@pytest.mark.parametrize("size", ALL_SIZES)
def test_the_list_with_its_preview(snap_compare: Any, size: tuple[int, int]) -> None:
    keep(*QUESTIONS)
    assert snap_compare(Bare(), terminal_size=size, run_before=listed)


def test_an_empty_history(snap_compare: Any) -> None:
    async def empty(pilot: Pilot[None]) -> None:
        app: Any = pilot.app
        await until(pilot, lambda: "No questions yet." in screen_text(app))

    assert snap_compare(Bare(), terminal_size=SMALL, run_before=empty)


def test_asking_before_deleting(snap_compare: Any) -> None:
    async def asked(pilot: Pilot[None]) -> None:
        await listed(pilot)
        await pilot.press("d")
        await until(pilot, lambda: isinstance(pilot.app.screen, Confirm))

    keep(*QUESTIONS)
    assert snap_compare(Bare(), terminal_size=SMALL, run_before=asked)


def test_the_export(snap_compare: Any, tmp_path: Path) -> None:
    async def opened(pilot: Pilot[None]) -> None:
        await listed(pilot)
        await pilot.press("s")
        await until(pilot, lambda: isinstance(pilot.app.screen, ExportScreen))
        pilot.app.set_focus(pilot.app.screen.query_one("#cancel"))  # no blinking cursor
        await pilot.pause()

    keep(*QUESTIONS)
    assert snap_compare(Bare(tmp_path), terminal_size=SMALL, run_before=opened)
