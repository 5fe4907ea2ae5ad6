"""Questions before something that cannot be undone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from rich.text import Text
from textual.app import App
from textual.binding import Binding, BindingType

from atomr_local.sanitize import sanitize
from atomr_local.tui.screens.choice_dialog import ButtonText, ChoiceDialog


class Confirm(ChoiceDialog[bool]):
    """True for yes; no, Escape and the button that has the focus at first are False."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "dismiss(True)", "Yes", tooltip="Do it", id="confirm.yes"),
        Binding("n", "dismiss(False)", "No", tooltip="Leave everything as it is", id="confirm.no"),
        Binding("escape", "dismiss(False)", "Close", tooltip="Leave everything as it is", id="confirm.close"),
    ]

    def __init__(self, title: str, message: str, yes: str = "Delete", no: str = "Keep") -> None:
        buttons: tuple[ButtonText, ...] = (("no", f"{no} (n)", "default"), ("yes", f"{yes} (y)", "error"))
        super().__init__(title, Text(sanitize(message)), {"no": False, "yes": True}, buttons)


def confirm(
    app: App[Any], title: str, message: str, then: Callable[[], object], *, yes: str = "Delete", no: str = "Keep"
) -> None:
    """Ask; `then` is called after a yes."""

    def answered(answer: bool | None) -> None:
        if answer:
            then()

    app.push_screen(Confirm(title, message, yes, no), answered)


class UnsavedChanges(ChoiceDialog[str]):
    """Asked when a form with changes is left: gives "save", "discard" or "stay"."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("s", "dismiss('save')", "Save", tooltip="Save the changes and close", id="unsaved.save"),
        Binding("d", "dismiss('discard')", "Discard", tooltip="Close without the changes", id="unsaved.discard"),
        Binding("escape", "dismiss('stay')", "Stay", tooltip="Go on changing", id="unsaved.stay"),
    ]

    def __init__(self, changes: int) -> None:
        title = "One change is not saved." if changes == 1 else f"{changes} changes are not saved."
        buttons: tuple[ButtonText, ...] = (
            ("save", "Save (s)", "primary"),
            ("discard", "Discard (d)", "default"),
            ("stay", "Stay (Esc)", "default"),
        )
        super().__init__(title, Text(), {name: name for name, _, _ in buttons}, buttons)
