"""The main screen: ask, watch the tree, check the evidence. It owns the question and the conversation shown."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.actions import parse
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.events import Key, Paste
from textual.message import Message
from textual.screen import Screen

from atomr_local.reasoning.trace.schema import Trace
from atomr_local.system.sanitize import sanitize
from atomr_local.tui.background import in_background
from atomr_local.tui.question.conversation import QuestionRequest, ShownConversation
from atomr_local.tui.question.state import LEAVE_A_PROCESS, QuestionState, why_no_plan
from atomr_local.tui.screens.ask.session import EventReceived, HistoryRefused, QuestionFailed, QuestionSession
from atomr_local.tui.widgets.question_box import LONGEST, QuestionBox
from atomr_local.tui.widgets.status_line import StatusLine

if TYPE_CHECKING:
    from textual.widgets import OptionList

    from atomr_local.assistant.assistant import Assistant
    from atomr_local.tui.screens.ask.windows import Busy
    from atomr_local.tui.widgets.answer_panel import AnswerPanel


# Questions that wait for the running one.


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
        from atomr_local.tui.screens.ask.windows import BusyScreen

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

        screen.app.push_screen(BusyScreen(screen.state.record.question, asked.question), chosen)

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


# The keys of the main screen, in the groups that the help shows; when they do something, and if not, why.

_STEP = 5  # percent that a key moves the bar between the panes
# Ids of keys that texts on the screen name.
GUESS_KEY, REWORD_KEY, WEB_KEY = "answer.guess", "question.reword", "web.toggle"
COMPARE_KEY = "question.compare"
REWORD, COMPARE = "w", "a"
NOT_IN_PLAN = "This step is not in the plan: it followed from the ones before. Edit the plan, or ask again."
BUSY, STARTING = "A question is being answered.", "The program is starting."

LOOKING = [
    Binding("escape", "cancel", "Cancel", priority=True, tooltip="Stop the running question", id="ask.cancel"),
    Binding("ctrl+l", "focus_question", "Question", priority=True, tooltip="Go to the question box",
            id="focus.question"),
    Binding("ctrl+t", "focus_tree", "Tree", priority=True, tooltip="Go to the reasoning tree", id="focus.tree"),
    Binding("ctrl+o", "focus_evidence", "Evidence", priority=True, tooltip="Go to the evidence of the step",
            id="focus.evidence"),
    Binding("c", "view('next_citation')", "Citation", tooltip="Go to the next citation of the answer",
            id="citation.next"),
    Binding("g", "guess", "Guess", tooltip="Show or hide the guess, where the answer is not found", id=GUESS_KEY),
    Binding("u", "next_user", "Used by", tooltip="The next step that uses this evidence", id="evidence.users"),
    Binding("left_square_bracket", f"view('widen', -{_STEP})", "Narrower", show=False, tooltip="Make the tree smaller",
            id="panes.smaller"),
    Binding("right_square_bracket", f"view('widen', {_STEP})", "Wider", show=False, tooltip="Make the tree larger",
            id="panes.larger"),
]  # fmt: skip
CONVERSATION = [
    Binding("ctrl+n", "new_conversation", "New", priority=True,
            tooltip="New conversation: the next question stands alone", id="conversation.new"),
    Binding("t", "focus_turns", "Turns", show=False, tooltip="Go to the earlier questions of the conversation",
            id="focus.turns"),
    Binding("ctrl+y", "window('limit')", "Part", priority=True, show=False,
            tooltip="Ask only a part of the text index: a folder, a tag, a time", id="question.part"),
    Binding(REWORD, "window('reword')", "Reword", show=False, tooltip="Say what the question means, and ask it again",
            id=REWORD_KEY),
]  # fmt: skip
CORRECTING = [
    Binding("e", "window('edit_step')", "Edit step", tooltip="Edit the step: question, what it does, sources, answer",
            id="step.edit"),
    Binding("p", "window('edit_plan')", "Edit plan", tooltip="Edit the plan as text", id="plan.edit"),
    Binding("r", "window('rerun')", "Run again", tooltip="Run this step again, and what depends on it",
            id="step.rerun"),
    Binding(COMPARE, "window('ask_again_with')", "Ask again", show=False,
            tooltip="Ask again with another strategy, and compare the answers", id=COMPARE_KEY),
    Binding("K", "window('keep_process')", "Keep process", show=False,
            tooltip="Correct the steps of a tool-using answer, and keep them as a worked process", id="process.keep"),
    Binding("m", "window('open_calls')", "Prompts", tooltip="What the model was shown for this step, and what it wrote",
            id="step.calls"),
    Binding("y", "window('copy', 'answer')", "Copy", tooltip="Copy the answer with its citations", id="copy.answer"),
    Binding("Y", "window('copy', 'evidence')", "Copy evidence", show=False,
            tooltip="Copy the evidence under the cursor", id="copy.evidence"),
    Binding("S", "window('copy', 'sparql')", "Copy SPARQL", show=False, tooltip="Copy the step's graph queries",
            id="copy.sparql"),
    Binding("x", "window('export')", "Export", tooltip="Write the question with its steps and evidence to a file",
            id="trace.export"),
    Binding("ctrl+r", "window('recall')", "Recall", priority=True, show=False,
            tooltip="Search the questions asked before", id="question.recall"),
    Binding("slash", "window('recall')", "Search", show=False, tooltip="Search the questions asked before",
            id="question.search"),
]  # fmt: skip
GROUPS = {
    "Asking and looking": LOOKING,
    "The conversation": CONVERSATION,
    "Checking, correcting, keeping": CORRECTING,
}


def possible(action: str, screen: AskScreen) -> bool | None:
    """Whether the action does something now: None dims its key, False hides it."""
    state = screen.state
    ended = state.trace is not None
    nothing = None if state.record.question else False  # no question to do it with: the key is not shown at all
    can_correct = state.can_correct or nothing
    in_plan = can_correct and (_in_plan(screen) or None)
    return {
        "cancel": state.running,
        "focus_tree": screen.has_question or None,
        "focus_evidence": screen.has_question or None,
        "focus_turns": screen.has_turns,
        "new_conversation": bool(state.record.question or screen.conversation.turns) and (not state.running or None),
        "next_citation": bool(state.citations),
        "next_user": screen.focused is not None and screen.focused.id == "evidence",
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


def _in_plan(screen: AskScreen) -> bool:
    """Whether the step that is shown is one of the plan's; others were added while the question was answered."""
    tree, selected = screen.state.tree, screen.view.selected
    return tree is not None and any(node.id == selected for node in tree.nodes())


def _reason(action: str, state: QuestionState) -> str:
    """Why the action does nothing with this question now, briefly; empty where nobody would wonder."""
    if action == "cancel":
        return ""
    if action in {"next_user", "focus_turns"}:
        return {"next_user": "Put the cursor on a piece of evidence first.",
                "focus_turns": "There is no earlier question in this conversation."}[action]  # fmt: skip
    if state.running:
        return "No steps yet." if action == "open_calls" else f"{BUSY} Escape stops it."
    if not state.record.question:
        return "Ask a question first."
    if action in {"edit_step", "edit_plan", "rerun"} and state.trace is not None and state.tree is not None:
        return (
            NOT_IN_PLAN
            if state.can_correct
            else why_no_plan(state.record.strategy, grown=state.record.plan.origin == "steps")
        )
    return {
        "keep_process": f"Only {' and '.join(sorted(LEAVE_A_PROCESS))} leave steps that can be kept as a process.",
        "next_citation": "The answer cites nothing.",
        "guess": "There is no guess to show.",
        "edit_step": "This question has no plan.",
        "edit_plan": "This question has no plan.",
        "rerun": "This question has no plan.",
        "open_calls": "This question has no plan.",
    }.get(action, "The question did not come to its end.")


def why_not(screen: AskScreen, key: str) -> str:
    """Why the key does nothing now, briefly; empty if it does something, or nobody would wonder."""
    told = ""
    for node, bindings in screen._binding_chain:
        for binding in bindings.key_to_bindings.get(key, ()):
            if screen.app._check_action_state(binding.action, node):
                return ""
            if node is screen:
                told = told or _reason(_name(binding), screen.state)
            elif node is screen.app:
                told = told or STARTING
    return told


def _name(binding: Binding) -> str:
    _, action, parameters = parse(binding.action)
    return action_name(action, parameters)


def action_name(action: str, parameters: tuple[object, ...]) -> str:
    """What is done: "window('edit_plan')" and "view('widen', 5)" say it by their first argument."""
    return str(parameters[0]) if action in {"window", "view"} else action


# Going to another question of the conversation, to a kept one, or to none.


class Turns:
    """Moves the main screen between questions, unless one runs: its answer would come to another one's screen."""

    def __init__(self, screen: AskScreen) -> None:
        self._screen = screen

    def open(self, trace: Trace, conversation: Sequence[Trace] = ()) -> None:
        """Show a kept question with its results and continue its conversation."""
        if self._is_busy():
            return
        from atomr_local.tui.question.correction import replay

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
        from atomr_local.tui.question.correction import replay

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
        self._screen.query_one(QuestionBox).value = state.record.question[:LONGEST]
        self._screen.action_focus_tree()

    def _is_busy(self) -> bool:
        if self._screen.state.running:
            self._screen.show_notice(f"{BUSY} Escape stops it.")
        return self._screen.state.running


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
        from atomr_local.tui.widgets.reasoning_view import ReasoningView
        from atomr_local.tui.widgets.status_line import BottomLine
        from atomr_local.tui.widgets.welcome import Transcript, UnderstoodLine, Welcome

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
        from atomr_local.assistant.history.store import recall

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
        self._enter(QuestionState(Trace(question, "", {}), running=True, stage="starting"))
        self.post_message(self.QuestionBegins())
        self.view.show_plan(None)
        if not waited:
            self.set_focus(self.view.steps)
        # A correction keeps to the part of the answer.
        within = self.within if asked.revision is None else ()
        self._session.ask(self._number, asked, conversation, within)

    def _enter(self, state: QuestionState) -> None:
        """Show another question; `_number` tells its events from those of an earlier one."""
        self._number += 1
        self.state = state
        self.welcome.display = False
        self.view.enter(state)
        if self._session is not None:
            keys = self.assistant.settings.ui.keys
            state.guess_key = keys.get(GUESS_KEY, state.guess_key)
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
        from atomr_local.tui.screens.dialogs import ErrorScreen

        self.app.push_screen(ErrorScreen(message.error))

    def _restore(self, state: QuestionState, selected: int | None) -> None:
        """The question was not even begun: it stays in the box, and what was shown before comes back."""
        self._before = None
        if state.record.question:
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
            part = f"in {' '.join(self.within)}"[:_LONGEST_PART] if self.within else ""
            line.show(" · ".join(filter(None, (stage, self._waiting.told, part))))
        if self.widgets_mounted:
            self._bottom.show(state, self._clock() - self._started)
