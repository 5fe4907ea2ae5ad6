"""The first line: what is going on, and the switches."""

from __future__ import annotations

from rich.text import Text
from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.widget import Widget
from textual.widgets import Static

from atomr_local.sanitize import sanitize_line
from atomr_local.tui.widgets.source_switches import SourceSwitches

_LONGEST_HOST = 32


class StatusLine(Horizontal):
    def __init__(self) -> None:
        super().__init__(id="status")

    def compose(self) -> ComposeResult:
        yield Static(Text("atomr-local", "bold"), id="name")
        yield Static(id="stage", markup=False)
        remote = Static(id="remote", markup=False)
        remote.display = False
        yield remote
        yield SourceSwitches()

    def show_remote(self, host: str) -> None:
        """Name the other machine that the model is on; empty: it is on this one."""
        for static in self.query("#remote").results(Static):
            static.display = bool(host)
            static.tooltip = f"Questions and evidence leave this machine → {host}" if host else None
        shown = host if len(host) <= _LONGEST_HOST else f"{host[: _LONGEST_HOST - 1]}…"
        show_text(self, "#remote", Text(f"Model → {sanitize_line(shown)}"))

    def show(self, stage: str) -> None:
        show_text(self, "#stage", Text(sanitize_line(stage)))


def show_text(line: Widget, part: str, text: Text) -> None:
    """Show the text in that part where it is another one: every update lays the screen out anew."""
    # The clock may tick before the part is there, or after it has gone.
    for static in line.query(part).results(Static):
        if static.content != text:
            static.update(text)
