"""The help screen, made from the bindings as the user's key map has them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import ClassVar

from rich.table import Table
from rich.text import Text
from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.geometry import Offset
from textual.screen import ModalScreen, Screen
from textual.widgets import Static

from atomr_local.system.sanitize import sanitize_line
from atomr_local.tui.widgets.reasoning_view import MARKS, ReasoningTree

Group = tuple[str, Sequence[BindingType]]


class HelpScreen(ModalScreen[None]):
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,f1,q", "dismiss", "Close", id="help.close"),
    ]
    DEFAULT_CSS = """
    HelpScreen { align: center middle; }
    #help { width: 84; max-width: 95%; height: auto; max-height: 95%; padding: 0 2; background: $surface; border: round $accent; scrollbar-size-vertical: 1; }
    """  # noqa: E501

    def __init__(self, groups: Iterable[Group], keymap: Mapping[str, str] | None = None) -> None:
        """Make the screen of these groups of bindings, each with its title; `keymap`: keys by binding id."""
        super().__init__()
        self._groups = list(groups)
        self._keymap = keymap or {}

    def compose(self) -> ComposeResult:
        with VerticalScroll(id="help"):
            for title, bindings in self._groups:
                yield Static(Text(f"{title}", "bold underline"))
                yield Static(_keys(self._rows(bindings)))
            marks = [(mark, str(state)) for state, (mark, _) in MARKS.items()] + [("⚠", "citation not confirmed")]
            yield Static(Text("Marks of the steps", "bold underline"))
            yield Static(_grid(marks))
            yield Static(
                Text(
                    "Keys can be changed in the settings (ui.keys), by the names on the right. Escape closes this.",
                    "dim",
                )
            )

    def _rows(self, bindings: Sequence[BindingType]) -> Iterable[tuple[str, str, str]]:
        for binding in bindings:
            if not isinstance(binding, Binding) or not (binding.tooltip or binding.description):
                continue
            keys = self._keymap.get(binding.id or "", binding.key).split(",")
            shown = ", ".join(sanitize_line(self.app.get_key_display(Binding(key.strip(), "", ""))) for key in keys)
            yield shown, binding.tooltip or binding.description, binding.id or ""


def _keys(rows: Iterable[tuple[str, str, str]]) -> Table:
    table = Table.grid(padding=(0, 2), expand=True)
    table.add_column(min_width=10, no_wrap=True)
    table.add_column(ratio=1)
    table.add_column(no_wrap=True)
    for name, meaning, identifier in rows:
        table.add_row(Text(name, "bold"), Text(meaning), Text(identifier, "dim"))
    return table


def _grid(rows: Iterable[tuple[str, str]]) -> Table:
    table = Table.grid(padding=(0, 2))
    table.add_column(min_width=10, no_wrap=True)
    for name, meaning in rows:
        table.add_row(Text(name, "bold"), Text(meaning))
    return table


# Jump mode: every place of the screen below gets a letter; the letter goes there.

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
