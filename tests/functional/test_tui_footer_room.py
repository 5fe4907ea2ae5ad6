"""The line of keys at 80 columns: what is most needed now stands there whole, beside the figures."""

from __future__ import annotations

import pytest
from support.tui.fake_assistant import FakeAssistant
from support.tui.screens import ask, asking, done, opened, screen_text, until
from textual.widgets._footer import FooterKey

from atomr_local.tui.app import AtomrApp


def keys(app: AtomrApp) -> list[str]:
    """The keys of the last line; none of them is cut."""
    shown = [key for key in app.screen.query(FooterKey) if key.region.area]
    assert all(key.region.right - 1 <= app.size.width for key in shown)
    bounds = shown[0].parent.region
    assert all(key.region.right - 1 <= bounds.right for key in shown), "none runs under the figures"
    last = screen_text(app).splitlines()[-1]
    assert all(f" {key.key_display} {key.description} " in f"{last} " for key in shown)
    return [key.description for key in shown]


async def test_after_an_answer_the_keys_for_checking_and_correcting_it_are_seen() -> None:
    async with opened() as (app, pilot):
        assert {"Ask", "Help"} <= set(keys(app))
        await ask(pilot)
        await until(pilot, lambda: done(app))
        await until(pilot, lambda: "Citation" in screen_text(app).splitlines()[-1])
        assert {"Help", "Citation", "Question", "Edit step"} <= set(keys(app))


async def test_while_a_question_runs_the_key_that_stops_it_is_seen() -> None:
    fake = FakeAssistant(hold=6)
    async with asking(fake) as (app, pilot):
        await until(pilot, lambda: "Cancel" in screen_text(app).splitlines()[-1])
        assert {"Cancel", "Help"} <= set(keys(app))
        fake.released.set()


@pytest.mark.parametrize("key", ["f3", "f5", "f7"])
async def test_the_windows_name_their_keys_and_the_help(key: str) -> None:
    async with opened() as (app, pilot):
        await pilot.press(key)
        await until(pilot, lambda: app.screen is not app.ask_screen and bool(app.screen.query(FooterKey)))
        assert {"Close", "Help"} <= set(keys(app))
