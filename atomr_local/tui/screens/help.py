"""The help screen, made from the bindings as the user's key map has them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import ClassVar

from rich.table import Table
from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Static

from atomr_local.sanitize import sanitize_line
from atomr_local.tui.widgets.reasoning_tree import MARKS

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
