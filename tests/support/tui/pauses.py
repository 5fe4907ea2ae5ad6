"""A pause of the pilot ends when nothing is left to do: no sooner on a busy machine, no later on an idle one."""

from __future__ import annotations

import asyncio

import pytest
from textual._context import active_app

_ROUNDS = 2000  # turns of the event loop before a pause gives up: something keeps posting messages


async def _nothing_left(*_: float) -> None:
    """Turn the event loop until no message, callback or drawing is waiting in it."""
    ready = asyncio.get_running_loop()._ready  # type: ignore[attr-defined]
    for _round in range(_ROUNDS):
        await asyncio.sleep(0)
        if ready:
            continue
        active_app.get().screen._on_timer_update()
        await asyncio.sleep(0)
        if not ready:
            return


@pytest.fixture(autouse=True)
def pauses_until_nothing_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    """The pilot sleeps, and takes the app for idle when its process spends no time, as it also does while others work."""
    monkeypatch.setattr("textual.app.wait_for_idle", _nothing_left)
    monkeypatch.setattr("textual.pilot.wait_for_idle", _nothing_left)
