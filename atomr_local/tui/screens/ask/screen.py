"""The main screen: ask, watch the tree, check the evidence. It owns the question and the conversation shown."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.events import Key, Paste
from textual.message import Message
from textual.screen import Screen

from atomr_local.sanitize import sanitize
from atomr_local.tui.background import in_background
from atomr_local.tui.question.conversation import QuestionRequest, ShownConversation
from atomr_local.tui.question.state import QuestionState
from atomr_local.tui.screens.ask.keys import (
    CONVERSATION,
    CORRECTING,
    GUESS_KEY,
    LOOKING,
    REWORD,
    REWORD_KEY,
    STARTING,
    action_name,
    possible,
    why_not,
)
from atomr_local.tui.screens.ask.session import EventReceived, HistoryRefused, QuestionFailed, QuestionSession
from atomr_local.tui.screens.ask.turns import Turns
from atomr_local.tui.screens.ask.waiting import WaitingQuestions
from atomr_local.tui.widgets.question_box import QuestionBox
from atomr_local.tui.widgets.status_line import StatusLine

if TYPE_CHECKING:
    from textual.widgets import OptionList

    from atomr_local.assistant import Assistant
    from atomr_local.reasoning.trace.schema import Trace
    from atomr_local.tui.widgets.answer_panel import AnswerPanel

_TICK = 0.25


class AskScreen(Screen[None]):
    BINDINGS: ClassVar[list[BindingType]] = [*CONVERSATION, *CORRECTING, *LOOKING]
    # Narrow: tree and evidence stand one above the other. Low: the question box has no frame. Short: no welcome either.
    HORIZONTAL_BREAKPOINTS = [(0, "narrow"), (110, "wide")]  # noqa: RUF012
    VERTICAL_BREAKPOINTS = [(0, "short"), (20, "low"), (26, "high")]  # noqa: RUF012

    class WidgetsMounted(Message):
        """All of the screen is there."""

    class QuestionBegins(Message):
        """A question is about to run."""

    class AnswerFinished(Message):
        """A question has ended; its trace is complete."""

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        """Make the screen; it takes questions at once, and asks them once `attach` has given it the assistant."""
        super().__init__()
        self.state = QuestionState()
        self.conversation = ShownConversation()
        self.loading_stage = "loading"  # of the model and the indexes; empty when they are ready
        self.widgets_mounted = False  # all widgets are there
        self._session: QuestionSession | None = None
        self._waiting = WaitingQuestions(self)
        self.turns = Turns(self)
        self._clock = clock
        self._started = 0.0
        self._number = 0  # of what is shown; events of an earlier question come too late
        self._before: tuple[QuestionState, int | None] | None = None  # what a question that is refused leaves shown
        self._again: Trace | None = None  # the earlier form of the question that runs
        self._first = 0  # the node to show when the plan is there: of a corrected one, the one that was shown
        self._answer: AnswerPanel

    def compose(self) -> ComposeResult:
        yield StatusLine()
        yield QuestionBox()

    def on_mount(self) -> None:
        self.query_one(QuestionBox).focus()
        self.show_status()
        self.call_after_refresh(self._mount_widgets)

    async def _mount_widgets(self) -> None:
        """Everything but the question box comes behind the first frame, and so does what it imports."""
        from atomr_local.tui.screens.ask.windows import QuestionWindows
        from atomr_local.tui.widgets.answer_panel import AnswerPanel
        from atomr_local.tui.widgets.bottom_line import BottomLine
        from atomr_local.tui.widgets.reasoning_view import ReasoningView
        from atomr_local.tui.widgets.transcript import Transcript, UnderstoodLine
        from atomr_local.tui.widgets.welcome import Welcome

        self._transcript, self._understood = Transcript(), UnderstoodLine()
        self.welcome, self._answer, self._bottom = Welcome(), AnswerPanel(), BottomLine()
        self.view = ReasoningView()
        self.windows = QuestionWindows(self, self.view)
        self._answer.display = False
        await self.mount(self._transcript, before="#question")
        await self.mount(self._understood, self.welcome, self.view, self._answer, self._bottom)
        self.widgets_mounted = True
        self.view.show_share()
        self.set_interval(_TICK, self.show_status)
        self.show_status()
        self.post_message(self.WidgetsMounted())

    def on_paste(self, event: Paste) -> None:
        """What is pasted outside the question box is a question."""
        box = self.query_one(QuestionBox)
        if self.focused is not box:
            event.stop()
            box.value = event.text
            self.set_focus(box)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Which keys do something now; the others are dimmed or, where they never can, hidden."""
        return possible(action_name(action, parameters), self)

    def on_key(self, event: Key) -> None:
        """Say why a key does nothing now."""
        if told := why_not(self, event.key):
            event.stop()
            self.show_notice(told)

    @property
    def has_question(self) -> bool:
        """Whether a question is on the screen."""
        return bool(self._number)

    @property
    def has_turns(self) -> bool:
        """Whether the conversation so far is on the screen."""
        return self.widgets_mounted and self._transcript.display

    @property
    def assistant(self) -> Assistant:
        """The assistant, once it is there."""
        assert self._session is not None
        return self._session.assistant

    def attach(self, assistant: Assistant) -> None:
        """Take the assistant; what was asked before it was there is asked now."""
        from atomr_local.history.recording import recall

        self._session = QuestionSession(self, assistant)
        self.view.share = assistant.settings.ui.tree_share
        self.view.show_share()
        self.show_switches()
        # What fails there is told when the history itself is opened.
        in_background(self, recall, self._recalled, failed=lambda _: None, group="recall")
        self._waiting.begin_next()

    def _recalled(self, questions: Sequence[str]) -> None:
        self.query_one(QuestionBox).recall(list(reversed(questions)))

    # One question: asked, watched as its events come in, ended or stopped

    @on(QuestionBox.QuestionSubmitted)
    def _question_submitted(self, message: QuestionBox.QuestionSubmitted) -> None:
        # What was typed since Enter is not what was asked: it stays, and so does the focus.
        left = self.query_one(QuestionBox).is_left(message.question, message.arrivals)
        self.begin(QuestionRequest(message.question), waited=not left)

    def begin(self, asked: QuestionRequest, *, waited: bool = False) -> None:
        """Ask the question, or say why that is not possible now.

        Args:
            waited: the user has gone on since it was asked: the box and the focus are left as they are.
        """
        question = asked.question.strip()
        box = self.query_one(QuestionBox)
        if not question:
            self.show_notice("Type a question first.")
            return
        if self.state.running:
            self._waiting.offer(asked)
            return
        if not waited and box.value.strip() != question:
            box.value = question
        if self._session is None:
            self._waiting.add(asked)
            self.show_notice(f"{STARTING} The question is asked as soon as it is ready.")
            return
        box.remember(question)
        self._started = self._clock()
        selected = self.view.selected
        self._before, self._again = (self.state, selected), asked.again
        self._first = selected if asked.revision is not None and selected is not None else 0
        if asked.again is None and not self.assistant.settings.conversation.follow:
            self.conversation.turns.clear()
        conversation = self.conversation.context(asked.again)
        self._enter(QuestionState(question=question, running=True, stage="starting"))
        self.post_message(self.QuestionBegins())
        self.view.show_plan(None)
        if not waited:
            self.set_focus(self.view.steps)
        self._session.ask(self._number, asked, conversation)

    def _enter(self, state: QuestionState) -> None:
        """Show another question; `_number` tells its events from those of an earlier one."""
        self._number += 1
        self.state = state
        self.welcome.display = False
        self.view.enter(state)
        if self._session is not None:
            state.guess_key = self.assistant.settings.ui.keys.get(GUESS_KEY, state.guess_key)
            self.show_conversation()
        self._answer.show(state)
        self.refresh_bindings()

    def show_question(self, state: QuestionState, selected: int | None) -> None:
        """Show a question that does not run, at this node."""
        self._enter(state)
        self.view.show_plan(selected)
        self.show_switches()
        self.show_status()

    def show_empty(self, state: QuestionState) -> None:
        """Show the screen as it was before the first question."""
        self._enter(state)
        self.welcome.display, self.view.display = True, False
        self.show_status()

    @on(EventReceived)
    def _event_received(self, message: EventReceived) -> None:
        if message.number != self._number:
            return
        from atomr_local.reasoning.trace import events

        self._before = None
        event, state = message.event, self.state
        state.apply(event)
        match event:
            case events.PlanFragment():
                self.view.steps.show_text(state.plan_text)
            case events.PlanReady():
                self.view.show_plan(self._first if self._first in state.nodes else 0)
                self.show_conversation()
                self.refresh_bindings()  # what the model wrote of it can be looked at from now on
            case events.NodeAdded():
                self.view.grow(event.node_id)
            case events.Finished():
                self._answer.show(state)
                self._end(event.trace)
            case events.AnswerReady():
                self._answer.show(state)
                for number in state.declined_steps:
                    self.view.refresh_node(number)
            case events.WarningRaised() | events.TextGenerated() | events.LeavesMachine():
                self._answer.show(state)
            case events.QuestionUnderstood():
                self.show_conversation()
            case events.QuestionAsked():
                self.show_switches()
            case _:
                self.view.refresh_node(getattr(event, "node_id", None))
        self.show_status()

    def _end(self, trace: Trace | None) -> None:
        """The question runs no longer; None: it failed."""
        state = self.state
        if state.answer is not None and state.answer.status in {"answered", "unknown"}:
            self.loading_stage = ""  # whatever failed to load before is there now
        if state.tree is None:
            self.view.evidence.show(None, state)
        for view in state.unfinished:
            self.view.refresh_node(view.node.id)
        if trace is not None:
            self.conversation.take(state, self._again)
            self.turns.tell_compared(trace, self._again)
            self.post_message(self.AnswerFinished())
        self.show_conversation()
        self.show_switches()
        self.refresh_bindings()
        self.call_later(self._waiting.begin_next)

    @on(QuestionFailed)
    def _question_failed(self, message: QuestionFailed) -> None:
        if message.number != self._number:
            return
        if self._before is not None:
            self._restore(*self._before)
        self.state.running = False
        self._end(None)
        self.show_status()
        from atomr_local.tui.screens.error import ErrorScreen

        self.app.push_screen(ErrorScreen(message.error))

    def _restore(self, state: QuestionState, selected: int | None) -> None:
        """The question was not even begun: it stays in the box, and what was shown before comes back."""
        self._before = None
        if state.question:
            self.show_question(state, selected)
        else:
            self.show_empty(state)
        self.set_focus(self.query_one(QuestionBox))

    @on(HistoryRefused)
    def _history_refused(self, message: HistoryRefused) -> None:
        for note in message.notes:
            self.show_notice(note)

    def action_cancel(self) -> None:
        """Stop the running question; those that wait for it are not asked."""
        self._waiting.give_back()
        self.stop_question()

    def stop_question(self) -> None:
        """Stop the running question. The next one that waits is asked then."""
        if self.state.running and self._session is not None:
            self.state.stage = "cancelling"
            self._session.stop(self._number)
            self.show_status()

    # Looking around

    def action_focus_turns(self) -> None:
        self.set_focus(self._transcript)

    def action_new_conversation(self) -> None:
        self.turns.begin_new()

    # Found by its name, it needs no import of what it handles.
    def on_option_list_option_selected(self, message: OptionList.OptionSelected) -> None:
        chooser = message.option_list
        if chooser is self.view.evidence:
            self.windows.open_evidence(message.option_id or "")
        elif chooser is self._transcript:
            self.turns.reopen(message.option_index)
        elif chooser.id == "examples":
            self.begin(QuestionRequest(self.welcome.questions[message.option_index]))

    def on_answer_panel_citation_chosen(self, message: AnswerPanel.CitationChosen) -> None:
        self.view.go_to_evidence(message.evidence_id)

    def action_guess(self) -> None:
        self.state.guess_shown = not self.state.guess_shown
        self.view.restart_citations()
        self._answer.show(self.state)
        self.refresh_bindings()

    def action_next_user(self) -> None:
        if not self.view.next_user():
            self.show_notice("No other step uses this piece of evidence.")

    def action_focus_question(self) -> None:
        self.query_one(QuestionBox).go_to()

    def action_focus_tree(self) -> None:
        self.set_focus(self.view.steps)

    def action_focus_evidence(self) -> None:
        self.set_focus(self.view.evidence)

    def action_window(self, name: str, *arguments: str) -> None:
        """Call the method of this name of :class:`QuestionWindows`."""
        getattr(self.windows, name)(*arguments)

    def action_view(self, name: str, *arguments: int) -> None:
        """Call the method of this name of :class:`ReasoningView`."""
        getattr(self.view, name)(*arguments)

    # What is told

    def show_notice(self, text: str) -> None:
        """Tell the user in passing; only the newest counts."""
        self.app.clear_notifications()
        self.app.notify(sanitize(text), markup=False)

    def show_conversation(self) -> None:
        """Show the conversation so far, and how the question on the screen was understood."""
        state = self.state
        self._transcript.show(
            self.conversation.turns, self.conversation.place(state.trace) if state.trace is not None else None
        )
        key = self.assistant.settings.ui.keys.get(REWORD_KEY, REWORD)
        self._understood.show(state, self.conversation.named(), key)

    def show_switches(self) -> None:
        """Show which sources may be used, now and next."""
        if self._session is None:
            return
        running = self.state.web if self.state.running else None
        remote = self.query_one(StatusLine).show_sources(self._session.assistant, running)
        self.welcome.show_privacy(remote)

    def show_loading(self, stage: str) -> None:
        """Show how far the model and the indexes are."""
        self.loading_stage = stage
        self.show_status()

    def show_status(self) -> None:
        """Show what is going on, and what it took so far."""
        state = self.state
        for line in self.query(StatusLine):
            stage = state.stage if state.running else self.loading_stage or "ready"
            line.show(" · ".join(filter(None, (stage, self._waiting.told))))
        if self.widgets_mounted:
            self._bottom.show(state, self._clock() - self._started)
