"""One line: model, stage, time, model calls, tokens; and the web switch, unmistakable when on."""

from __future__ import annotations

from collections.abc import Sequence

from rich.text import Text
from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.message import Message
from textual.widgets import Static

from atomr_local.sanitize import sanitize_line

_KEPT = 36  # columns for the name, the stage and the switch


class WebSwitch(Static):
    """Shows whether web search is on; a click toggles it."""

    class Toggled(Message):
        """The user clicked the switch."""

    def __init__(self) -> None:
        super().__init__(id="web", markup=False)

    def show(self, enabled: bool, running: bool | None = None) -> None:
        """Show what holds now: the running question keeps the web as it was when it was asked.

        Args:
            enabled: whether the next question may use the web.
            running: whether the running question uses it; None where none runs.
        """
        now = enabled if running is None else running
        self.set_class(now, "on")
        later = "" if now == enabled else " (on next)" if enabled else " (off next)"
        self.update(f" WEB ON{later} " if now else f" web off{later} ")

    def on_click(self) -> None:
        self.post_message(self.Toggled())


class StatusLine(Horizontal):
    def __init__(self) -> None:
        super().__init__(id="status")

    def compose(self) -> ComposeResult:
        yield Static(Text("atomr-local", "bold"), id="name")
        yield Static(id="stage", markup=False)
        yield Static(id="figures", markup=False)
        yield WebSwitch()

    def show(self, stage: str, figures: Sequence[str]) -> None:
        """Show the stage, and as many of the figures, the first first, as leave the switch in sight."""
        shown = list(figures)
        while shown and len(" · ".join(shown)) > self.size.width - _KEPT:
            shown.pop()
        # The clock may tick before the parts are there, or after they have gone.
        for part, text in (("#stage", Text(sanitize_line(stage))), ("#figures", Text(" · ".join(shown), "dim"))):
            for static in self.query(part).results(Static):
                static.update(text)
