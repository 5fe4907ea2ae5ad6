"""Asking again with another strategy, and the answers side by side."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from support.grown_steps import GROWN_QUESTION, grown_events, grown_trace
from support.tui.fake_assistant import FakeAssistant
from support.tui.hostile import assert_harmless, hostile
from support.tui.screens import SIZES, answered, ask, asking, done, opened, screen_text, until
from textual.pilot import Pilot
from textual.widgets import DataTable

from atomr_local.assistant.history.store import History
from atomr_local.reasoning.trace.schema import Trace
from atomr_local.tui.app import AtomrApp
from atomr_local.tui.keys import COMPARE
from atomr_local.tui.screens.ask.compare import CompareScreen


def assistant(strategy: str = "cot") -> FakeAssistant:
    return FakeAssistant(grown_events(strategy=strategy), trace=grown_trace(strategy=strategy))


async def compared(pilot: Pilot[None]) -> None:
    await pilot.press(COMPARE)
    await until(pilot, lambda: isinstance(pilot.app.screen, CompareScreen))
    await pilot.app.workers.wait_for_complete()
    await until(pilot, lambda: "closed-book" in screen_text(pilot.app))


def row(app: AtomrApp, strategy: str) -> str:
    """The line of the strategy, its blanks folded."""
    left = app.screen.query_one(DataTable).region.x
    rows = [" ".join(line[left:].strip("│ ▸").split()) for line in screen_text(app).splitlines()]
    return next((line for line in rows if line.startswith(f"{strategy} ")), "")


async def choose(pilot: Pilot[None], strategy: str) -> None:
    screen = pilot.app.screen
    assert isinstance(screen, CompareScreen)
    screen.query_one(DataTable).move_cursor(row=screen._names.index(strategy))
    await pilot.pause()


@pytest.mark.parametrize("size", SIZES)
async def test_another_strategy_answers_stands_beside_the_first_and_either_can_be_gone_on_from(
    size: tuple[int, int],
) -> None:
    fake = assistant()
    async with answered(fake, size=size) as (app, pilot):
        await compared(pilot)
        first = app.ask_screen.state.trace
        assert row(app, "cot").startswith("cot Vienna well supported 2 0 0.0")
        assert row(app, "rag").startswith("rag – – – – –")
        await choose(pilot, "rag")
        assert "Not asked yet. Enter asks" in screen_text(app)
        fake.events, fake.trace = grown_events(strategy="rag"), grown_trace(strategy="rag")
        await pilot.press("enter")
        await until(pilot, lambda: len(fake.questions) == 2 and done(app))
        assert fake.questions == [GROWN_QUESTION] * 2
        assert fake.extras[-1]["strategy"] == "rag"
        assert len(app.ask_screen.conversation.turns) == 1, "it takes the place of the first answer"
        told = [note.message for note in app._notifications]
        assert told == [f"rag has answered. Esc, then {COMPARE} compares it with cot."]
        await compared(pilot)
        assert row(app, "cot").startswith("cot Vienna well supported")
        assert row(app, "rag").startswith("rag Vienna well supported")
        await choose(pilot, "cot")
        await pilot.press("enter")
        await until(pilot, lambda: app.ask_screen.state.trace is first)
        assert [turn.trace for turn in app.ask_screen.conversation.turns] == [first]
        assert len(fake.questions) == 2


async def test_a_strategy_that_has_answered_can_be_asked_again() -> None:
    fake = assistant()
    async with answered(fake) as (_, pilot):
        await compared(pilot)
        await pilot.press("r")
        await until(pilot, lambda: len(fake.questions) == 2)
        assert fake.extras[-1]["strategy"] == "cot"


async def test_answers_of_the_history_stand_beside_those_of_this_run() -> None:
    other = grown_trace(strategy="closed-book")
    other.answers = ["Graz"]
    unlike = Trace("Where was the director of Metropolis, Illinois born?", "atomr", {}, "answered", "Rome", ["Rome"])
    with History.open() as history:
        for trace in (other, unlike):
            history.record(trace, asked_at=datetime(2026, 1, 2, tzinfo=UTC))
    async with answered(assistant()) as (app, pilot):
        await compared(pilot)
        await until(pilot, lambda: "Graz" in row(app, "closed-book"))
        assert row(app, "atomr").startswith("atomr –")


async def test_the_palette_offers_it_once_there_is_an_answer() -> None:
    title = "Ask again with another strategy, and compare the answers"
    async with opened(assistant()) as (app, pilot):
        assert title not in [command.title for command in app.get_system_commands(app.screen)]
        await ask(pilot)
        await until(pilot, lambda: done(app))
        assert title in [command.title for command in app.get_system_commands(app.screen)]


async def test_before_the_answer_the_key_says_why_it_does_nothing() -> None:
    fake = FakeAssistant(grown_events(), hold=5, trace=grown_trace())
    async with asking(fake) as (app, pilot):
        await pilot.press(COMPARE)
        await pilot.pause()
        assert [note.message for note in app._notifications] == ["A question is being answered. Escape stops it."]
        fake.released.set()
        await until(pilot, lambda: done(app))


async def test_hostile_answers_and_names_are_text() -> None:
    trace = grown_trace(strategy="cot")
    trace.answers, trace.question = [hostile("zanswerz")], hostile("zquestionz")
    async with answered(FakeAssistant(grown_events(strategy="cot"), trace=trace), size=(160, 48)) as (app, pilot):
        await compared(pilot)
        assert_harmless(app, "zanswerz", "zquestionz")
