"""Pictures of the settings screen where there is little room and where there is more, with one setting changed and one wrong."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from support.tui.screens import ALL_SIZES
from support.tui.settings_form import Form, enter, settle
from textual.pilot import Pilot

# Not all settings, so that the pictures stay as they are when the model gets more of them.
SHOWN = ("model", "sources", "top_k", "filter_overlap", "web.enabled", "web.timeout", "web.region")


@pytest.mark.parametrize("size", ALL_SIZES[:2])
def test_settings_screen(snap_compare: Callable[..., bool], size: tuple[int, int]) -> None:
    async def change(pilot: Pilot[None]) -> None:
        await settle(pilot)
        await enter(pilot, "top_k", "7")
        row = await enter(pilot, "filter_overlap", "2")
        row.query_one("Input").cursor_blink = False
        await pilot.pause()

    app = Form()
    app.form.entries = {key: app.form.entries[key] for key in SHOWN}
    assert snap_compare(app, terminal_size=size, run_before=change)
