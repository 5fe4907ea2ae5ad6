"""Ctrl+Y: the part of the text index that questions are asked in."""

from __future__ import annotations

from support.tui.fake_assistant import FakeAssistant
from support.tui.screens import ask, done, opened, screen_text, until
from textual.widgets import Input

from atomr_local.tui.screens.ask.windows import PartScreen


async def test_the_part_holds_for_the_questions_that_follow_until_it_is_emptied() -> None:
    assistant = FakeAssistant()
    async with opened(lambda: assistant) as (app, pilot):
        for line, part in (('hr/ "my notes" #policy', ("hr/", "my notes", "#policy")), ("", ())):
            await pilot.press("ctrl+y")
            await until(pilot, lambda: isinstance(app.screen, PartScreen))
            shown = app.screen.query_one(Input)
            assert shown.value == ("" if line else 'hr/ "my notes" #policy'), "what holds can be edited"
            shown.value = line
            await pilot.press("enter")
            await until(pilot, lambda: app.screen is app.ask_screen)
            assert app.ask_screen.within == part
            assert ("in hr/ my notes #policy" in screen_text(app).splitlines()[0]) is bool(part)
            asked = len(assistant.extras)
            await ask(pilot)
            await until(pilot, lambda asked=asked: len(assistant.extras) > asked and done(app))  # type: ignore[misc]
            assert assistant.extras[-1]["within"] == part


async def test_what_cannot_be_read_is_told_and_escape_changes_nothing() -> None:
    async with opened(FakeAssistant) as (app, pilot):
        await pilot.press("ctrl+y")
        await until(pilot, lambda: isinstance(app.screen, PartScreen))
        app.screen.query_one(Input).value = "after:soon"
        await pilot.press("enter")
        await pilot.pause()
        assert isinstance(app.screen, PartScreen)
        assert "'after:soon' has no date" in screen_text(app)
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is app.ask_screen)
        assert app.ask_screen.within == ()
