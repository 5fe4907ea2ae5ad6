"""The main screen: ask, watch the tree, check the evidence. It owns the question and the conversation shown."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from textual import on
from textual.actions import parse
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.events import Key, Paste
from textual.message import Message
from textual.screen import Screen

from atomr_local.errors import InputError
from atomr_local.reasoning.trace.schema import Trace
from atomr_local.system.sanitize import sanitize
from atomr_local.tree.nodes import ROOT_ID
from atomr_local.tui.background import ErrorScreen, in_background
from atomr_local.tui.keys import (
    BUSY,
    COMPARE,
    COMPARE_KEY,
    CONVERSATION,
    CORRECTING,
    GUESS_KEY,
    LOOKING,
    REWORD,
    REWORD_KEY,
    STARTING,
    WEB_KEY,
    from_the_box,
    reason,
)
from atomr_local.tui.question.conversation import QuestionRequest, ShownConversation
from atomr_local.tui.question.state import LEAVE_A_PROCESS, QuestionState
from atomr_local.tui.screens.ask.session import EventReceived, HistoryRefused, QuestionFailed, QuestionSession
from atomr_local.tui.widgets.question_box import QuestionBox
from atomr_local.tui.widgets.status_line import StatusLine

if TYPE_CHECKING:
    from textual.widgets import OptionList

    from atomr_local.assistant.assistant import Assistant
    from atomr_local.tree.nodes import Tree
    from atomr_local.tui.question.state import NodeView
    from atomr_local.tui.screens.ask.windows import Busy
    from atomr_local.tui.widgets.answer_panel import AnswerPanel


_TICK = 0.25
_LONGEST_PART = 40  # characters of the part of the index that the first line shows


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
        self.within: tuple[str, ...] = ()  # the part of the text index that the next question is asked in
        self.loading_stage = "loading"  # of the model and the indexes; empty when they are ready
        self.widgets_mounted = False  # all widgets are there
        self._session: QuestionSession | None = None
        self._waiting: list[QuestionRequest] = []  # asked while another one ran, the oldest first; they are not stored
        self._clock = clock
        self._started = 0.0
        self._number = 0  # of what is shown; events of an earlier question come too late
        self._before: tuple[QuestionState, int | None] | None = None  # what a question that is refused leaves shown
        self._again: Trace | None = None  # the earlier form of the question that runs
        self._first = 0  # the node to show when the plan is there: of a corrected one, the one that was shown
        self._query = ""  # of the console, as it was left
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
        from atomr_local.tui.widgets.answer_panel import AnswerPanel
        from atomr_local.tui.widgets.reasoning_view import ReasoningView
        from atomr_local.tui.widgets.status_line import BottomLine
        from atomr_local.tui.widgets.welcome import Transcript, UnderstoodLine, Welcome

        self._transcript, self._understood = Transcript(), UnderstoodLine()
        self.welcome, self._answer, self._bottom = Welcome(), AnswerPanel(), BottomLine()
        self.view = ReasoningView()
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
        """Which keys do something now; the others are dimmed (None) or, where they never can, hidden (False)."""
        state = self.state
        ended = state.trace is not None
        nothing = None if state.record.question else False  # no question to do it with: the key is not shown at all
        can_correct = state.can_correct or nothing
        in_plan = can_correct and (self._is_in_plan() or None)
        return {
            "cancel": state.running,
            "focus_tree": self.has_question or None,
            "focus_evidence": self.has_question or None,
            "focus_turns": self.has_turns,
            "new_conversation": bool(state.record.question or self.conversation.turns) and (not state.running or None),
            "next_citation": bool(state.citations),
            "next_user": self.focused is not None and self.focused.id == "evidence",
            "guess": state.has_guess,
            "reword": ended,
            "edit_step": in_plan,
            "edit_plan": can_correct,
            "rerun": in_plan,
            "ask_again_with": ended or nothing,
            "keep_process": (ended and state.record.strategy in LEAVE_A_PROCESS) or nothing,
            "copy": ended or nothing,
            "export": ended or nothing,
            "open_calls": state.tree is not None or nothing,
        }.get(action, True)

    def _is_in_plan(self) -> bool:
        """Whether the step that is shown is one of the plan's; others were added while the question was answered."""
        tree, selected = self.state.tree, self.view.selected
        return tree is not None and any(node.id == selected for node in tree.nodes())

    def on_key(self, event: Key) -> None:
        """Say why a key does nothing now. A letter that is no key begins a question."""
        told = self._why_not(event.key)
        if told:
            self.show_notice(told)
        elif told is None and event.is_printable and event.character:
            box = self.query_one(QuestionBox)
            self.set_focus(box)
            box.insert(event.character)
        else:
            return
        event.stop()

    def _why_not(self, key: str) -> str | None:
        """Why the key does nothing now, briefly; "" if it does, or nobody would wonder; None: nothing has this key."""
        told: str | None = None
        for node, bindings in self._binding_chain:
            for binding in bindings.key_to_bindings.get(key, ()):
                if self.app._check_action_state(binding.action, node):
                    return ""
                why = reason(parse(binding.action)[1], self.state) if node is self else ""
                told = told or why or (STARTING if node is self.app else "")
        return told

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
        from atomr_local.assistant.history.store import recall

        self._session = QuestionSession(self, assistant)
        self.view.share = assistant.settings.ui.tree_share
        self.view.show_share()
        self.show_switches()
        # What fails there is told when the history itself is opened.
        in_background(self, recall, self._recalled, failed=lambda _: None, group="recall")
        self._begin_next()

    def _recalled(self, questions: Sequence[str]) -> None:
        self.query_one(QuestionBox).recall(list(reversed(questions)))

    # One question: asked, watched as its events come in, ended or stopped

    @on(QuestionBox.QuestionSubmitted)
    def _question_submitted(self, message: QuestionBox.QuestionSubmitted) -> None:
        self.begin(QuestionRequest(message.question))

    def begin(self, asked: QuestionRequest) -> None:
        """Ask the question, or say why that is not possible now. The focus and what is typed are left as they are."""
        question = asked.question.strip()
        box = self.query_one(QuestionBox)
        if not question:
            self.show_notice("Type a question first.")
            return
        if self.state.running:
            self._offer(asked)
            return
        if self._session is None:
            self._wait(asked)
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
        self._enter(QuestionState(Trace(question, "", {}), running=True, stage="starting"))
        self.post_message(self.QuestionBegins())
        self.view.show_plan(None)
        # A correction keeps to the part of the answer.
        within = self.within if asked.revision is None else ()
        self._session.ask(self._number, asked, conversation, within)

    # Questions that wait for the running one

    def _wait(self, asked: QuestionRequest, *, first: bool = False) -> None:
        self._waiting.insert(0 if first else len(self._waiting), asked)
        self.show_status()

    def _offer(self, asked: QuestionRequest) -> None:
        """Ask whether this question shall wait for the running one, or stop it."""
        from atomr_local.tui.screens.ask.windows import BusyScreen

        box = self.query_one(QuestionBox)

        def chosen(choice: Busy | None) -> None:
            if choice not in {"wait", "stop"}:
                box.give_back(asked.question)
                return
            box.remember(asked.question.strip())
            self._wait(asked, first=choice == "stop")
            if not self.state.running:  # it has ended meanwhile
                self._begin_next()
            elif choice == "stop":
                self._stop()

        self.app.push_screen(BusyScreen(self.state.record.question, asked.question), chosen)

    def _begin_next(self) -> None:
        """Ask the one that has waited longest, if there is one and nothing runs."""
        if self._waiting and not self.state.running:
            self.begin(self._waiting.pop(0))

    def action_cancel(self) -> None:
        """Stop the running question. Those that wait are not asked: the first comes back into the box where that is
        empty, all are recalled with up."""
        given, self._waiting = self._waiting, []
        box = self.query_one(QuestionBox)
        for asked in reversed(given):
            box.remember(asked.question.strip())
        if given:
            box.give_back(given[0].question)
            count = len(given)
            self.show_notice(
                "Stopped. The waiting question was not asked." if count == 1
                else f"Stopped. {count} waiting questions were not asked; ↑ in the question box brings them back."
            )  # fmt: skip
        self._stop()

    def _stop(self) -> None:
        """Stop the running question. The next one that waits is asked then."""
        if self.state.running and self._session is not None:
            self.state.stage = "cancelling"
            self._session.stop(self._number)
            self.show_status()

    # What is shown of a question

    def _enter(self, state: QuestionState) -> None:
        """Show another question; `_number` tells its events from those of an earlier one."""
        self._number += 1
        self.state = state
        self.welcome.display = False
        self.query_one(QuestionBox).show_asked(state.record.question)
        self.view.enter(state)
        if self._session is not None:
            keys = self.assistant.settings.ui.keys
            state.guess_key = from_the_box(keys.get(GUESS_KEY, state.guess_key))
            state.web_key = keys.get(WEB_KEY, state.web_key)
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
                for view in state.nodes.values():
                    if view.declined:
                        self.view.refresh_node(view.node.id)
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
        for view in (view for view in state.nodes.values() if not view.ended):
            self.view.refresh_node(view.node.id)
        if trace is not None:
            self.conversation.take(state, self._again)
            self._tell_compared(trace, self._again)
            self.post_message(self.AnswerFinished())
        self.show_conversation()
        self.show_switches()
        self.refresh_bindings()
        self.call_later(self._begin_next)

    @on(QuestionFailed)
    def _question_failed(self, message: QuestionFailed) -> None:
        if message.number != self._number:
            return
        if self._again is None:
            self.query_one(QuestionBox).give_back(self.state.record.question)
        if self._before is not None:  # it was not even begun: what was shown before comes back
            state, selected = self._before
            self._before = None
            if state.record.question:
                self.show_question(state, selected)
            else:
                self.show_empty(state)
        self.state.running = False
        self._end(None)
        self.show_status()
        self.app.push_screen(ErrorScreen(message.error))

    @on(HistoryRefused)
    def _history_refused(self, message: HistoryRefused) -> None:
        for note in message.notes:
            self.show_notice(note)

    # Looking around

    def action_focus_turns(self) -> None:
        self.set_focus(self._transcript)

    # Found by its name, it needs no import of what it handles.
    def on_option_list_option_selected(self, message: OptionList.OptionSelected) -> None:
        chooser = message.option_list
        if chooser is self.view.evidence:
            self.open_evidence(message.option_id or "")
        elif chooser is self._transcript:
            if not self._is_busy():
                self._look_at(self.conversation.turns[message.option_index].shown())
        elif chooser.id == "examples":
            self.action_focus_question()
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

    def action_next_citation(self) -> None:
        self.view.next_citation()

    def action_widen(self, percent: int) -> None:
        self.view.move_bar(self.view.share + percent)

    def action_focus_question(self) -> None:
        self.query_one(QuestionBox).go_to()

    def action_focus_tree(self) -> None:
        self.set_focus(self.view.steps)

    def action_focus_evidence(self) -> None:
        self.set_focus(self.view.evidence)

    # Other questions: of the conversation, kept ones, or none

    def open_kept(self, trace: Trace, conversation: Sequence[Trace] = ()) -> None:
        """Show a kept question with its results and continue its conversation."""
        if not self._is_busy():
            self.conversation.open(conversation or [trace])
            self._look_at(self._shown(trace))

    def ask_kept(self, trace: Trace, conversation: Sequence[Trace] = ()) -> None:
        """Ask a kept question again, after those that came before it in its conversation."""
        if not self._is_busy():
            self.conversation.open(conversation or [trace])
            self.begin(QuestionRequest(trace.question, again=trace))

    def action_new_conversation(self) -> None:
        """Begin a new conversation: the next question stands alone."""
        self.conversation.turns.clear()
        self.show_empty(QuestionState())
        box = self.query_one(QuestionBox)
        box.value = ""
        self.set_focus(box)
        self.show_notice("New conversation.")

    def _shown(self, trace: Trace) -> QuestionState:
        """The question as it was left, or as its trace tells it."""
        from atomr_local.tui.question.correction import replay

        place = self.conversation.place(trace)
        return replay(trace) if place is None else self.conversation.turns[place].shown()

    def _look_at(self, state: QuestionState) -> None:
        self.show_question(state, 0)
        self.action_focus_tree()

    def _is_busy(self) -> bool:
        """Whether a question runs, which is said then: its answer would come to another one's screen."""
        if self.state.running:
            self.show_notice(f"{BUSY} Escape stops it.")
        return self.state.running

    def _tell_compared(self, trace: Trace, again: Trace | None) -> None:
        """Say where the answers can be compared, when another strategy than before has answered."""
        if again is not None and again.strategy != trace.strategy and self.conversation.place(trace) is not None:
            key = from_the_box(self.assistant.settings.ui.keys.get(COMPARE_KEY, COMPARE))
            self.show_notice(f"{trace.strategy} has answered. {key} compares it with {again.strategy}.")

    def _ask_again(self, **given: Any) -> None:
        """Ask the question on the screen again, as it is meant, with what else is given of `QuestionRequest`."""
        asked = {"again": self.state.trace, "understood": self.state.meant or None} | given
        self.begin(QuestionRequest(self.state.record.question, **asked))

    # Windows on the question. Each loads when it is opened

    def _open(self, window: Screen[Any], then: Callable[[Any], object]) -> None:
        """Open the window; `then` takes what it gives, unless that is None."""

        def given(result: Any) -> None:
            if result is not None:
                then(result)

        self.app.push_screen(window, given)

    @property
    def _selected(self) -> NodeView | None:
        return self.state.nodes.get(self.view.selected) if self.view.selected is not None else None

    def open_evidence(self, evidence_id: str) -> None:
        """Show one piece whole."""
        from atomr_local.tui.screens.ask.evidence import EvidenceScreen

        state, view = self.state, self._selected
        item = state.evidence.get(evidence_id)
        if item is None or view is None:
            return

        def chosen(result: int | str) -> None:
            if isinstance(result, int):
                self.view.select(result)
                self.view.evidence.go_to(item.id)
            else:
                self.open_console(result)

        users = [(number, state.nodes[number].step.resolved_question) for number in state.users[item.id]]
        answers = view.result.answers if view.result is not None else ()
        self._open(EvidenceScreen(self.assistant, item, answers, users, state.rank_of(item.id)), chosen)

    def open_console(self, sparql: str = "") -> None:
        """Open the console with this query, or with the one that was edited in it last."""
        from atomr_local.tui.screens.console import ConsoleScreen

        def left(edited: str) -> None:
            self._query = edited

        self._open(ConsoleScreen(self.assistant, sparql, edited="" if sparql else self._query), left)

    def action_open_calls(self) -> None:
        """Show what the model was shown for the step, and what it wrote."""
        from atomr_local.tui.screens.ask.evidence import CallsScreen

        state, view = self.state, self._selected
        title, calls = "Prompts and output", view.calls if view is not None else []
        if view is not None and view.node.id == ROOT_ID:
            title, calls = "The plan and the whole question: prompts and output", [*state.planning, *calls]
        elif view is not None:
            title = f"Step {view.node.id}: prompts and output"
        self.app.push_screen(CallsScreen(title, calls, kept=not state.replayed))

    def action_edit_plan(self) -> None:
        from atomr_local.sources.privacy import indexes_of
        from atomr_local.tui.screens.ask.plan_editor import PlanEditor

        state = self.state
        assert state.tree is not None
        # A follow-up question may name what an earlier one found.
        traces = [state.trace, *(turn.trace for turn in self.conversation.turns)]
        quoted = {name for trace in traces if trace is not None for name in indexes_of(trace.settings)}
        meant = state.record.understood_as or state.record.question
        self._open(PlanEditor(meant, state.tree, self.assistant.settings.limits, quoted), self._correct)

    def action_edit_step(self) -> None:
        from atomr_local.sources.registry import permitted
        from atomr_local.tui.screens.ask.plan_editor import NodeEditor, StepChange

        tree, view, assistant = self.state.tree, self._selected, self.assistant
        if view is None or tree is None:
            return

        def changed(to: StepChange) -> None:
            sources, answers = ({to.node_id: given} if given else {} for given in (to.sources, to.answers))
            self._correct(to.tree, sources=sources, answers=answers, rerun=frozenset({to.node_id}))

        usable = permitted(assistant.settings.sources, web=assistant.web_enabled)
        self._open(NodeEditor(tree, view, assistant.settings.limits, usable), changed)

    def action_rerun(self) -> None:
        """Run the step that is shown again, and what depends on it."""
        tree, number = self.state.tree, self.view.selected
        if tree is not None and number is not None:
            self._correct(tree, rerun=frozenset({number}))

    def _correct(self, tree: Tree, **changes: Any) -> None:
        """Run the corrected plan with the changes, as in `Revision`; what does not depend on them keeps its result."""
        from atomr_local.reasoning.revision import Revision

        if (trace := self.state.trace) is not None:
            self._ask_again(plan=tree, revision=Revision(base=trace, **changes), strategy=trace.strategy)

    def action_keep_process(self) -> None:
        """Correct the steps with tools, and keep them as a worked process."""
        from atomr_local.strategies.processes.process import process_of
        from atomr_local.tui.screens.ask.plan_editor import ProcessEditor

        if (trace := self.state.trace) is None:
            return
        try:
            process = process_of(trace)
        except InputError as error:
            self.show_notice(error.message)
            return
        self.app.push_screen(ProcessEditor(process, self.assistant.do_again, self.assistant.cancel))

    def action_reword(self) -> None:
        """Let the user say what the question means, and ask it again."""
        from atomr_local.tui.screens.ask.windows import RewordScreen

        record = self.state.record
        if self.state.trace is not None:
            window = RewordScreen(record.question, record.understood_as or record.question)
            self._open(window, lambda meant: self._ask_again(understood=meant))

    def action_limit(self) -> None:
        """Let the user say which part of the text index the next questions are asked in."""
        from atomr_local.tui.screens.ask.windows import PartScreen

        def chosen(within: tuple[str, ...]) -> None:
            self.within = within
            self.show_status()

        self._open(PartScreen(self.within), chosen)

    def action_ask_again_with(self) -> None:
        """Compare the strategies that this question was asked with, and ask it with another."""
        from atomr_local.tui.screens.ask.compare import CompareScreen, Comparison

        if (trace := self.state.trace) is None:
            return

        def chosen(choice: Comparison) -> None:
            if choice.opened is None:
                self._ask_again(strategy=choice.strategy)
            elif not self._is_busy():  # later questions go on from the answer that is opened
                state = self._shown(choice.opened)
                if self.conversation.place(choice.opened) is None:
                    self.conversation.take(state, trace)
                self._look_at(state)

        self._open(CompareScreen(trace, self.conversation.compared.of(trace)), chosen)

    def action_copy(self, what: str) -> None:
        """Copy the answer, the evidence under the cursor, or the step's queries."""
        from atomr_local.tui import clipboard

        state = self.state
        if what == "answer":
            text = clipboard.answer_text(state)
        elif what == "evidence":
            text = clipboard.evidence_text(state, self.view.evidence.chosen or "")
        else:
            text = clipboard.sparql_text(state, self.view.selected or 0)
        if text:
            message = clipboard.copy_text(self.app, text)
        else:
            message = "Put the cursor on a piece of evidence first." if what == "evidence" else f"No {what} to copy."
        self.show_notice(message)

    def action_export(self) -> None:
        """Write the question to a file, or its whole conversation."""
        from atomr_local.tui.screens.history.export import ExportScreen

        if self.state.trace is not None:
            conversation = [turn.trace for turn in self.conversation.turns if turn.counts]
            self.app.push_screen(ExportScreen(self.state.trace, conversation=conversation))

    def action_recall(self) -> None:
        """Put a question asked before into the question box."""
        from atomr_local.tui.screens.ask.windows import RecallScreen

        box = self.query_one(QuestionBox)

        def recalled(question: str) -> None:
            box.value = question
            self.set_focus(box)

        self._open(RecallScreen(), recalled)

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
        key = from_the_box(self.assistant.settings.ui.keys.get(REWORD_KEY, REWORD))
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
            waiting = f"{len(self._waiting)} waiting" if self._waiting else ""
            part = f"in {' '.join(self.within)}"[:_LONGEST_PART] if self.within else ""
            line.show(" · ".join(filter(None, (stage, waiting, part))))
        if self.widgets_mounted:
            self._bottom.show(state, self._clock() - self._started)
