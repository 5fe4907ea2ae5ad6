"""A long day in one process: what earlier questions leave behind in memory, threads and open files."""

from __future__ import annotations

import gc
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from support.script_loader import load_script
from support.tui.screens import ask, done, opened, until
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
@pytest.mark.parametrize(("first", "more"), [(3, 4), pytest.param(20, 180, marks=pytest.mark.nightly)])
async def test_questions_leave_no_thread_and_no_file_and_little_memory(first: int, more: int, own_home: Path) -> None:
    async with opened() as (app, pilot):
        await spend(app, pilot, first)
        before, widgets = day.Held.now(), living_widgets()
        await spend(app, pilot, more)
        after = day.Held.now()
        assert day.left_behind(before, after, most=float("inf")) == []
        # A footer that bound its keys to itself, as Textual's does, kept 19 of them for each question.
        assert (living_widgets() - widgets) / more <= 4


def test_what_a_day_leaves_behind_is_told() -> None:
    begun = {"MainThread": 1, "asyncio": 2}
    morning = day.Held(800.0, 400.0, 400.0, Counter(begun), Counter({"socket": 7, "/i/names.sqlite": 1}))
    assert day.left_behind(morning, morning, 900.0) == []
    noon = replace(
        morning, threads=Counter(begun | {"asyncio": 5, "atomr-words": 4}), files=Counter({"/i/names.sqlite": 4})
    )
    assert day.left_behind(morning, noon, 900.0) == [], "pools are filled up to their size"
    threads, files = Counter(begun | {"atomr-words": 5, "Thread-7": 1}), Counter({"socket": 8, "/i/names.sqlite": 5})
    evening = day.Held(990.0, 590.0, 400.0, threads, files)
    assert day.left_behind(morning, evening, 900.0) == [
        "memory grew from 800 to 990 MiB",
        "990 MiB are resident, 900 at most are wanted",
        "1 threads of Thread-7, 0 at the beginning",
        "5 threads of atomr-words, 0 at the beginning",
        "5 open files of /i/names.sqlite, 1 at the beginning",
        "8 open files of socket, 7 at the beginning",
    ]
