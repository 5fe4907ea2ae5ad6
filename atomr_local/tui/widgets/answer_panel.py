"""The answer: what it is, what it rests on, and how sure it is."""

from __future__ import annotations

import re
from collections.abc import Iterable

from rich.text import Text
from textual.containers import VerticalScroll
from textual.widgets import Static

from atomr_local.sanitize import sanitize, sanitize_line
from atomr_local.tui.state import QuestionState

_STATUS_STYLE = {"answered": "bold", "unknown": "magenta", "cancelled": "yellow", "failed": "red"}


class AnswerPanel(VerticalScroll):
    BORDER_TITLE = "Answer"

    def __init__(self) -> None:
        super().__init__(Static(id="answer-text", markup=False), id="answer")

    def show(self, state: QuestionState) -> None:
        self.display = state.answer is not None or bool(state.warnings)
        self.query_one("#answer-text", Static).update(answer_of(state))
        self.scroll_home(animate=False)


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
    for warning in gathered(state.warnings):
        text.append(
            ("\n" if text else "") + sanitize(warning), "red" if answer and answer.status == "failed" else "yellow"
        )
    return text


def gathered(warnings: Iterable[str]) -> list[str]:
    """Each warning once, with all the steps that it was raised for."""
    steps: dict[str, list[str]] = {}
    for warning in warnings:
        of_step = re.fullmatch(r"step (\d+): (.*)", warning, re.DOTALL)
        told = steps.setdefault(of_step[2] if of_step else warning, [])
        if of_step and of_step[1] not in told:
            told.append(of_step[1])
    return [
        f"step{'s' if len(numbers) > 1 else ''} {', '.join(numbers)}: {text}" if numbers else text
        for text, numbers in steps.items()
    ]
