"""The help screen, made from the bindings."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from rich.table import Table
from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Static

from atomr_local.tui.widgets.reasoning_tree import MARKS


class HelpScreen(ModalScreen[None]):
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,f1,q", "dismiss", "Close")]

    def __init__(self, bindings: list[Binding]) -> None:
        super().__init__()
        self._shown = bindings

    def compose(self) -> ComposeResult:
        keys = _grid(
            (self.app.get_key_display(binding), binding.tooltip or binding.description) for binding in self._shown
        )
        marks = _grid([(mark, str(state)) for state, (mark, _) in MARKS.items()] + [("⚠", "citation not confirmed")])
        with VerticalScroll(id="help"):
            yield Static(Text("Keys", "bold underline"))
            yield Static(keys)
            yield Static(Text("\nMarks of the steps", "bold underline"))
            yield Static(marks)
            yield Static(Text("\nEscape closes this.", "dim"))


def _grid(rows: Iterable[tuple[str, str]]) -> Table:
    table = Table.grid(padding=(0, 2))
    for name, meaning in rows:
        table.add_row(Text(name, "bold"), Text(meaning))
    return table
