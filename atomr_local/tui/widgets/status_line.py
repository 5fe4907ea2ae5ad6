"""One line: model, stage, time, model calls, tokens; and the web switch, unmistakable when on."""

from __future__ import annotations

from rich.text import Text
from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.message import Message
from textual.widgets import Static

from atomr_local.sanitize import sanitize_line


class WebSwitch(Static):
    """Shows whether web search is on; a click toggles it."""

    class Toggled(Message):
        """The user clicked the switch."""

    def __init__(self) -> None:
        super().__init__(id="web", markup=False)

    def show(self, enabled: bool) -> None:
        self.set_class(enabled, "on")
        self.update(" WEB ON " if enabled else " web off ")

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

    def show(self, stage: str, figures: str) -> None:
        # The clock may tick before the parts are there, or after they have gone.
        for part, text in (("#stage", Text(sanitize_line(stage))), ("#figures", Text(sanitize_line(figures), "dim"))):
            for shown in self.query(part).results(Static):
                shown.update(text)
