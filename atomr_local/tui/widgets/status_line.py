"""The first line: what is going on, and the switches; the last line: keys, and what the question took."""

from __future__ import annotations

from collections.abc import Sequence

from rich.text import Text
from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.widget import Widget
from textual.widgets import Footer, Static

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
        _update(self, "#stage", Text(sanitize_line(stage)))


class BottomLine(Horizontal):
    def __init__(self) -> None:
        super().__init__(id="bottom")

    def compose(self) -> ComposeResult:
        yield Footer(show_command_palette=False)
        yield Static(id="figures", markup=False)

    def show(self, figures: Sequence[str]) -> None:
        """Show as many of the figures, the first first, as leave half of the line to the keys."""
        shown = list(figures)
        while shown and len(" · ".join(shown)) > max(24, self.size.width // 2):
            shown.pop()
        _update(self, "#figures", Text(" · ".join(shown), "dim"))


def _update(line: Widget, part: str, text: Text) -> None:
    """Show the text where it is another one: every update lays the screen out anew."""
    # The clock may tick before the part is there, or after it has gone.
    for static in line.query(part).results(Static):
        if static.content != text:
            static.update(text)
