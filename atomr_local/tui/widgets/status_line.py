"""The first line: status, and the switches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.text import Text
from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.widget import Widget
from textual.widgets import Static

from atomr_local.sanitize import sanitize_line
from atomr_local.tui.widgets.source_switches import SourceSwitches

if TYPE_CHECKING:
    from atomr_local.assistant import Assistant

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

    def show_sources(self, assistant: Assistant, running_web: bool | None) -> str:
        """Show which sources may be used, and give the other machine that the model is on, empty if it is this one.

        Args:
            running_web: whether the running question uses the web; None if none runs.
        """
        host = assistant.settings.endpoint.url.remote_host()
        for static in self.query("#remote").results(Static):
            static.display = bool(host)
            static.tooltip = f"Questions and evidence leave this machine → {host}" if host else None
        shown = host if len(host) <= _LONGEST_HOST else f"{host[: _LONGEST_HOST - 1]}…"
        show_text(self, "#remote", Text(f"Model → {sanitize_line(shown)}"))
        local: Sequence[str] = assistant.settings.sources
        self.query_one(SourceSwitches).show(
            text="text" in local, graph="graph" in local, web=assistant.web_enabled, running=running_web
        )
        return host

    def show(self, stage: str) -> None:
        show_text(self, "#stage", Text(sanitize_line(stage)))


def show_text(line: Widget, part: str, text: Text) -> None:
    """Show the text in that part where it is another one: every update lays the screen out again."""
    # The clock may tick before the part is there, or after it has gone.
    for static in line.query(part).results(Static):
        if static.content != text:
            static.update(text)
