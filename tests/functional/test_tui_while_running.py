"""Asking while a question runs, and keys that do nothing now."""

from __future__ import annotations

import pytest
from support.tui.fake_assistant import QUESTION, FakeAssistant
from support.tui.screens import ask, done, opened, screen_text, until
from textual.pilot import Pilot

from atomr_local.assistant.history.pending import notes_folder
from atomr_local.tui.app import AtomrApp
from atomr_local.tui.screens.ask.windows import BusyScreen
from atomr_local.tui.widgets.question_box import QuestionBox

SECOND = "Who wrote Emma?"


def notices(app: AtomrApp) -> str:
    """What is told in passing."""
    return " ".join(notice.message for notice in app._notifications)


async def second_question(pilot: Pilot[None], fake: FakeAssistant) -> None:
    """Ask one, and another while it runs."""
    app = pilot.app
    await until(pilot, lambda: app.ask_screen.widgets_mounted and app.ask_screen.loading_stage == "")
    await ask(pilot)
    await until(pilot, lambda: bool(app.ask_screen.state.nodes))
    await pilot.press("ctrl+l", *SECOND, "enter")
    await until(pilot, lambda: isinstance(app.screen, BusyScreen))
    assert QUESTION in " ".join(screen_text(app).split())
    assert fake.questions == [QUESTION]


async def test_a_question_is_stored_when_it_is_asked_so_that_a_kill_during_planning_keeps_it() -> None:
    fake = FakeAssistant(hold=1)  # before anything of the plan is there
    async with opened(fake) as (app, pilot):
        await ask(pilot)
        await until(pilot, lambda: fake.questions == [QUESTION])
        (note,) = notes_folder().iterdir()
        assert QUESTION in note.read_text("utf-8")
        fake.released.set()
        await until(pilot, lambda: done(app))


async def test_a_second_question_waits_for_the_first() -> None:
    fake = FakeAssistant(hold=6)
    async with opened(fake) as (app, pilot):
        await second_question(pilot, fake)
        await pilot.press("a")
        await until(pilot, lambda: "1 waiting" in screen_text(app).splitlines()[0])
        assert app.query_one(QuestionBox).value == "", "the next one can be typed"
        await pilot.press(*"Third")
        fake.released.set()
        await until(pilot, lambda: fake.questions == [QUESTION, SECOND] and done(app))
        assert app.query_one(QuestionBox).value == "Third", "what is typed meanwhile stays"
        assert app.focused is app.query_one(QuestionBox)
        assert [turn.trace.status for turn in app.ask_screen.conversation.turns] == ["answered", "answered"]
        assert "waiting" not in screen_text(app).splitlines()[0]


async def test_a_second_question_stops_the_first() -> None:
    fake = FakeAssistant(hold=6)
    async with opened(fake) as (app, pilot):
        await second_question(pilot, fake)
        fake.hold = None
        await pilot.press("s")
        await until(pilot, lambda: fake.questions == [QUESTION, SECOND] and done(app))
        assert [turn.trace.status for turn in app.ask_screen.conversation.turns] == ["cancelled", "answered"]


@pytest.mark.parametrize("ended", [False, True])
async def test_going_back_leaves_the_second_in_the_box(ended: bool) -> None:
    fake = FakeAssistant(hold=6)
    async with opened(fake) as (app, pilot):
        await second_question(pilot, fake)
        if ended:  # the first comes to its end while the window is open
            fake.released.set()
            await until(pilot, lambda: done(app))
        await pilot.press("a" if ended else "escape")
        await until(pilot, lambda: app.screen is app.ask_screen)
        if ended:
            await until(pilot, lambda: fake.questions == [QUESTION, SECOND])
        else:
            assert app.query_one(QuestionBox).value == SECOND
            assert app.ask_screen.state.running
            fake.released.set()


async def test_escape_stops_and_gives_the_waiting_one_back() -> None:
    fake = FakeAssistant(hold=6)
    async with opened(fake, notifications=True) as (app, pilot):
        await second_question(pilot, fake)
        await pilot.press("a")
        await until(pilot, lambda: app.screen is app.ask_screen)
        await pilot.press("escape")
        await until(pilot, lambda: done(app))
        assert app.query_one(QuestionBox).value == SECOND
        await until(pilot, lambda: "The waiting question was not asked." in notices(app))
        assert fake.questions == [QUESTION]


@pytest.mark.parametrize(
    ("key", "running", "told"),
    [
        ("p", True, "A question is being answered. Escape stops it."),
        ("e", True, "A question is being answered. Escape stops it."),
        ("r", True, "A question is being answered. Escape stops it."),
        ("ctrl+n", True, "A question is being answered. Escape stops it."),
        ("c", False, "Ask a question first."),
        ("enter", False, "Type a question first."),
    ],
)
async def test_a_key_that_does_nothing_now_says_why(key: str, running: bool, told: str) -> None:
    fake = FakeAssistant(hold=6)
    async with opened(fake, notifications=True) as (app, pilot):
        if running:
            await ask(pilot)
            await until(pilot, lambda: bool(app.ask_screen.state.nodes))
        elif key != "enter":
            app.ask_screen.set_focus(None)
        await pilot.press(key)
        await until(pilot, lambda: told in notices(app))
        assert app.screen is app.ask_screen
        assert len(fake.questions) == running
        fake.released.set()
