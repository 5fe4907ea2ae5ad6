"""Pictures of the screen of what can be got: each of its forms where there is little room, and one where there is more."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from textual.app import App
from textual.pilot import Pilot

from atomr_local.tui.screens.library.downloads import FetchScreen, TextIndex

SMALL, MIDDLE = (80, 24), (120, 40)


class Alone(App[None]):
    def on_mount(self) -> None:
        self.push_screen(FetchScreen(find=lambda: [TextIndex("simple", 20_000, "simplewiki")]))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("keys", "size"),
    [([], SMALL), (["end", "up"], SMALL), (["end"], SMALL), (["end", "up"], MIDDLE)],
    ids=["model-size0", "wikipedia-size0", "facts-size0", "wikipedia-size1"],
)
def test_the_fetch_screen(snap_compare: Callable[..., bool], size: tuple[int, int], keys: list[str]) -> None:
    async def found(pilot: Pilot[None]) -> None:
        await pilot.app.workers.wait_for_complete()
        await pilot.pause()

    assert snap_compare(Alone(), press=keys, terminal_size=size, run_before=found)
