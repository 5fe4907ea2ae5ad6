"""Going to another question of the conversation, to a kept one, or to none."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from atomr_local.tui.question.conversation import QuestionRequest
from atomr_local.tui.question.state import QuestionState
from atomr_local.tui.screens.ask.keys import BUSY, COMPARE, COMPARE_KEY
from atomr_local.tui.widgets.question_box import LONGEST, QuestionBox

if TYPE_CHECKING:
    from atomr_local.reasoning.trace.schema import Trace
    from atomr_local.tui.screens.ask.screen import AskScreen


class Turns:
    """Moves the main screen between questions, unless one runs: its answer would come to another one's screen."""

    def __init__(self, screen: AskScreen) -> None:
        self._screen = screen

    def open(self, trace: Trace, conversation: Sequence[Trace] = ()) -> None:
        """Show a kept question with its results and continue its conversation."""
        if self._is_busy():
            return
        from atomr_local.tui.question.replay import replay

        shown = self._screen.conversation
        shown.open(conversation or [trace])
        place = shown.place(trace)
        self._look_at(replay(trace) if place is None else shown.turns[place].shown())

    def ask_again(self, trace: Trace, conversation: Sequence[Trace] = ()) -> None:
        """Ask a kept question again, after those that came before it in its conversation."""
        if not self._is_busy():
            self._screen.conversation.open(conversation or [trace])
            self._screen.begin(QuestionRequest(trace.question, again=trace))

    def reopen(self, place: int) -> None:
        """Show a question of this conversation as it was left."""
        if not self._is_busy():
            self._look_at(self._screen.conversation.turns[place].shown())

    def show_answer(self, trace: Trace) -> None:
        """Show another answer to the question on the screen; later questions go on from it."""
        if self._is_busy():
            return
        from atomr_local.tui.question.replay import replay

        shown = self._screen.conversation
        if (place := shown.place(trace)) is not None:
            self._look_at(shown.turns[place].shown())
            return
        state = replay(trace)
        shown.take(state, self._screen.state.trace)
        self._look_at(state)

    def tell_compared(self, trace: Trace, again: Trace | None) -> None:
        """Say where the answers can be compared, when another strategy than before has answered."""
        if (
            again is not None
            and again.strategy != trace.strategy
            and self._screen.conversation.place(trace) is not None
        ):
            key = self._screen.assistant.settings.ui.keys.get(COMPARE_KEY, COMPARE)
            self._screen.show_notice(f"{trace.strategy} has answered. {key} compares it with {again.strategy}.")

    def begin_new(self) -> None:
        """Begin a new conversation: the next question stands alone."""
        self._screen.conversation.turns.clear()
        self._screen.show_empty(QuestionState())
        box = self._screen.query_one(QuestionBox)
        box.value = ""
        self._screen.set_focus(box)
        self._screen.show_notice("New conversation.")

    def _look_at(self, state: QuestionState) -> None:
        self._screen.show_question(state, 0)
        self._screen.query_one(QuestionBox).value = state.question[:LONGEST]
        self._screen.action_focus_tree()

    def _is_busy(self) -> bool:
        if self._screen.state.running:
            self._screen.show_notice(f"{BUSY} Escape stops it.")
        return self._screen.state.running
