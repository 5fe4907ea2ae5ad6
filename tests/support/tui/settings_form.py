"""The settings screen alone, with choices that are the same everywhere."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from textual.app import App
from textual.pilot import Pilot
from textual.widgets import Input

from atomr_local.settings.file import save_settings
from atomr_local.settings.schema import load_settings
from atomr_local.tui.screens.settings.form import Choices, SettingChoice
from atomr_local.tui.screens.settings.screen import SettingRow, SettingsScreen

OFFERED: Choices = {
    "model": (SettingChoice("starter", "98 MB"), SettingChoice("other", "7 GB")),
    "adapter": (SettingChoice("auto"), SettingChoice("none")),
    "embedder": (SettingChoice("starter"),),
    "text_index": (SettingChoice("", "the only one"), SettingChoice("mine")),
    "graph_index": (SettingChoice("", "the only one"),),
}


class Form(App[None]):
    """The screen alone; keeps what it closed with."""

    def __init__(self, save: Callable[[dict[str, Any]], object] = save_settings, **given: Any) -> None:
        super().__init__()
        self.form = SettingsScreen(load_settings(**given), save, find=lambda: OFFERED)
        self.closed: list[dict[str, Any] | None] = []

    def on_mount(self) -> None:
        self.push_screen(self.form, self.closed.append)

    async def row(self, key: str) -> SettingRow:
        """The row of a setting, in its section, with the focus in it."""
        await self.form.go(self.form.entries[key].field.group, key)
        return self.there()[key]

    def there(self) -> dict[str, SettingRow]:
        """The rows that are mounted."""
        return {row.entry.field.key: row for row in self.form.query(SettingRow)}

    def shown(self) -> str:
        strips = self.screen._compositor.render_strips()
        return "\n".join("".join(segment.text for segment in strip) for strip in strips)


async def settle(pilot: Pilot[None]) -> None:
    await pilot.app.workers.wait_for_complete()
    await pilot.pause()


async def enter(pilot: Pilot[None], key: str, text: str) -> SettingRow:
    row = await pilot.app.row(key)
    row.query_one(Input).value = text
    await pilot.pause()
    return row


@asynccontextmanager
async def shown(
    save: Callable[[dict[str, Any]], object] = save_settings, *, size: tuple[int, int] = (120, 40), **given: Any
) -> AsyncIterator[tuple[Form, Pilot[None]]]:
    """The screen alone, once it has found what is at hand."""
    app = Form(save, **given)
    async with app.run_test(size=size) as pilot:
        await settle(pilot)
        yield app, pilot
