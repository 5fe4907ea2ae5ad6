"""Corrects the steps of a finished question and keeps them as a worked process. Observations are made again first."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import ClassVar

from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import Screen
from textual.widgets import Static, TextArea

from atomr_local import paths
from atomr_local.errors import AtomrError
from atomr_local.sanitize import sanitize, sanitize_line
from atomr_local.strategies.processes.process import Process, read_text_form
from atomr_local.strategies.processes.store import keep
from atomr_local.tui.background import in_background
from atomr_local.tui.rendering import coloured
from atomr_local.tui.screens.confirm import confirm
from atomr_local.tui.widgets.bottom_line import SteadyFooter
from atomr_local.tui.widgets.clean_text import CleanArea

_HELP = (
    "By hand: what you read on the page (several with ;), or the query that you want; none if there is nothing. "
    "Without it the model reads or writes. Observations are made again when you keep it."
)
_WORKING = "… the steps are done again"


class ProcessEditor(Screen[bool]):
    """Dismisses with whether the process was kept."""

    DEFAULT_CSS = """
    #process-title { background: $panel; padding: 0 1; height: auto; }
    #process-help { padding: 0 1; color: $text-muted; height: auto; }
    #process-text { height: 1fr; border: round $border-blurred; }
    #process-text:focus { border: heavy $accent; }
    #process-check { height: auto; max-height: 5; padding: 0 1; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "leave", "Close", priority=True, tooltip="Close without keeping", id="process.close"),
        Binding("ctrl+s", "keep", "Save", tooltip="Do the steps again, and keep the process as an example",
                id="process.save"),
    ]  # fmt: skip

    def __init__(self, process: Process, do_again: Callable[[Process], Process], stop: Callable[[], object]) -> None:
        """Make the screen.

        Args:
            do_again: makes the observations; blocks.
            stop: ends that.
        """
        super().__init__()
        self._question, self._indexes = process.question, process.indexes
        self._first = sanitize(process.as_text())
        self._do_again = do_again
        self._stop = stop
        self._process: Process | None = process
        self._working = False

    def compose(self) -> ComposeResult:
        yield Static(Text(sanitize_line(self._question), "bold"), id="process-title")
        yield CleanArea(self._first, id="process-text", tab_behavior="focus")
        yield Static(id="process-check", markup=False)
        yield Static(Text(_HELP), id="process-help")
        yield SteadyFooter()

    def on_mount(self) -> None:
        self.query_one(TextArea).focus()
        self._check()

    @on(TextArea.Changed)
    def _check(self) -> None:
        try:
            self._process = read_text_form(self.query_one(TextArea).text).quoting(self._indexes)
        except AtomrError as error:
            self._process = None
            self._tell(f"✗ {error.message}", "red")
        else:
            self._tell(f"✓ {len(self._process.steps)} steps", "green")
        self.refresh_bindings()

    def _tell(self, text: str, colour: str) -> None:
        self.query_one("#process-check", Static).update(coloured(sanitize_line(text), colour))

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action == "keep":
            return (self._process is not None and not self._working) or None
        return True

    def action_keep(self) -> None:
        if (process := self._process) is None or self._working:
            return
        self._working = True
        self._tell(_WORKING, "cyan")
        self.refresh_bindings()

        def work() -> Process:
            done = self._do_again(process)
            keep(paths.processes_file(), done)
            return done

        def failed(error: AtomrError) -> None:
            self._working = False
            self._tell(f"✗ {error.message}", "red")
            self.refresh_bindings()

        in_background(self, work, self._kept, failed=failed, group="process", exclusive=True)

    def _kept(self, process: Process) -> None:
        self.app.notify(f"Kept. {process.method} shows it as an example from now on.", markup=False)
        self.dismiss(True)

    def action_leave(self) -> None:
        if self._working:
            self._stop()
            return
        leave = partial(self.dismiss, False)
        if self.query_one(TextArea).text == self._first:
            leave()
            return
        confirm(self.app, "Leave without keeping?", "Your changes are lost.", leave, yes="Leave", no="Keep editing")
