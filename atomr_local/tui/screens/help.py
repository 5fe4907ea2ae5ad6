"""The help screen, made from the bindings."""

from __future__ import annotations

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
        table = Table.grid(padding=(0, 2))
        for binding in self._shown:
            table.add_row(
                Text(binding.key_display or binding.key, "bold"), Text(binding.tooltip or binding.description)
            )
        marks = "  ".join(f"{mark} {state}" for state, (mark, _) in MARKS.items())
        legend = Text(f"\n{marks}  ⚠ citation not confirmed", "dim")
        with VerticalScroll(id="help"):
            yield Static(Text("Keys", "bold underline"))
            yield Static(table)
            yield Static(legend)
