"""How the program comes up: the assistant is opened and loaded behind the first frame, and what fails is told.

Also the first start's choice of how to begin, and what is told of faults of the program's own.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from textual import on, work
from textual.app import App
from textual.message import Message
from textual.worker import Worker, WorkerState

from atomr_local.errors import AtomrError
from atomr_local.tui.faults import fault
from atomr_local.tui.screens.ask.screen import AskScreen
from atomr_local.tui.themes import choose, register

if TYPE_CHECKING:
    from textual.screen import Screen

    from atomr_local.tui.core import Answerer

_NOTICE = 20.0  # seconds that a notice about the settings stays
_TOLD = 3  # wrong entries told in one notice


class Opening(App[None]):
    """The part of the program that opens what the rest of it needs, and tells what cannot be opened."""

    @dataclass
    class Opened(Message):
        """The settings are read and the assistant is there, or it could not be opened."""

        assistant: Answerer | None
        error: AtomrError | None = None

    @dataclass
    class Staged(Message):
        stage: str

    @dataclass
    class Loaded(Message):
        """The model and the indexes are ready, or loading failed."""

        error: AtomrError | None

    @dataclass
    class KeysWrong(Message):
        """Entries of `ui.keys` in the settings that do nothing, and why."""

        problems: list[str]

    class FirstStart(Message):
        """Nothing but the starter is at hand, and how to begin was never chosen."""

    def __init__(
        self, assistant: Answerer | Callable[[], Answerer], *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """Make the app of an assistant, or of what opens one: it is called on a thread, behind the first frame."""
        super().__init__()
        self._given = assistant
        self._opened: Answerer | None = None
        self.fault: AtomrError | None = None  # ours, that ended the program
        self._beginning = False  # the first start's choice is open
        self.ask_screen = AskScreen(clock=clock)
        register(self)
        self.theme = choose("")

    @property
    def assistant(self) -> Answerer:
        """The assistant; what needs it is dimmed until it is there."""
        assert self._opened is not None
        return self._opened

    def get_default_screen(self) -> Screen[None]:
        return self.ask_screen

    # The assistant

    @on(AskScreen.Furnished)
    def _furnished(self) -> None:
        if callable(self._given):
            self._open(self._given)
        else:
            self._use_assistant(self._given)

    @work(thread=True, exit_on_error=False, group="open")
    def _open(self, opener: Callable[[], Answerer]) -> None:
        try:
            self.post_message(self.Opened(opener()))
        except AtomrError as error:
            self.post_message(self.Opened(None, error))

    @on(Opened)
    def _assistant_opened(self, message: Opened) -> None:
        if message.assistant is not None:
            self._use_assistant(message.assistant)
        if message.error is not None:
            self._show_loading("not ready")
            self.show_error(message.error)

    def _use_assistant(self, assistant: Answerer) -> None:
        self._opened = assistant
        ui = assistant.settings.ui
        self._follow_settings()
        self.ask_screen.attach(assistant)
        self.call_after_refresh(self._load)
        if ui.keys:
            self._check_keys(ui.keys)
        if not ui.first_run_done:
            self._look_around()

    def _follow_settings(self) -> None:
        """Theme, keys and panes as the settings have them."""
        ui = self.assistant.settings.ui
        self.theme = choose(ui.theme)
        self.set_keymap(ui.keys)

    @work(thread=True, exit_on_error=False, group="keys")
    def _check_keys(self, keys: Mapping[str, str]) -> None:
        from atomr_local.tui.binding_ids import binding_ids
        from atomr_local.tui.screens.settings.form import wrong_keys

        problems = list(wrong_keys(keys, binding_ids()))
        if problems:
            self.post_message(self.KeysWrong(problems))

    @on(KeysWrong)
    def _keys_wrong(self, message: KeysWrong) -> None:
        from atomr_local.sanitize import sanitize_line

        told = [sanitize_line(problem) for problem in message.problems[:_TOLD]]
        if len(message.problems) > _TOLD:
            told.append(f"… and {len(message.problems) - _TOLD} more")
        told.append("Correct ui.keys in the settings (F4); F1 shows the keys.")
        self.notify("\n".join(told), title="Keys of your own", severity="warning", timeout=_NOTICE, markup=False)

    @work(thread=True, exit_on_error=False, group="load")
    def _load(self, *, again: bool = False) -> None:
        if again:  # what the change of the settings let go is collected
            gc.unfreeze()
            gc.collect()
        try:
            self.assistant.preload(self._post_stage)
        except AtomrError as error:
            self.post_message(self.Loaded(error))
        else:
            gc.freeze()  # looking through all that is there by now would hold up a frame for a tenth of a second
            self.post_message(self.Loaded(None))

    def _reload(self) -> None:
        self._show_loading("loading")
        self._load(again=True)

    def _post_stage(self, stage: str) -> None:
        self.post_message(self.Staged(stage))

    @on(Staged)
    def _staged(self, message: Staged) -> None:
        self._show_loading(message.stage)

    @on(Loaded)
    def _loaded(self, message: Loaded) -> None:
        self._show_loading("" if message.error is None else "not ready")
        if message.error is not None:
            self.show_error(message.error)

    def _show_loading(self, stage: str) -> None:
        self.ask_screen.loading_stage = stage
        self.ask_screen.show_status()

    # The first start

    @work(thread=True, exit_on_error=False, group="look")
    def _look_around(self) -> None:
        from atomr_local.tui.first_run import only_the_starter

        with suppress(AtomrError, OSError):
            if only_the_starter(self.assistant.settings):
                self.post_message(self.FirstStart())

    @on(FirstStart)
    def _first_start(self) -> None:
        self._beginning = True
        self.ask_screen.offer_beginning()

    def _begun(self) -> None:
        if self._beginning:
            self._beginning = False
            self.ask_screen.end_beginning()
            self._remember({"ui.first_run_done": True})

    def _remember(self, changes: dict[str, object]) -> None:
        """Write settings to the user's file; a file that cannot be written is told; the setting holds till the end."""
        from atomr_local.settings_file import save_settings

        try:
            save_settings(changes)
        except AtomrError as error:
            self.ask_screen.tell(f"Not remembered: {error.message}")

    # What fails

    def show_error(self, error: AtomrError) -> None:
        """Show the error in a panel of its own."""
        from atomr_local.tui.screens.error import ErrorScreen

        self.push_screen(ErrorScreen(error))

    def on_worker_state_changed(self, event: Worker.StateChanged) -> None:
        """A fault of ours on a thread is told as any error is."""
        if event.state is WorkerState.ERROR and event.worker.error is not None:
            self.show_error(fault(event.worker.error))

    def _handle_exception(self, error: Exception) -> None:
        # Textual would print a traceback over the terminal. Headless it shall: tests need it.
        if self.is_headless:
            super()._handle_exception(error)
            return
        self.fault = fault(error)
        self.exit(return_code=1)
