"""Jump mode: every place of the screen below gets a letter; the letter goes there."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from rich.text import Text
from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.geometry import Offset
from textual.screen import ModalScreen, Screen
from textual.widgets import Static

from atomr_local.tui.widgets.reasoning_tree import ReasoningTree

_LETTERS = "asdfghjklqwertyuiopzxcvbnm"


@dataclass(frozen=True)
class JumpTarget:
    """Somewhere to go: where its letter stands, and how to go there."""

    offset: Offset
    go: Callable[[], object]


def places_of(screen: Screen[object]) -> list[JumpTarget]:
    """The widgets that can take the focus, and the lines of a reasoning tree, as far as they are seen."""
    found: list[JumpTarget] = []
    bounds = screen.region
    for widget in screen.focus_chain:
        region = widget.region.intersection(bounds)
        if region.area:
            found.append(JumpTarget(region.offset, lambda widget=widget: screen.set_focus(widget)))  # type: ignore[misc]
    for tree in screen.query(ReasoningTree):
        if tree.is_on_screen:
            found.extend(
                JumpTarget(offset, lambda node_id=node_id, tree=tree: (tree.focus(), tree.go_to(node_id)))  # type: ignore[misc]
                for node_id, offset in tree.lines_seen()
            )
    return found[: len(_LETTERS)]


class JumpScreen(ModalScreen[None]):
    DEFAULT_CSS = """
    JumpScreen { background: $background 30%; }
    JumpScreen > .jump-letter { position: absolute; width: 3; height: 1; background: $accent; color: $text; text-style: bold; text-align: center; }
    """  # noqa: E501
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "dismiss", "Close", id="jump.close")]

    def __init__(self, below: Screen[object]) -> None:
        super().__init__()
        self._places = dict(zip(_LETTERS, places_of(below), strict=False))

    def compose(self) -> ComposeResult:
        for letter, place in self._places.items():
            label = Static(Text(letter), classes="jump-letter")
            label.styles.offset = (place.offset.x, place.offset.y)
            yield label

    def on_key(self, event: events.Key) -> None:
        place = self._places.get(event.character or "")
        event.stop()
        self.dismiss()
        if place is not None:
            self.app.call_after_refresh(place.go)
