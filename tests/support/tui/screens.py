"""What tests of the terminal UI do with its screens: ask, wait, and read what a terminal would show."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from textual.containers import VerticalScroll
from textual.pilot import Pilot
from textual.widgets import Label

from atomr_local.tui.app import AtomrApp
from atomr_local.tui.widgets.question_box import QuestionBox
from support.tui.fake_assistant import QUESTION, FakeAssistant

# Of a terminal. The fast part of the tests is made at the smallest, where there is the least room.
SMALL = (80, 24)
SIZES = [SMALL, pytest.param((160, 48), marks=pytest.mark.slow)]
ALL_SIZES = [SMALL, *(pytest.param(size, marks=pytest.mark.slow) for size in ((120, 40), (200, 50)))]


def screen_text(app: AtomrApp) -> str:
    """What a terminal would show, line by line."""
    width, height = app.size
    strips = app.screen._compositor.render_strips()
    return "\n".join("".join(segment.text for segment in strip).ljust(width) for strip in strips[:height])


async def until(pilot: Pilot[None], holds: Callable[[], bool], seconds: float = 120.0, *, every: float = 0.01) -> None:
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline, "it did not happen in time"
        await pilot.pause(every)
    await pilot.pause()


def check_labels(app: AtomrApp) -> None:
    """Every label of the window has room for all that it says."""
    labels = [label for label in app.screen.query(Label) if label.display]
    assert labels
    for label in labels:
        said = str(label.content)
        assert label.size.width * label.size.height >= len(said), said
        assert label.parent is not None
        assert label.region.right <= app.screen.query(VerticalScroll).first().content_region.right, said


async def ask(pilot: Pilot[None], question: str = QUESTION) -> None:
    """Ask the question, and go to its steps, where letters are keys."""
    app = pilot.app
    app.query_one(QuestionBox).value = question
    app.query_one(QuestionBox).focus()
    await pilot.press("enter")
    if app.ask_screen.has_question:
        app.ask_screen.action_focus_tree()


def done(app: AtomrApp) -> bool:
    return app.ask_screen.state.answer is not None and not app.ask_screen.state.running


@asynccontextmanager
async def opened(
    assistant: FakeAssistant | None = None, *, size: tuple[int, int] = SMALL, **options: Any
) -> AsyncIterator[tuple[AtomrApp, Pilot[None]]]:
    """The program with this assistant, once it has loaded."""
    app = AtomrApp(assistant or FakeAssistant())
    async with app.run_test(size=size, **options) as pilot:
        await until(pilot, lambda: app.ask_screen.widgets_mounted and app.ask_screen.loading_stage in {"", "not ready"})
        yield app, pilot


@asynccontextmanager
async def answered(
    assistant: FakeAssistant | None = None, *, size: tuple[int, int] = SMALL, **options: Any
) -> AsyncIterator[tuple[AtomrApp, Pilot[None]]]:
    """The program once it has answered the question, with the focus on its steps."""
    async with opened(assistant, size=size, **options) as (app, pilot):
        await ask(pilot)
        await until(pilot, lambda: done(app))
        yield app, pilot


@asynccontextmanager
async def asking(
    assistant: FakeAssistant | None = None, *, size: tuple[int, int] = SMALL, **options: Any
) -> AsyncIterator[tuple[AtomrApp, Pilot[None]]]:
    """The program while it answers the question: the plan is there, and the assistant is held back."""
    async with opened(assistant, size=size, **options) as (app, pilot):
        await ask(pilot)
        await until(pilot, lambda: bool(app.ask_screen.state.nodes))
        yield app, pilot
