"""The history's screen alone, and questions for it to list."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from textual.app import App
from textual.widgets import OptionList

from atomr_local.assistant.history.store import History
from atomr_local.tui.screens.history.screen import HistoryChoice, HistoryScreen
from support.history_fakes import a_trace

QUESTIONS = [
    ("Who wrote Frankenstein?", "answered", "The answer is Mary Shelley."),
    ("Where was Fritz Lang born?", "unknown", "Unknown."),
    ("Which river crosses Vienna?", "cancelled", "Cancelled."),
    ("How high is Mont Blanc?", "failed", ""),
]


class Bare(App[None]):
    def __init__(self, directory: Path | None = None, *, page: int = 100, keeping: bool = True) -> None:
        super().__init__()
        self.history = HistoryScreen(page=page, directory=directory, keeping=keeping)
        self.given: list[HistoryChoice | None] = []

    def on_mount(self) -> None:
        self.push_screen(self.history, self.given.append)

    @property
    def lines(self) -> OptionList:
        return self.history.query_one("#list", OptionList)

    @property
    def told(self) -> list[str]:
        return [note.message for note in self._notifications]


def keep(*questions: tuple[str, str, str]) -> list[int]:
    with History.open() as history:
        return [
            history.record(
                a_trace(question, status=status, answer=answer),
                asked_at=datetime(2026, 1, 2, 3, 4 + number, tzinfo=UTC),
            )
            for number, (question, status, answer) in enumerate(questions)
        ]
