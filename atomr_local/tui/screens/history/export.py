"""One question written to a file: to read, to compute with, or to open in another installation."""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import ClassVar

from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.widgets import Checkbox, Input, RadioButton, RadioSet

from atomr_local.assistant.history.database import StoredQuestion
from atomr_local.assistant.history.export import to_json, to_markdown, unkept
from atomr_local.reasoning.trace.schema import Trace
from atomr_local.system.files import write_output
from atomr_local.system.sanitize import sanitize_line
from atomr_local.tui.background import in_background
from atomr_local.tui.screens.dialogs import PathDialog, confirm

FORMATS = ("markdown", "json", "trace")
_ENDINGS = {"markdown": ".md", "json": ".json", "trace": ".trace.json"}
_DESCRIPTIONS = {
    "markdown": "Markdown: to read, with numbered citations",
    "json": "JSON: everything, indented",
    "trace": "Trace file: to share; another installation imports it",
}
_LONGEST_NAME = 48


class _FormatButton(RadioButton):
    """Shows whether it is chosen without colours too."""

    def __init__(self, label: Text, value: bool, id: str) -> None:
        super().__init__(label, value=value, id=id)
        self.BUTTON_INNER = "●" if value else " "

    def watch_value(self) -> None:
        self.BUTTON_INNER = "●" if self.value else " "
        super().watch_value()


class ExportScreen(PathDialog):
    """Gives the path that was written, None when nothing was."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "close", "Close", priority=True, tooltip="Write nothing", id="export.close"),
        Binding("ctrl+s", "take", "Write", priority=True, tooltip="Write the file", id="export.write"),
    ]
    HINT = "The file names the model and the indexes."
    DEFAULT_CSS = """
    ExportScreen > #path-dialog { padding: 0 2; }
    ExportScreen #path-message { text-wrap: nowrap; text-overflow: ellipsis; height: 1; }
    ExportScreen RadioSet { width: 100%; height: auto; }
    ExportScreen Checkbox { width: 100%; border: none; padding: 0 1; }
    """

    def __init__(
        self,
        exported: StoredQuestion | Trace,
        *,
        conversation: Sequence[StoredQuestion | Trace] = (),
        form: str = "markdown",
        directory: Path | None = None,
    ) -> None:
        """Ask where to write `exported`.

        Args:
            conversation: all questions of its conversation, oldest first; they may be written instead.
            form: one of FORMATS that is offered.
            directory: that is offered; by default the current one.
        """
        self._kept = _kept(exported)
        question = sanitize_line(self._kept.trace.question)
        super().__init__("Export", question, yes="Write (^s)", directory=directory)
        self._conversation = [_kept(item) for item in conversation]
        self._form = form
        self._offered = ""

    def choices(self) -> ComposeResult:
        with RadioSet(id="format"):
            for form in FORMATS:
                yield _FormatButton(Text(_DESCRIPTIONS[form]), value=form == self._form, id=form)
        if len(self._conversation) > 1:
            yield Checkbox(Text(f"The whole conversation: {len(self._conversation)} questions"), id="whole")

    def on_mount(self) -> None:
        self._offer()
        super().on_mount()

    def _offer(self) -> None:
        """Offer a name that is free, unless the user has typed one."""
        line = self.query_one("#path", Input)
        if line.value != self._offered:
            known = next((ending for ending in sorted(_ENDINGS.values(), key=len, reverse=True)
                          if line.value.endswith(ending)), None)  # fmt: skip
            if known is not None:
                line.value = line.value.removesuffix(known) + _ENDINGS[self._form]
            return
        self._offered = free_name(self._kept.trace.question, _ENDINGS[self._form], self._directory)
        line.value = self._offered
        line.cursor_position = len(line.value)

    @on(RadioSet.Changed)
    def _format_chosen(self, message: RadioSet.Changed) -> None:
        self._form = message.pressed.id or self._form
        self._offer()

    def take(self, path: Path) -> None:
        self._write(path, over=False)

    def _write(self, path: Path, *, over: bool) -> None:
        whole = any(box.value for box in self.query("#whole").results(Checkbox))
        form, items = self._form, self._conversation if whole else [self._kept]
        earlier = {item.trace.id: item.trace.question for item in self._conversation}

        def work() -> bool:
            if not over and os.path.lexists(path):
                return False
            if form == "markdown":
                text = to_markdown(items, conversation=whole, earlier=earlier)
            else:
                text = to_json(items, several=whole or form == "trace")
            write_output(path, text)
            return True

        in_background(self, work, partial(self._written, path), group="export", exclusive=True)

    def _written(self, path: Path, written: bool) -> None:
        shown = sanitize_line(str(path))
        if not written:
            text = f"{shown} is there already. What it holds would be lost."
            replace = partial(self._write, path, over=True)
            confirm(self.app, "Replace the file?", text, replace, yes="Replace", no="Keep")
            return
        self.app.notify(f"Written to {shown}", markup=False)
        if self.is_attached:
            self.dismiss(path)


def _kept(item: StoredQuestion | Trace) -> StoredQuestion:
    return item if isinstance(item, StoredQuestion) else unkept(item)


def free_name(question: str, ending: str, directory: Path) -> str:
    """A file name made of the question's words in ASCII, which nothing in the directory has yet."""
    plain = unicodedata.normalize("NFKD", sanitize_line(question)).encode("ascii", "ignore").decode()
    stem = re.sub(r"[^a-z0-9]+", "-", plain.lower()).strip("-")[:_LONGEST_NAME].strip("-") or "question"
    name, count = stem + ending, 1
    while os.path.lexists(directory / name):
        count += 1
        name = f"{stem}-{count}{ending}"
    return name
