"""A long day in one process: what earlier questions leave behind in memory, threads and open files."""

from __future__ import annotations

import gc
from pathlib import Path

import pytest
from support.script_loader import load_script
from support.tui.fake_assistant import FakeAssistant
from support.tui.screens import ask, done, until
from textual.pilot import Pilot
from textual.widget import Widget

from atomr_local.tui.app import AtomrApp

day = load_script("bench/long_day")


def living_widgets() -> int:
    gc.collect()
    return sum(isinstance(item, Widget) for item in gc.get_objects())


async def spend(app: AtomrApp, pilot: Pilot[None], questions: int) -> None:
    for _ in range(questions):
        await ask(pilot)
        await until(pilot, lambda: app.ask_screen.state.running is False and done(app))


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the figures are Linux's")
@pytest.mark.parametrize(("first", "more"), [(3, 4), (20, 180)])
async def test_questions_leave_no_thread_and_no_file_and_little_memory(first: int, more: int, own_home: Path) -> None:
    app = AtomrApp(FakeAssistant())
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: app._opened is not None)
        await spend(app, pilot, first)
        before, widgets = day.Held.now(), living_widgets()
        await spend(app, pilot, more)
        after = day.Held.now()
        assert after.threads <= before.threads + 2  # the pool's, up to its size
        assert after.files <= before.files + 2
        # A footer that bound its keys to itself, as Textual's does, kept 19 of them for each question.
        assert (living_widgets() - widgets) / more <= 4
        assert after.rss <= before.rss * 1.1


def test_what_a_day_leaves_behind_is_told() -> None:
    morning = day.Held(rss=800.0, heap=400.0, mapped=400.0, threads=6, files=30)
    assert day.left_behind(morning, morning, 900.0) == []
    evening = day.Held(rss=990.0, heap=590.0, mapped=400.0, threads=12, files=60)
    assert len(day.left_behind(morning, evening, 900.0)) == 4
