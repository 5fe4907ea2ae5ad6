"""The conversation so far, a line for each question; and what the present question was understood to mean in it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from rich.table import Table
from rich.text import Text
from textual.binding import Binding, BindingType
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from atomr_local.sanitize import sanitize_line
from atomr_local.tui.question.conversation import ShownTurn
from atomr_local.tui.question.state import QuestionState
from atomr_local.tui.rendering import short_line

LONGEST_STATUS = "well supported ✎"
_LONGEST_UNDERSTOOD = 400  # characters of a question


class Transcript(OptionList):
    """The turns; Enter opens an earlier answer."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "select", "Open", tooltip="Open the answer with its steps", id="turns.open")
    ]

    def __init__(self) -> None:
        super().__init__(id="transcript", markup=False)
        self._shown_turns: list[tuple[str, str, str, bool]] = []
        self.display = False

    def show(self, turns: Sequence[ShownTurn], shown: int | None) -> None:
        """Show the turns, the one whose answer is on the screen marked; nothing where it is the only one."""
        self.display = len(turns) > (0 if shown is None else 1)
        lines = [(turn.question, turn.answer, turn.status, place == shown) for place, turn in enumerate(turns)]
        if lines == self._shown_turns:
            return
        self._shown_turns = lines
        self.set_options(Option(_line(*line)) for line in lines)
        if lines:
            self.highlighted = len(lines) - 1 if shown is None else shown
            self.call_after_refresh(self.scroll_to_highlight)


def _line(question: str, answer: str, status: str, shown: bool) -> Table:
    """Mark, question, answer and status in columns: a long question leaves room for the others."""
    table = Table.grid(padding=(0, 1), expand=True)
    table.add_column(width=1)
    for ratio in (3, 2):
        table.add_column(ratio=ratio, no_wrap=True, overflow="ellipsis")
    table.add_column(width=len(LONGEST_STATUS), no_wrap=True)
    found = Text(short_line(answer)) if answer else Text(status, "magenta")
    table.add_row(
        Text("▸" if shown else " "),
        Text(short_line(question), "dim"),
        Text.assemble(("→ ", "dim"), found),
        Text(status if answer else "", "dim"),
    )
    return table


class UnderstoodLine(Static):
    """How the question was understood, and which earlier ones gave what it left out; hidden where that is nothing."""

    def __init__(self) -> None:
        super().__init__(id="understood", markup=False)
        self.display = False

    def show(self, state: QuestionState, earlier: Mapping[str, str], key: str) -> None:
        """Show it.

        Args:
            earlier: the questions of the conversation by trace id.
            key: that opens the question as understood for editing.
        """
        text = understood_text(state, earlier)
        if text and state.trace is not None:
            text.append(f" · {sanitize_line(key)} rewords it", "dim")
        self.display = bool(text)
        if text != self.content:
            self.update(text)


def understood_text(state: QuestionState, earlier: Mapping[str, str]) -> Text:
    """The line; empty for a first question that is taken as it was typed."""
    text = Text()
    if state.reworded:
        text.append("Understood as: ", "dim").append(short_line(state.understood_as, _LONGEST_UNDERSTOOD))
    if not state.conversation:
        return text
    taken = [f"“{short_line(earlier[name], _LONGEST_UNDERSTOOD)}”" for name in state.took_from if name in earlier]
    if taken:
        text.append(" · from " if text else "Goes on from ", "dim").append(", ".join(taken), "dim")
    elif state.took_from:
        text.append(" · from an earlier question" if text else "Goes on from an earlier question", "dim")
    else:
        text.append(" · " if text else "", "dim")
        text.append("New topic: nothing is taken from the earlier questions", "dim")
    return text
