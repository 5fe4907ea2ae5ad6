"""Asked when a form with changes is left: save them, discard them, or stay."""

from __future__ import annotations

from typing import ClassVar, Literal

from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.screen import ModalScreen
from textual.widgets import Button, Static

Leaving = Literal["save", "discard", "stay"]


class UnsavedChanges(ModalScreen[Leaving]):
    """Escape stays."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("s", "answer('save')", "Save", tooltip="Save the changes and close", id="unsaved.save"),
        Binding("d", "answer('discard')", "Discard", tooltip="Close without the changes", id="unsaved.discard"),
        Binding("escape", "answer('stay')", "Stay", tooltip="Go on changing", id="unsaved.stay"),
        Binding("left,up", "app.focus_previous", show=False, tooltip="The answer before", id="unsaved.previous"),
        Binding("right,down", "app.focus_next", show=False, tooltip="The next answer", id="unsaved.next"),
    ]
    DEFAULT_CSS = """
    Unsaved { align: center middle; }
    Unsaved > #unsaved { width: 62; max-width: 95%; height: auto; padding: 1 2; background: $surface;
        border: round $warning; }
    Unsaved Horizontal { height: auto; margin-top: 1; }
    Unsaved Button { margin-right: 2; min-width: 12; }
    """

    def __init__(self, changes: int) -> None:
        super().__init__()
        self._changes = changes

    def compose(self) -> ComposeResult:
        with Vertical(id="unsaved"):
            yield Static(Text(_told(self._changes), "bold"))
            with Horizontal():
                yield Button("Save (s)", id="save", variant="primary")
                yield Button("Discard (d)", id="discard")
                yield Button("Stay (Esc)", id="stay")

    @on(Button.Pressed)
    def _pressed(self, message: Button.Pressed) -> None:
        chosen: Leaving = (
            "save" if message.button.id == "save" else "discard" if message.button.id == "discard" else "stay"
        )
        self.dismiss(chosen)

    def action_answer(self, chosen: Leaving) -> None:
        self.dismiss(chosen)


def _told(changes: int) -> str:
    return "One change is not saved." if changes == 1 else f"{changes} changes are not saved."
