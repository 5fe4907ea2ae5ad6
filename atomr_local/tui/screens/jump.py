"""Jump mode: every place of the screen below gets a letter; the letter goes there."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
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


def places_of(screen: Screen[object]) -> list[tuple[Offset, Callable[[], object]]]:
    """Where a letter stands and how to go there: for the widgets that take the focus, and the lines of a tree."""
    found: list[tuple[Offset, Callable[[], object]]] = []
    bounds = screen.region
    for widget in screen.focus_chain:
        region = widget.region.intersection(bounds)
        if region.area:
            found.append((region.offset, partial(screen.set_focus, widget)))
    for tree in screen.query(ReasoningTree):
        if tree.is_on_screen:
            found.extend((offset, partial(_go_to_line, tree, node_id)) for node_id, offset in tree.lines_seen())
    return found[: len(_LETTERS)]


def _go_to_line(tree: ReasoningTree, node_id: int) -> None:
    tree.focus()
    tree.go_to(node_id)


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
        for letter, (offset, _) in self._places.items():
            label = Static(Text(letter), classes="jump-letter")
            label.styles.offset = (offset.x, offset.y)
            yield label

    def on_key(self, event: events.Key) -> None:
        place = self._places.get(event.character or "")
        event.stop()
        self.dismiss()
        if place is not None:
            self.app.call_after_refresh(place[1])
