"""The answer: what it is, what it rests on, and how sure it is."""

from __future__ import annotations

from rich.text import Text
from textual.widgets import Static

from atomr_local.sanitize import sanitize, sanitize_line
from atomr_local.tui.state import QuestionState

_STATUS_STYLE = {"answered": "bold", "unknown": "magenta", "cancelled": "yellow", "failed": "red"}


class AnswerPanel(Static):
    BORDER_TITLE = "Answer"

    def __init__(self) -> None:
        super().__init__(id="answer", markup=False)

    def show(self, state: QuestionState) -> None:
        self.display = state.answer is not None or bool(state.warnings)
        self.update(answer_of(state))


def answer_of(state: QuestionState) -> Text:
    """The answer with citations, confidence, basis and warnings, sanitised."""
    text = Text()
    answer = state.answer
    if answer is not None:
        text.append(sanitize_line(answer.answer), _STATUS_STYLE[answer.status])
        root = state.nodes.get(0)
        if root is not None and root.result is not None and answer.status == "answered":
            text.append("".join(f" [{item}]" for item in root.result.cited), "cyan")
        if answer.confidence is not None:
            text.append(f"  confidence {answer.confidence:.2f}", "dim")
        if answer.basis == "model" and answer.answers:
            text.append("\nThis is the model's own knowledge: no evidence supports it.", "yellow")
        if state.origin == "fallback" and state.answer is not None:
            text.append("\nNo valid plan was found; the question was answered in one step.", "yellow")
    for warning in state.warnings:
        text.append(
            ("\n" if text else "") + sanitize(warning), "red" if answer and answer.status == "failed" else "yellow"
        )
    return text
