"""Questions before something that cannot be undone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from rich.text import Text
from textual import on
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical, VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Button, Static

from atomr_local.sanitize import sanitize, sanitize_line


class Confirm(ModalScreen[bool]):
    """True for yes; no, Escape and the button that has the focus at first are False."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "dismiss(True)", "Yes", tooltip="Do it", id="confirm.yes"),
        Binding("n", "dismiss(False)", "No", tooltip="Leave everything as it is", id="confirm.no"),
        Binding("escape", "dismiss(False)", "Close", tooltip="Leave everything as it is", id="confirm.close"),
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

    @on(Button.Pressed)
    def _pressed(self, message: Button.Pressed) -> None:
        self.dismiss(message.button.id == "yes")


def confirm(
    app: App[Any], title: str, message: str, then: Callable[[], object], *, yes: str = "Delete", no: str = "Keep"
) -> None:
    """Ask; `then` is called after a yes."""

    def answered(answer: bool | None) -> None:
        if answer:
            then()

    app.push_screen(Confirm(title, message, yes, no), answered)


class UnsavedChanges(ModalScreen[str]):
    """Asked when a form with changes is left: gives "save", "discard" or "stay"."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("s", "dismiss('save')", "Save", tooltip="Save the changes and close", id="unsaved.save"),
        Binding("d", "dismiss('discard')", "Discard", tooltip="Close without the changes", id="unsaved.discard"),
        Binding("escape", "dismiss('stay')", "Stay", tooltip="Go on changing", id="unsaved.stay"),
        Binding("left,up", "app.focus_previous", show=False, tooltip="The answer before", id="unsaved.previous"),
        Binding("right,down", "app.focus_next", show=False, tooltip="The next answer", id="unsaved.next"),
    ]
    DEFAULT_CSS = """
    UnsavedChanges { align: center middle; }
    UnsavedChanges > #unsaved { width: 62; max-width: 95%; height: auto; padding: 1 2; background: $surface;
        border: round $warning; }
    UnsavedChanges Horizontal { height: auto; margin-top: 1; }
    UnsavedChanges Button { margin-right: 2; min-width: 12; }
    """

    def __init__(self, changes: int) -> None:
        super().__init__()
        self._text = "One change is not saved." if changes == 1 else f"{changes} changes are not saved."

    def compose(self) -> ComposeResult:
        with Vertical(id="unsaved"):
            yield Static(Text(self._text, "bold"))
            with Horizontal():
                yield Button("Save (s)", id="save", variant="primary")
                yield Button("Discard (d)", id="discard")
                yield Button("Stay (Esc)", id="stay")

    @on(Button.Pressed)
    def _pressed(self, message: Button.Pressed) -> None:
        self.dismiss(message.button.id or "stay")
