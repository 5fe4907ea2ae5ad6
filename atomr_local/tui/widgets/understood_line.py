"""How the question was understood, and which earlier questions gave what it left out."""

from __future__ import annotations

from collections.abc import Mapping

from rich.text import Text
from textual.widgets import Static

from atomr_local.sanitize import sanitize_line
from atomr_local.tui.question.state import QuestionState

_LONGEST = 400


class UnderstoodLine(Static):
    """Hidden where there is nothing to say: the question is taken as it was typed."""

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
        text.append("Understood as: ", "dim").append(_short(state.understood_as))
    if not state.conversation:
        return text
    taken = [f"“{_short(earlier[name])}”" for name in state.took_from if name in earlier]
    if taken:
        text.append(" · from " if text else "Goes on from ", "dim").append(", ".join(taken), "dim")
    elif state.took_from:
        text.append(" · from an earlier question" if text else "Goes on from an earlier question", "dim")
    else:
        text.append(" · " if text else "", "dim")
        text.append("New topic: nothing is taken from the earlier questions", "dim")
    return text


def _short(text: str) -> str:
    return sanitize_line(text[: 2 * _LONGEST])[:_LONGEST]
