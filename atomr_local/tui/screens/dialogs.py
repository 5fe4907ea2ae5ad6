"""Dialogs: a choice, a confirmation, a file to name; and errors in words."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, ClassVar, Literal, TypeVar

from rich.text import Text
from textual import on
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, VerticalScroll
from textual.screen import ModalScreen
from textual.suggester import Suggester
from textual.widgets import Button, Input, Static

from atomr_local.errors import AtomrError, InputError
from atomr_local.system.sanitize import sanitize, sanitize_line
from atomr_local.tui.background import ErrorScreen
from atomr_local.tui.rendering import coloured, short_line
from atomr_local.tui.widgets.question_box import CleanInput

# A question with a button for each answer.

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


# Questions before something that cannot be undone.


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


# Errors where they arose.


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


# Asks for a file, with path completion.

_MOST_NAMES = 5_000  # of a directory looked through for one completion


class PathSuggester(Suggester):
    """Completes the last part of a path from what is in its directory."""

    def __init__(self, directory: Path) -> None:
        """Complete; paths that are not absolute start in `directory`."""
        super().__init__(use_cache=False, case_sensitive=True)
        self._directory = directory

    async def get_suggestion(self, value: str) -> str | None:
        return await asyncio.to_thread(completed, value, self._directory)


def completed(value: str, directory: Path) -> str | None:
    """The path with its last part completed, a directory with its slash; None if nothing begins like it."""
    head, beginning = os.path.split(value)
    if not beginning:
        return None
    found = []
    try:
        with os.scandir(path_from(head, directory) if head else directory) as entries:
            for entry in islice(entries, _MOST_NAMES):
                name = entry.name
                # A name that could not be shown as it is could not be chosen by what is shown either.
                if name.startswith(beginning) and sanitize_line(name) == name:
                    found.append(name + os.sep if entry.is_dir() else name)
    except (OSError, AtomrError):
        return None
    found = [name for name in found if name != beginning]
    return value[: len(value) - len(beginning)] + min(found) if found else None


def path_from(typed: str, directory: Path, *, such_as: str = "answer.md") -> Path:
    """The path that was typed: `~` is the home directory, what is not absolute starts in `directory`.

    Raises:
        InputError: it is empty, or no path.
    """
    if not typed.strip():
        raise InputError("no file is named", hint=f"Type a path, such as {such_as}.")
    if sanitize_line(typed) != " ".join(typed.split()) or "\x00" in typed:
        raise InputError("the path holds characters that cannot be shown", hint="Type another name.")
    try:
        return directory / Path(typed.strip()).expanduser()
    except RuntimeError as error:
        raise InputError(f"{typed.strip()}: {error}", hint="Type the whole path.") from error


class PathDialog(ModalScreen[Path | None]):
    """Asks for a file, which is to be read."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "close", "Close", priority=True, tooltip="Choose no file", id="path.close"),
    ]
    HINT = "Escape closes this."
    DEFAULT_CSS = """
    PathDialog { align: center middle; }
    PathDialog > #path-dialog { width: 90; max-width: 95%; height: auto; max-height: 95%; padding: 1 2;
        background: $surface;
        border: round $accent; }
    PathDialog #path-dialog-buttons { height: auto; }
    PathDialog Button { margin-right: 2; }
    """

    def __init__(self, title: str, message: str = "", *, yes: str = "Open", directory: Path | None = None) -> None:
        """Ask; paths that are not absolute start in `directory`, by default the current one."""
        super().__init__()
        self._title, self._message, self._yes = sanitize_line(title), sanitize(message), sanitize_line(yes)
        self._directory = directory or Path.cwd()

    def compose(self) -> ComposeResult:
        with VerticalScroll(id="path-dialog", can_focus=False):
            yield Static(Text(self._title, "bold"))
            if self._message:
                yield Static(Text(self._message, "dim"), id="path-message")
            yield from self.choices()
            yield CleanInput(id="path", placeholder="Path of the file", suggester=PathSuggester(self._directory))
            yield Static(Text(f"→ takes the completion that is shown. {self.HINT}", "dim"))
            with Horizontal(id="path-dialog-buttons"):
                yield Button(Text(self._yes), id="open", variant="primary")
                yield Button("Cancel", id="cancel")

    def choices(self) -> ComposeResult:
        """What there is to choose beside the path."""
        yield from ()

    def on_mount(self) -> None:
        self.query_one("#path", Input).focus()

    @on(Input.Submitted)
    @on(Button.Pressed, "#open")
    def action_take(self) -> None:
        try:
            path = path_from(self.query_one("#path", Input).value, self._directory)
        except AtomrError as error:
            self.app.push_screen(ErrorScreen(error))
            return
        self.take(path)

    def take(self, path: Path) -> None:
        """Do what is to be done with the path."""
        self.dismiss(path)

    @on(Button.Pressed, "#cancel")
    def action_close(self) -> None:
        self.dismiss(None)
