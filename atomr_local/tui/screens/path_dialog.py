"""Asks for a file, with path completion."""

from __future__ import annotations

import asyncio
import os
from itertools import islice
from pathlib import Path
from typing import ClassVar

from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, VerticalScroll
from textual.screen import ModalScreen
from textual.suggester import Suggester
from textual.widgets import Button, Input, Static

from atomr_local.errors import AtomrError, InputError
from atomr_local.sanitize import sanitize, sanitize_line
from atomr_local.tui.screens.error import ErrorScreen
from atomr_local.tui.widgets.clean_text import CleanInput

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
    """Asks for a file that is to be read."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "close", "Close", priority=True, tooltip="Choose no file", id="path.close"),
    ]
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
                yield Static(Text(self._message, "dim"))
            yield CleanInput(id="path", placeholder="Path of the file", suggester=PathSuggester(self._directory))
            yield Static(Text("→ takes the completion that is shown. Escape closes this.", "dim"))
            with Horizontal(id="path-dialog-buttons"):
                yield Button(Text(self._yes), id="open", variant="primary")
                yield Button("Cancel", id="cancel")

    def on_mount(self) -> None:
        self.query_one("#path", Input).focus()

    @on(Input.Submitted)
    @on(Button.Pressed, "#open")
    def _chosen(self) -> None:
        try:
            path = path_from(self.query_one("#path", Input).value, self._directory)
        except AtomrError as error:
            self.app.push_screen(ErrorScreen(error))
            return
        self.dismiss(path)

    @on(Button.Pressed, "#cancel")
    def action_close(self) -> None:
        self.dismiss(None)
