"""The last line: the keys that do something now, and what the question took."""

from __future__ import annotations

from collections.abc import Sequence

from rich.text import Text
from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.widgets import Static

from atomr_local.tui.widgets.status_line import show_text
from atomr_local.tui.widgets.steady_footer import SteadyFooter


class BottomLine(Horizontal):
    def __init__(self) -> None:
        super().__init__(id="bottom")

    def compose(self) -> ComposeResult:
        yield SteadyFooter()
        yield Static(id="figures", markup=False)

    def show(self, figures: Sequence[str]) -> None:
        """Show as many of the figures, the first first, as leave half of the line to the keys."""
        shown = list(figures)
        while shown and len(" · ".join(shown)) > max(24, self.size.width // 2):
            shown.pop()
        show_text(self, "#figures", Text(" · ".join(shown), "dim"))
