"""Confirmation before something that cannot be undone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from rich.text import Text
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Button, Static

from atomr_local.sanitize import sanitize, sanitize_line


class Confirm(ModalScreen[bool]):
    """True for yes; no, Escape and the button that has the focus at first are False."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "answer(True)", "Yes", tooltip="Do it", id="confirm.yes"),
        Binding("n", "answer(False)", "No", tooltip="Leave everything as it is", id="confirm.no"),
        Binding("escape", "answer(False)", "Close", tooltip="Leave everything as it is", id="confirm.close"),
        Binding("left,up", "app.focus_previous", show=False, tooltip="The other answer", id="confirm.previous"),
        Binding("right,down", "app.focus_next", show=False, tooltip="The other answer", id="confirm.next"),
    ]
    DEFAULT_CSS = """
    Confirm { align: center middle; }
    Confirm > #confirm { width: 66; max-width: 95%; height: auto; max-height: 95%; padding: 1 2; background: $surface;
        border: round $warning; }
    Confirm #confirm-text { height: auto; max-height: 10; margin-bottom: 1; }
    Confirm #confirm-buttons { height: auto; }
    Confirm Button { margin-right: 2; }
    """

    def __init__(self, title: str, message: str, yes: str = "Delete", no: str = "Keep") -> None:
        super().__init__()
        self._title = sanitize_line(title)
        self._message = sanitize(message)
        self._yes, self._no = sanitize_line(yes), sanitize_line(no)

    def compose(self) -> ComposeResult:
        with VerticalScroll(id="confirm", can_focus=False):
            yield Static(Text(self._title, "bold"))
            with VerticalScroll(id="confirm-text", can_focus=False):
                yield Static(Text(self._message))
            with Horizontal(id="confirm-buttons"):
                yield Button(Text(f"{self._no} (n)"), id="no")
                yield Button(Text(f"{self._yes} (y)"), id="yes", variant="error")

    def on_mount(self) -> None:
        self.query_one("#no", Button).focus()

    def on_button_pressed(self, event: Button.Pressed) -> None:
        event.stop()
        self.action_answer(event.button.id == "yes")

    def action_answer(self, answer: bool) -> None:
        self.dismiss(answer)


def confirm(
    app: App[Any], title: str, message: str, then: Callable[[], object], *, yes: str = "Delete", no: str = "Keep"
) -> None:
    """Ask; `then` is called after a yes."""

    def answered(answer: bool | None) -> None:
        if answer:
            then()

    app.push_screen(Confirm(title, message, yes, no), answered)
