"""An error as a panel: title, message, what to do."""

from __future__ import annotations

from typing import ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Static

from atomr_local.errors import AtomrError
from atomr_local.sanitize import sanitize, sanitize_line
from atomr_local.tui.rendering import coloured, short_line


class ErrorScreen(ModalScreen[None]):
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,enter,q", "dismiss", "Close")]

    def __init__(self, error: AtomrError) -> None:
        super().__init__()
        self._error = error

    def compose(self) -> ComposeResult:
        with VerticalScroll(id="error"):
            yield Static(coloured(sanitize(self._error.title), "bold red"))
            yield Static(Text(sanitize(self._error.message)))
            if self._error.hint:
                yield Static(coloured(f"→ {sanitize(self._error.hint)}", "cyan"))
            yield Static(Text("\nEscape closes this.", "dim"))


def error_text(error: AtomrError) -> Text:
    """The error where it arose: title and message on a line, what to do on the next."""
    text = Text.assemble((f"✗ {short_line(error.title, 100)}: ", "bold red"), (short_line(error.message), "red"))
    if error.hint:
        text.append(f"\n→ {short_line(error.hint)}", "cyan")
    return text


def error_line(error: AtomrError) -> Text:
    """What is wrong with a form and what to do about it, on one line."""
    hint = f" → {sanitize_line(error.hint)}" if error.hint else ""
    return coloured(f"✗ {sanitize_line(error.message)}{hint}", "red")
