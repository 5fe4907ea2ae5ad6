"""The bar between tree and evidence, draggable with the mouse; hidden on narrow screens."""

from __future__ import annotations

from dataclasses import dataclass

from textual import events
from textual.message import Message
from textual.widgets import Static

LEAST, MOST = 20, 80  # percent


class Splitter(Static):
    """Posts where it was dragged to; the screen sets the widths."""

    @dataclass
    class Moved(Message):
        """`share`: percent of the body that the tree shall have."""

        share: int

    def __init__(self) -> None:
        super().__init__("", id="splitter", markup=False)

    def on_mouse_down(self, event: events.MouseDown) -> None:
        self.capture_mouse()
        event.stop()

    def on_mouse_up(self, event: events.MouseUp) -> None:
        self.release_mouse()
        event.stop()

    def on_mouse_move(self, event: events.MouseMove) -> None:
        if self.app.mouse_captured is not self or self.parent is None:
            return
        region = self.parent.region  # type: ignore[attr-defined]
        self.post_message(self.Moved(within(round(100 * (event.screen_x - region.x) / max(1, region.width)))))


def within(share: int) -> int:
    """The share, neither pane too small to be read."""
    return max(LEAST, min(MOST, share))
