"""The life of one question on the main screen: asked, watched as its events come in, ended or stopped."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from textual import on, work
from textual.containers import Container
from textual.message import Message
from textual.worker import Worker, WorkerState

from atomr_local.errors import AtomrError, Cancelled
from atomr_local.tui.core import Answerer, Asked
from atomr_local.tui.question.state import QuestionState
from atomr_local.tui.screens.ask.windows import AskWindows
from atomr_local.tui.widgets.question_box import QuestionBox
from atomr_local.tui.widgets.source_switches import SourceSwitches
from atomr_local.tui.widgets.status_line import StatusLine

if TYPE_CHECKING:
    from atomr_local.history.pending import Pending
    from atomr_local.reasoning.conversation import Conversation
    from atomr_local.reasoning.trace.events import Event
    from atomr_local.reasoning.trace.schema import Trace
    from atomr_local.tui.widgets.answer_panel import AnswerPanel
    from atomr_local.tui.widgets.bottom_line import BottomLine
    from atomr_local.tui.widgets.examples import Welcome
    from atomr_local.tui.widgets.reasoning_tree import ReasoningTree


GUESS_KEY = "answer.guess"  # the id of the binding


class Asking(AskWindows):
    """The part of the main screen that owns the state of the question shown. The assistant works on a thread."""

    @dataclass
    class Happened(Message):
        """An event of the running question, the `number`th of this session."""

        number: int
        event: Event

    @dataclass
    class Broke(Message):
        """The question could not be asked."""

        number: int
        error: AtomrError

    @dataclass
    class Ended(Message):
        """A question has come to its end; its trace is whole."""

        trace: Trace

    @dataclass
    class NotKept(Message):
        """The question could not be kept in the history, or not as it should; `notes` say why."""

        notes: Sequence[str]

    def __init__(self, *, clock: Callable[[], float]) -> None:
        super().__init__()
        self._attached: Answerer | None = None
        self._waiting: Asked | None = None
        self._clock = clock
        self.state = QuestionState()
        self.loading_stage = "loading"  # of the model and the indexes; empty when they are ready
        self._number = 0
        self._stopped = 0  # the number of the question that was stopped last
        self._before: tuple[QuestionState, int | None] | None = None  # what a question that is refused leaves shown
        self._started = 0.0
        self._selected: int | None = None
        self._again: Trace | None = None  # the earlier form of the question that runs
        self._first = 0  # the node to show when the plan is there: of a corrected one, the one that was shown
        self._citation = -1
        # What the screen is furnished with once it is.
        self.furnished = False
        self._welcome: Welcome
        self._body: Container
        self._tree: ReasoningTree
        self._answer: AnswerPanel
        self._bottom: BottomLine

    @property
    def _assistant(self) -> Answerer:
        assert self._attached is not None
        return self._attached

    def begin(self, asked: Asked) -> None:
        """Ask; told to the user where that is not possible now."""
        question = asked.question.strip()
        box = self.query_one(QuestionBox)
        if not question:
            box.value = ""
            return
        if self._is_busy():
            return
        if box.value.strip() != question:
            box.value = question
        if self._attached is None:
            self._waiting = asked
            self.tell("The program is starting. The question is asked as soon as it is ready.")
            return
        box.remember(question)
        self._started = self._clock()
        self._before = (self.state, self._selected)
        self._first = self._selected if asked.revision is not None and self._selected is not None else 0
        conversation, self._again = self._goes_on_with(asked), asked.again
        self._enter(QuestionState(question=question, running=True, stage="starting"))
        tree = self._tree
        tree.show_text("")
        tree.focus()
        self._panel.show(None, self.state)
        self._ask(self._number, asked, conversation)

    def _show(self, state: QuestionState, selected: int | None) -> None:
        """Show a question that does not run, at this node."""
        self._enter(state)
        self._tree.show_plan(state, selected or 0)
        if selected is None:
            self._panel.show(None, state)
        else:
            self.select(selected)
        self.show_switches()
        self.show_status()

    def _enter(self, state: QuestionState) -> None:
        self._number += 1
        self.state = state
        if self._attached is not None:
            state.guess_key = self._attached.settings.ui.keys.get(GUESS_KEY, state.guess_key)
        self._selected = None
        self._citation = -1
        self._welcome.display = False
        self._body.display = True
        self._answer.show(state)
        if self._attached is not None:
            self.show_talk()
        self.refresh_bindings()

    @work(thread=True, exit_on_error=False, group="ask")
    def _ask(self, number: int, asked: Asked, conversation: Conversation | None) -> None:
        from atomr_local.history.pending import noted

        settings = self._assistant.settings
        with noted(asked.question, settings.strategy, keep=settings.history.keep) as pending:
            self._follow(number, asked, conversation, pending)

    def _follow(self, number: int, asked: Asked, conversation: Conversation | None, pending: Pending | None) -> None:
        from atomr_local.reasoning.trace.events import Finished, TextGenerated

        end: Finished | None = None
        try:
            for event in self._assistant.ask(
                asked.question,
                plan=asked.plan,
                plan_origin=asked.origin,
                revision=asked.revision,
                conversation=conversation,
                understood=asked.understood,
            ):
                if self._stopped == number:  # perhaps before the assistant had heard of the question
                    self._assistant.cancel()
                if isinstance(event, Finished):
                    end = event
                # Of what the model writes only the answer is shown as it comes: a step's state says that it reasons.
                elif not isinstance(event, TextGenerated) or event.node_id == 0:
                    self.post_message(self.Happened(number, event))
        except Cancelled:
            return
        except AtomrError as error:
            self.post_message(self.Broke(number, error))
            return
        if end is not None:  # told once the assistant is free for the next question
            self.post_message(self.Happened(number, end))
            self._keep(end.trace, pending)

    def _keep(self, trace: Trace, pending: Pending | None) -> None:
        # On the thread that asked: the program's end waits for it, so that a question that quitting stopped is kept.
        from atomr_local.history.keeping import keep

        if self._assistant.settings.history.keep and (notes := keep(trace, pending)[1]):
            self.post_message(self.NotKept(notes))

    @on(NotKept)
    def _not_kept(self, message: NotKept) -> None:
        for note in message.notes:
            self.tell(note)

    @on(QuestionBox.Submitted)
    def _submitted(self, message: QuestionBox.Submitted) -> None:
        self.begin(Asked(message.value))

    @on(Happened)
    def _happened(self, message: Happened) -> None:
        if message.number != self._number:
            return
        from atomr_local.reasoning.trace import events

        self._before = None
        event, state = message.event, self.state
        state.apply(event)
        tree = self._tree
        if isinstance(event, events.PlanFragment):
            tree.show_text(state.plan_text)
        elif isinstance(event, events.PlanReady):
            first = self._first if self._first in state.nodes else 0
            tree.show_plan(state, first)
            self.select(first)
            self.show_talk()
            self.refresh_bindings()  # what the model wrote of it can be looked at from now on
        elif isinstance(
            event,
            events.AnswerReady | events.Finished | events.WarningRaised | events.TextGenerated | events.LeavesMachine,
        ):
            self._answer.show(state)
            if isinstance(event, events.Finished):
                self._ended(event.trace)
        elif isinstance(event, events.QuestionUnderstood):
            self.show_talk()
        elif isinstance(event, events.QuestionAsked):
            self.show_switches()
        elif not isinstance(event, events.StageChanged):
            self._node_changed(getattr(event, "node_id", None))
        self.show_status()

    def _node_changed(self, node_id: int | None) -> None:
        view = self.state.nodes.get(node_id) if node_id is not None else None
        if view is None:
            return
        self._tree.refresh_node(view)
        if node_id == self._selected:
            self._panel.show(view, self.state)

    def _ended(self, trace: Trace | None) -> None:
        state = self.state
        if state.answer is not None and state.answer.status in {"answered", "unknown"}:
            self.loading_stage = ""  # whatever failed to load before is there now
        if state.tree is None:
            self._panel.show(None, state)
        if trace is not None:
            self.talk.take(state, self._again)
        self.show_talk()
        self.show_switches()
        self.refresh_bindings()
        if trace is not None:
            self.post_message(self.Ended(trace))

    def on_worker_state_changed(self, event: Worker.StateChanged) -> None:
        """A fault of ours on the thread that asks must not leave the question running for ever."""
        if event.state is WorkerState.ERROR and event.worker.error is not None:
            from atomr_local.tui.faults import fault

            self.post_message(self.Broke(self._number, fault(event.worker.error)))

    @on(Broke)
    def _broke(self, message: Broke) -> None:
        if message.number == self._number:
            if self._before is not None:
                self._refused(*self._before)
            self.state.running = False
            self._ended(None)
            self.show_status()
            from atomr_local.tui.screens.error import ErrorScreen

            self.app.push_screen(ErrorScreen(message.error))

    def _refused(self, state: QuestionState, selected: int | None) -> None:
        """The question was not even begun: it stays in the box, and what was shown before comes back."""
        self._before = None
        if state.question:
            self._show(state, selected)
        else:
            self.show_empty(state)
        self.set_focus(self.query_one(QuestionBox))

    def show_empty(self, state: QuestionState | None = None) -> None:
        """Show the screen as it was before the first question, with this state or a fresh one."""
        self._enter(state or QuestionState())
        self._welcome.display, self._body.display = True, False
        self.show_status()

    def action_cancel(self) -> None:
        if self.state.running:
            self.state.stage = "cancelling"
            self._stopped = self._number
            self._assistant.cancel()
            self.show_status()

    # What is told

    def show_switches(self) -> None:
        """Show which sources may be used, now and next."""
        if self._attached is None:
            return
        remote = self._assistant.settings.endpoint.url.remote_host()
        self.query_one(StatusLine).show_remote(remote)
        if self.furnished:
            self._welcome.show_privacy(remote)
        local: Sequence[str] = self._assistant.settings.sources
        running = self.state.web if self.state.running else None
        self.query_one(SourceSwitches).show(
            text="text" in local, graph="graph" in local, web=self._assistant.web_enabled, running=running
        )

    def show_status(self) -> None:
        state = self.state
        stage = state.stage if state.running else self.loading_stage or "ready"
        parts = []
        if state.running:
            parts.append(f"{self._clock() - self._started:.0f} s")
        elif state.seconds is not None:
            parts.append(f"{state.seconds:.1f} s")
        if state.calls:
            parts.append(f"{state.calls} call{'s' if state.calls > 1 else ''}")
            if state.tokens_per_second is not None:
                parts.append(f"{state.tokens_per_second:.0f} tokens/s")
            parts.append(f"{state.evaluated_tokens} read")
            parts.append(f"{state.generated_tokens} written")
        for line in self.query(StatusLine):
            line.show(stage)
        if self.furnished:
            self._bottom.show(parts)
