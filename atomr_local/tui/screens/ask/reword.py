"""Edits the question as it was understood."""

from __future__ import annotations

from typing import ClassVar

from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Input, Static

from atomr_local.sanitize import sanitize_line
from atomr_local.tui.widgets.clean_text import CleanInput


class RewordScreen(ModalScreen[str | None]):
    """Gives the question as it is meant; None when it is left as it was."""

    DEFAULT_CSS = """
    RewordScreen { align: center middle; }
    #reword { width: 90; max-width: 96%; height: auto; padding: 0 1; background: $surface; border: round $accent; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "dismiss", "Close", priority=True, tooltip="Leave the question as it was", id="reword.close"),
        Binding("enter", "ask", "Ask", priority=True, tooltip="Ask the question as it stands here", id="reword.ask"),
    ]

    def __init__(self, question: str, understood: str) -> None:
        """Edit `understood`; `question` is what was typed."""
        super().__init__()
        self._question, self._understood = question, understood

    def compose(self) -> ComposeResult:
        with Vertical(id="reword") as body:
            body.border_title = "What is meant"
            yield Static(Text(f"Typed: {sanitize_line(self._question)}", "dim"))
            yield CleanInput(sanitize_line(self._understood), id="reword-line", select_on_focus=False)
            yield Static(Text("Enter asks again as it stands here. Escape leaves it as it was.", "dim"))

    def on_mount(self) -> None:
        line = self.query_one(Input)
        line.focus()
        line.cursor_position = len(line.value)

    @on(Input.Submitted)
    def action_ask(self) -> None:
        meant = self.query_one(Input).value.strip()
        if meant:
            self.dismiss(meant)
