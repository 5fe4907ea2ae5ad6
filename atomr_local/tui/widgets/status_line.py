"""The first line: what is going on, and the switches."""

from __future__ import annotations

from rich.text import Text
from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.widget import Widget
from textual.widgets import Static

from atomr_local.sanitize import sanitize_line
from atomr_local.tui.widgets.source_switches import SourceSwitches


class StatusLine(Horizontal):
    def __init__(self) -> None:
        super().__init__(id="status")

    def compose(self) -> ComposeResult:
        yield Static(Text("atomr-local", "bold"), id="name")
        yield Static(id="stage", markup=False)
        yield SourceSwitches()

    def show(self, stage: str) -> None:
        show_text(self, "#stage", Text(sanitize_line(stage)))


def show_text(line: Widget, part: str, text: Text) -> None:
    """Show the text in that part where it is another one: every update lays the screen out anew."""
    # The clock may tick before the part is there, or after it has gone.
    for static in line.query(part).results(Static):
        if static.content != text:
            static.update(text)
