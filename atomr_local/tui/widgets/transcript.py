"""The conversation so far, a line for each question; Enter opens an earlier answer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from rich.table import Table
from rich.text import Text
from textual.binding import Binding, BindingType
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from atomr_local.reasoning.confidence.words import NOT_FOUND
from atomr_local.sanitize import sanitize_line
from atomr_local.tui.question.conversation import ShownTurn

_LONGEST = 300  # characters of a question or an answer; a trace from elsewhere may hold a million


class Transcript(OptionList):
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "select", "Open", tooltip="Open the earlier answer", id="turns.open")
    ]

    def __init__(self) -> None:
        super().__init__(id="transcript", markup=False)
        self._shown_turns: list[tuple[str, str, bool]] = []
        self.display = False

    def show(self, turns: Sequence[ShownTurn], shown: int | None) -> None:
        """Show the turns, the one whose answer is on the screen marked; nothing where it is the only one."""
        self.display = len(turns) > (0 if shown is None else 1)
        lines = [(turn.question, turn.answer, place == shown) for place, turn in enumerate(turns)]
        if lines == self._shown_turns:
            return
        self._shown_turns = lines
        self.set_options(Option(_line(*line)) for line in lines)
        if lines:
            self.highlighted = len(lines) - 1 if shown is None else shown
            self.call_after_refresh(self.scroll_to_highlight)


def _line(question: str, answer: str, shown: bool) -> Table:
    """Mark, question and answer in columns: a long question leaves room for the answer."""
    table = Table.grid(padding=(0, 1), expand=True)
    table.add_column(width=1)
    for ratio in (3, 2):
        table.add_column(ratio=ratio, no_wrap=True, overflow="ellipsis")
    found = Text(_short(answer)) if answer else Text(NOT_FOUND, "magenta")
    table.add_row(Text("▸" if shown else " "), Text(_short(question), "dim"), Text.assemble(("→ ", "dim"), found))
    return table


def _short(text: str) -> str:
    return sanitize_line(text[: 2 * _LONGEST])[:_LONGEST]
