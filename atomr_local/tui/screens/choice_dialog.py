"""A question with a button for each answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar, Literal, TypeVar

from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Button, Static

from atomr_local.sanitize import sanitize_line

Answer = TypeVar("Answer")
ButtonText = tuple[str, str, Literal["default", "primary", "error"]]  # id, label and look


class ChoiceDialog(ModalScreen[Answer]):
    """The title, what there is to know, and the buttons; the first one has the focus.

    A dialog binds a key for each of its answers, Escape among them, and writes it on the button.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left,up", "app.focus_previous", show=False, tooltip="The answer before", id="dialog.previous"),
        Binding("right,down", "app.focus_next", show=False, tooltip="The next answer", id="dialog.next"),
    ]
    DEFAULT_CSS = """
    ChoiceDialog { align: center middle; }
    ChoiceDialog > #dialog { width: 66; max-width: 95%; height: auto; max-height: 95%; padding: 1 2;
        background: $surface; border: round $warning; }
    ChoiceDialog #dialog-text { height: auto; max-height: 10; }
    ChoiceDialog #dialog-buttons { height: auto; margin-top: 1; }
    ChoiceDialog Button { margin-right: 2; }
    """

    def __init__(self, title: str, text: Text, answers: Mapping[str, Answer], buttons: Sequence[ButtonText]) -> None:
        """Make the dialog; everything in it is sanitised by the caller but the title and the buttons.

        Args:
            answers: what each button gives, by its id.
        """
        super().__init__()
        self._title, self._text = sanitize_line(title), text
        self._answers, self._buttons = answers, buttons

    def compose(self) -> ComposeResult:
        with VerticalScroll(id="dialog", can_focus=False):
            yield Static(Text(self._title, "bold"))
            if self._text:
                with VerticalScroll(id="dialog-text", can_focus=False):
                    yield Static(self._text)
            with Horizontal(id="dialog-buttons"):
                for name, label, look in self._buttons:
                    yield Button(Text(sanitize_line(label)), id=name, variant=look)

    def on_mount(self) -> None:
        self.query(Button).first().focus()

    @on(Button.Pressed)
    def _pressed(self, message: Button.Pressed) -> None:
        self.dismiss(self._answers[message.button.id or ""])
