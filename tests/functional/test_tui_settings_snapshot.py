"""Pictures of the settings screen at three sizes, with one setting changed and one wrong."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from test_tui_settings import SIZES, Form, enter, settle
from textual.pilot import Pilot


@pytest.mark.parametrize("size", SIZES)
def test_settings_screen(snap_compare: Callable[..., bool], size: tuple[int, int]) -> None:
    async def change(pilot: Pilot[None]) -> None:
        await settle(pilot)
        await enter(pilot, "top_k", "7")
        await enter(pilot, "filter_overlap", "2")
        # What few words find stays as it is when the model gets more settings.
        await pilot.press(*"word overlap", "enter")
        pilot.app.row("filter_overlap").query_one("Input").cursor_blink = False
        await pilot.pause()

    assert snap_compare(Form(), terminal_size=size, run_before=change)
