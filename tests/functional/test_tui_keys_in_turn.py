"""Keys on a busy machine: each has its effect in its turn, and what is typed is never lost."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from support.tui.fake_assistant import QUESTION, FakeAssistant
from support.tui.screens import answered, done, opened, screen_text, until
from textual import events
from textual.app import App, ComposeResult
from textual.keys import _character_to_key as character_key
from textual.widgets import Input, TextArea

from atomr_local.tui.screens.ask.screen import AskScreen
from atomr_local.tui.widgets.node_panel import NodePanel
from atomr_local.tui.widgets.question_box import CleanArea, CleanInput, QuestionBox
from atomr_local.tui.widgets.reasoning_view import ReasoningTree

DELAY = 0.03  # seconds by which the screen is behind with each of its messages


def press_at_once(app: App[Any], *keys: str) -> None:
    """All keys are there before the first one has had any effect."""
    for key in keys:
        name, character = (key, None) if len(key) > 1 else (character_key(key), key)
        app.post_message(events.Key(name, character))


@pytest.fixture
def busy(monkeypatch: pytest.MonkeyPatch) -> None:
    """The screen handles what comes to it, keys that bubble up among it, late."""
    handle = AskScreen.on_event

    async def late(self: AskScreen, event: events.Event) -> None:
        await asyncio.sleep(DELAY)
        await handle(self, event)

    monkeypatch.setattr(AskScreen, "on_event", late)


@pytest.mark.usefixtures("busy")
async def test_what_is_typed_right_after_the_box_was_emptied_stays() -> None:
    async with answered() as (app, pilot):
        box = app.query_one(QuestionBox)
        for _ in range(3):
            press_at_once(app, "ctrl+l", "ctrl+u", *"And when?")
            await until(pilot, lambda: box.value.endswith("?"))
            await pilot.pause(DELAY * 4)
            assert box.value == "And when?"


@pytest.mark.usefixtures("busy")
async def test_enter_asks_what_was_typed_before_it_and_what_follows_stays_in_the_box() -> None:
    fake = FakeAssistant()
    async with opened(fake) as (app, pilot):
        box = app.query_one(QuestionBox)
        press_at_once(app, *QUESTION, "enter", "ctrl+l", "ctrl+u", *"pre")
        await until(pilot, lambda: done(app))
        assert fake.questions == [QUESTION]
        assert box.value == "pre"
        assert app.focused is box, "the letters are no commands"


async def test_the_next_question_can_be_typed_right_after_an_answer() -> None:
    fake = FakeAssistant()
    async with opened(fake) as (app, pilot):
        box = app.query_one(QuestionBox)
        await pilot.press(*QUESTION, "enter")
        await until(pilot, lambda: done(app))
        assert box.value == ""
        assert f"Asked: {QUESTION} · Type the next question" in screen_text(app)
        assert "esc Steps" in screen_text(app).splitlines()[-1]
        await pilot.press(*"what year?", "enter")
        await until(pilot, lambda: len(fake.questions) == 2 and done(app))
        assert fake.questions[1] == "what year?", "its letters are no keys, though most of them are on the steps"
        await pilot.press("up", "up")
        assert box.value == QUESTION


@pytest.mark.parametrize("leave", ["escape", "tab", "ctrl+t"])
async def test_letters_are_keys_on_the_steps_and_others_begin_a_question(leave: str) -> None:
    async with opened() as (app, pilot):
        box = app.query_one(QuestionBox)
        await pilot.press(*QUESTION, "enter")
        await until(pilot, lambda: done(app))
        await pilot.press(leave)
        assert app.focused is app.query_one(ReasoningTree)
        await pilot.press("c")
        assert app.query_one(NodePanel).chosen == "e2"
        assert box.value == ""
        await pilot.press(*"How far?")
        assert app.focused is box
        assert box.value == "How far?"


@pytest.mark.parametrize("field", [CleanInput, CleanArea])
async def test_keys_of_a_field_have_their_effect_in_their_turn(field: type[Input] | type[TextArea]) -> None:
    class Busy(App[None]):
        def compose(self) -> ComposeResult:
            yield field()

        async def on_event(self, event: events.Event) -> None:
            if isinstance(event, events.Key) and event.is_forwarded:
                await asyncio.sleep(DELAY)
            await super().on_event(event)

    app = Busy()
    async with app.run_test() as pilot:
        one = app.query_one(field)
        one.focus()
        await pilot.pause()
        press_at_once(app, *"abc", "backspace", "left", "x", "ctrl+u", *"new")
        await pilot.pause(DELAY * 8)
        assert (one.value if isinstance(one, Input) else one.text) == "newb"
