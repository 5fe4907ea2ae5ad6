"""A pause of the pilot ends when nothing is left to do, on a busy machine as on an idle one."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from textual.pilot import Pilot

_ROUNDS = 2000  # turns of the event loop before a pause gives up: something keeps posting messages


async def _nothing_left(pilot: Pilot[Any]) -> None:
    """Turn the event loop until no message, callback or drawing is waiting in it."""
    ready = asyncio.get_running_loop()._ready  # type: ignore[attr-defined]
    for _ in range(_ROUNDS):
        await asyncio.sleep(0)
        if ready:
            continue
        pilot.app.screen._on_timer_update()
        await asyncio.sleep(0)
        if not ready:
            return


@pytest.fixture(autouse=True)
def pauses_until_nothing_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    """The pilot takes the app for idle when its process spends no time, as it also does while others have the processor."""
    pause = Pilot.pause

    async def longer(pilot: Pilot[Any], delay: float | None = None) -> None:
        await pause(pilot, delay)
        if delay is None:
            await _nothing_left(pilot)

    monkeypatch.setattr(Pilot, "pause", longer)
