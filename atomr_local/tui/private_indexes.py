"""Private indexes while the terminal UI runs: marked by a key, or by the commands that it starts in the background."""

from __future__ import annotations

from typing import TYPE_CHECKING

from atomr_local.errors import AtomrError

if TYPE_CHECKING:
    from atomr_local.tui.app import AtomrApp

_LOOK_AGAIN = 1.0  # seconds, while a question runs


class PrivateIndexes:
    """Changes the mark in the settings file, and lets the assistant know. To be used on the UI's thread."""

    def __init__(self, app: AtomrApp) -> None:
        """Make it for `app`."""
        self._app = app

    def toggle(self, name: str) -> None:
        """Make the index private, or no longer."""
        from atomr_local.indexing.store import index_names
        from atomr_local.settings.schema import load_settings
        from atomr_local.sources.privacy import mark_private

        try:
            private = name not in index_names(load_settings().privacy.indexes)
            mark_private([name], private=private)
        except AtomrError as error:
            self._app.show_error(error)
            return
        self._app.ask_screen.show_notice(f"{name} is {'private' if private else 'private no longer'}.")
        self.follow()

    def follow(self) -> None:
        """Take the marks of the settings file into use; a question that runs keeps those that it began with."""
        from atomr_local.settings.schema import load_settings

        assistant = self._app.assistant
        try:
            names = load_settings().privacy.indexes
        except AtomrError:  # told where the file is read for something else
            return
        if names == assistant.settings.privacy.indexes:
            return
        try:
            assistant.reconfigure(privacy={"indexes": names})
        except AtomrError:  # a question runs
            self._app.set_timer(_LOOK_AGAIN, self.follow)
