"""The question box, with the questions of this session under up and down."""

from __future__ import annotations

from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.widgets import Input


class QuestionBox(Input):
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up", "earlier", "Earlier question", show=False),
        Binding("down", "later", "Later question", show=False),
    ]

    def __init__(self) -> None:
        # Selecting on focus happens late, and would have what was typed meanwhile replaced.
        super().__init__(
            placeholder="Ask a question and press Enter", id="question", max_length=2000, select_on_focus=False
        )
        self._asked: list[str] = []
        self._place = 0

    def remember(self, question: str) -> None:
        if not self._asked or self._asked[-1] != question:
            self._asked.append(question)
        self._place = len(self._asked)

    def action_earlier(self) -> None:
        self._go(self._place - 1)

    def action_later(self) -> None:
        self._go(self._place + 1)

    def _go(self, place: int) -> None:
        if not self._asked:
            return
        self._place = max(0, min(place, len(self._asked)))
        self.value = self._asked[self._place] if self._place < len(self._asked) else ""
        self.cursor_position = len(self.value)
