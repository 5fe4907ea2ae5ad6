"""How the program comes up: the assistant is opened and loaded behind the first frame."""

from __future__ import annotations

import gc
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from atomr_local.errors import AtomrError
from atomr_local.sources.registry import all_sources
from atomr_local.tui.background import in_background

if TYPE_CHECKING:
    from atomr_local.assistant import Assistant
    from atomr_local.settings.schema import Settings
    from atomr_local.tui.app import AtomrApp

_NOTICE = 20.0  # seconds that a notice about the settings stays
_MOST_SHOWN = 3  # wrong entries told in one notice


class Startup:
    """Opens what the app needs, loads it, and tells what cannot be opened or does nothing."""

    def __init__(self, app: AtomrApp, given: Assistant | Callable[[], Assistant]) -> None:
        self._app, self._given = app, given

    def open(self) -> None:
        """Open the assistant on a thread, where it is not there already."""
        if callable(self._given):
            in_background(self._app, self._given, self._opened, failed=self._not_ready, group="open")
        else:
            self._opened(self._given)

    def _opened(self, assistant: Assistant) -> None:
        app, ui = self._app, assistant.settings.ui
        app.use_assistant(assistant)
        app.call_after_refresh(self.load)
        in_background(app, all_sources, app.use_sources, group="sources")
        if ui.keys:
            from atomr_local.tui.keys import wrong_keys

            in_background(app, partial(wrong_keys, ui.keys), self._warn_of_wrong_keys, group="keys")
        if not ui.first_run_done:
            in_background(app, partial(_is_first_run, assistant.settings), self._offer_first_run, group="look")

    def load(self, *, again: bool = False) -> None:
        """Load the model and the indexes; `again`: others than before."""
        app = self._app
        if again:
            app.ask_screen.show_loading("loading")

        def show(stage: str) -> None:
            app.call_later(app.ask_screen.show_loading, stage)

        def work() -> None:
            if again:  # what the change of the settings let go is collected
                gc.unfreeze()
                gc.collect()
            app.assistant.preload(show)
            gc.freeze()  # looking through all that is there by now would hold up a frame for a tenth of a second

        def loaded(_: None) -> None:
            app.ask_screen.show_loading("")
            # What fails there is told when a question is asked.
            made = app.assistant.example_questions
            in_background(app, made, app.ask_screen.welcome.offer, failed=lambda _: None, group="made")

        in_background(app, work, loaded, failed=self._not_ready, group="load")

    def _not_ready(self, error: AtomrError) -> None:
        self._app.ask_screen.show_loading("not ready")
        self._app.show_error(error)

    def _warn_of_wrong_keys(self, problems: Sequence[str]) -> None:
        from atomr_local.sanitize import sanitize_line

        if not problems:
            return
        lines = [sanitize_line(problem) for problem in problems[:_MOST_SHOWN]]
        if len(problems) > _MOST_SHOWN:
            lines.append(f"… and {len(problems) - _MOST_SHOWN} more")
        lines.append("Correct ui.keys in the settings (F4); F1 shows the keys.")
        self._app.notify("\n".join(lines), title="Your own keys", severity="warning", timeout=_NOTICE, markup=False)

    def _offer_first_run(self, first_run: bool) -> None:
        if first_run:
            self._app.offer_first_run()


def _is_first_run(settings: Settings) -> bool:
    with suppress(AtomrError, OSError):
        return only_the_starter(settings)
    return False


def only_the_starter(settings: Settings) -> bool:
    """Whether no model and no index of the user's own is available or chosen. It reads the disk."""
    from atomr_local import paths
    from atomr_local.indexing.store import STARTER, list_indexes

    chosen = (settings.model, settings.text_index or STARTER, settings.graph_index or STARTER)
    if set(chosen) != {STARTER} or settings.endpoint.url:
        return False
    if any(paths.models_dir().glob("*.gguf")):  # reading them would hold up the first frames
        return False
    return all(entry.name == STARTER for entry in list_indexes())
