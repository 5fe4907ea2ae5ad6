"""Questions that wait for the running one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from atomr_local.tui.widgets.question_box import QuestionBox

if TYPE_CHECKING:
    from atomr_local.tui.question.conversation import QuestionRequest
    from atomr_local.tui.screens.ask.question_dialogs import Busy
    from atomr_local.tui.screens.ask.screen import AskScreen


class WaitingQuestions:
    """Asked while another is answered, the oldest first. They are not stored: what is stopped comes back to the box."""

    def __init__(self, screen: AskScreen) -> None:
        self._screen = screen
        self._questions: list[QuestionRequest] = []

    def __len__(self) -> int:
        return len(self._questions)

    @property
    def told(self) -> str:
        """How many wait, for the status line; empty if none does."""
        return f"{len(self)} waiting" if self._questions else ""

    def add(self, asked: QuestionRequest, *, first: bool = False) -> None:
        self._questions.insert(0 if first else len(self), asked)
        self._screen.show_status()

    def offer(self, asked: QuestionRequest) -> None:
        """Ask whether this question shall wait for the running one, or stop it."""
        from atomr_local.tui.screens.ask.question_dialogs import BusyScreen

        screen = self._screen

        def chosen(choice: Busy | None) -> None:
            if choice not in {"wait", "stop"}:
                return
            box = screen.query_one(QuestionBox)
            if box.value.strip() == asked.question.strip():
                box.remember(asked.question.strip())
                box.value = ""  # it has been taken; the next one can be typed
            self.add(asked, first=choice == "stop")
            if not screen.state.running:  # it has ended meanwhile
                self.begin_next()
            elif choice == "stop":
                screen.stop_question()

        screen.app.push_screen(BusyScreen(screen.state.question, asked.question), chosen)

    def begin_next(self) -> None:
        """Ask the one that has waited longest, if there is one and nothing runs."""
        if self._questions and not self._screen.state.running:
            asked = self._questions.pop(0)
            stands = self._screen.query_one(QuestionBox).value.strip() == asked.question.strip()
            self._screen.begin(asked, waited=not stands)

    def give_back(self) -> None:
        """None of them is asked: the first one goes back into the box where that is empty, all are recalled with up."""
        if not self._questions:
            return
        box = self._screen.query_one(QuestionBox)
        given, self._questions = self._questions, []
        for asked in reversed(given):
            box.remember(asked.question.strip())
        if not box.value.strip():
            box.value = given[0].question
        count = len(given)
        self._screen.show_notice(
            "Stopped. The waiting question was not asked." if count == 1
            else f"Stopped. {count} waiting questions were not asked; ↑ in the question box brings them back."
        )  # fmt: skip
