"""The conversation on the main screen: what the next question goes on with, looked back at, begun anew, reworded."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType
from textual.screen import Screen

from atomr_local.sanitize import sanitize
from atomr_local.tui.core import Answerer, Asked
from atomr_local.tui.question.state import QuestionState
from atomr_local.tui.question.talk import Talk
from atomr_local.tui.widgets.question_box import LONGEST, QuestionBox

if TYPE_CHECKING:
    from textual.widgets import OptionList

    from atomr_local.reasoning.conversation import Conversation
    from atomr_local.reasoning.trace.schema import Trace
    from atomr_local.tui.widgets.transcript import Transcript
    from atomr_local.tui.widgets.understood_line import UnderstoodLine

REWORD_KEY = "question.reword"  # the id of the binding
_REWORD = "w"


class Talking(Screen[None]):
    """The part of the main screen that owns the conversation, and leaves asking and showing to the rest of it."""

    state: QuestionState

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+n", "new_conversation", "New", priority=True,
                tooltip="New conversation: the next question stands alone", id="conversation.new"),
        Binding("t", "focus_turns", "Turns", show=False, tooltip="Go to the earlier questions of the conversation",
                id="focus.turns"),
        Binding(_REWORD, "reword", "Reword", show=False, tooltip="Say what the question means, and ask it again",
                id=REWORD_KEY),
    ]  # fmt: skip

    def __init__(self) -> None:
        super().__init__()
        self.talk = Talk()
        self._transcript: Transcript
        self._understood: UnderstoodLine

    @property
    def _assistant(self) -> Answerer:
        raise NotImplementedError

    def begin(self, asked: Asked) -> None:
        """Ask; told to the user where that is not possible now."""
        raise NotImplementedError

    def tell(self, text: str) -> None:
        """Tell the user in passing; only the newest counts."""
        self.app.clear_notifications()
        self.app.notify(sanitize(text), markup=False)

    def _show(self, state: QuestionState, selected: int | None) -> None:
        raise NotImplementedError

    def show_empty(self, state: QuestionState | None = None) -> None:
        """Show the screen as it was before the first question, with this state or a fresh one."""
        raise NotImplementedError

    def show_talk(self) -> None:
        """Show the conversation so far, and how the question on the screen was understood."""
        state = self.state
        self._transcript.show(self.talk.turns, self.talk.place(state.trace) if state.trace is not None else None)
        keys = self._assistant.settings.ui.keys
        self._understood.show(state, self.talk.named(), keys.get(REWORD_KEY, _REWORD))

    def _goes_on_with(self, asked: Asked) -> Conversation | None:
        """The conversation that the question is asked in; a new one where each shall stand alone."""
        if asked.again is None and not self._assistant.settings.conversation.follow:
            self.talk.clear()
        return self.talk.conversation(asked.again)

    def _is_busy(self) -> bool:
        if self.state.running:
            self.tell("A question is being answered. Escape cancels it.")
        return self.state.running

    def open_trace(self, trace: Trace, conversation: Sequence[Trace] = ()) -> bool:
        """Show a question of before with all that it found, and go on with its conversation; False while one runs."""
        if self._is_busy():
            return False
        self.talk.open(conversation or [trace])
        place = self.talk.place(trace)
        if place is None:
            from atomr_local.tui.question.replay import replay

            self._look_at(replay(trace))
        else:
            self._look_at(self.talk.turns[place].shown())
        return True

    def ask_again(self, trace: Trace, conversation: Sequence[Trace] = ()) -> None:
        """Ask a question of before again, after those that came before it in its conversation."""
        if not self._is_busy():
            self.talk.open(conversation or [trace])
            self.begin(Asked(trace.question, again=trace))

    def _look_at(self, state: QuestionState) -> None:
        self._show(state, 0)
        self.query_one(QuestionBox).value = state.question[:LONGEST]
        self.action_focus_tree()

    def action_focus_tree(self) -> None:
        raise NotImplementedError

    def on_option_list_option_selected(self, message: OptionList.OptionSelected) -> None:
        if message.option_list is self._transcript and not self._is_busy():
            self._look_at(self.talk.turns[message.option_index].shown())

    def action_focus_turns(self) -> None:
        if self._transcript.display:
            self.set_focus(self._transcript)
        else:
            self.tell("There is no earlier question in this conversation.")

    def action_new_conversation(self) -> None:
        if self._is_busy():
            return
        self.talk.clear()
        self.show_empty()
        box = self.query_one(QuestionBox)
        box.value = ""
        self.set_focus(box)
        self.tell("New conversation.")

    def action_reword(self) -> None:
        from atomr_local.tui.screens.ask.reword import RewordScreen

        state = self.state
        if state.trace is None:
            return

        def meant(understood: str | None) -> None:
            if understood is not None:
                self.begin(Asked(state.question, again=state.trace, understood=understood))

        self.app.push_screen(RewordScreen(state.question, state.understood_as or state.question), meant)
