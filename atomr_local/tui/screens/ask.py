"""The main screen: ask, watch the tree, check the evidence. It owns the state of the question shown."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container
from textual.events import Paste, Resize
from textual.message import Message
from textual.worker import Worker, WorkerState

from atomr_local.errors import AtomrError, Cancelled
from atomr_local.tui.core import Answerer, Asked
from atomr_local.tui.screens.ask_windows import AskWindows
from atomr_local.tui.state import QuestionState
from atomr_local.tui.widgets.question_box import QuestionBox
from atomr_local.tui.widgets.source_switches import SourceSwitches
from atomr_local.tui.widgets.status_line import StatusLine

if TYPE_CHECKING:
    from textual.timer import Timer
    from textual.widgets import OptionList, Tree

    from atomr_local.reasoning.events import Event
    from atomr_local.reasoning.trace import Trace
    from atomr_local.tui.widgets.answer_panel import AnswerPanel
    from atomr_local.tui.widgets.bottom_line import BottomLine
    from atomr_local.tui.widgets.examples import Welcome
    from atomr_local.tui.widgets.reasoning_tree import ReasoningTree
    from atomr_local.tui.widgets.splitter import Splitter

_NARROW = 110  # columns below which the tree and the evidence stand one above the other
_LOW = 26  # rows below which the question box gives up its frame
_SHORT = 20  # rows below which what the program says of itself goes too
_TICK = 0.25
_REST = 0.03  # seconds that the cursor must rest on a step before its evidence is laid out
_STEP = 5  # percent that a key moves the bar between the panes


class AskScreen(AskWindows):
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "cancel", "Cancel", priority=True, tooltip="Stop the running question", id="ask.cancel"),
        Binding(
            "ctrl+l", "focus_question", "Question", priority=True, tooltip="Go to the question box", id="focus.question"
        ),
        Binding("slash", "focus_question", "Question", show=False, tooltip="Go to the question box", id="focus.slash"),
        Binding("ctrl+t", "focus_tree", "Tree", priority=True, tooltip="Go to the reasoning tree", id="focus.tree"),
        Binding(
            "ctrl+o",
            "focus_evidence",
            "Evidence",
            priority=True,
            tooltip="Go to the evidence of the step",
            id="focus.evidence",
        ),
        Binding("c", "next_citation", "Citation", tooltip="Go to the next citation of the answer", id="citation.next"),
        Binding("u", "next_user", "Used by", tooltip="The next step that uses this evidence", id="evidence.users"),
        Binding(
            "left_square_bracket", f"resize(-{_STEP})", "Narrower", show=False, tooltip="Make the tree smaller",
            id="panes.smaller",
        ),
        Binding(
            "right_square_bracket", f"resize({_STEP})", "Wider", show=False, tooltip="Make the tree larger",
            id="panes.larger",
        ),
    ]  # fmt: skip

    class Happened(Message):
        """An event of the running question, the `number`th of this session."""

        def __init__(self, number: int, event: Event) -> None:
            super().__init__()
            self.number = number
            self.event = event

    class Broke(Message):
        """The question could not be asked."""

        def __init__(self, number: int, error: AtomrError) -> None:
            super().__init__()
            self.number = number
            self.error = error

    class Furnished(Message):
        """All of the screen is there."""

    class Recalled(Message):
        """Questions asked before, the latest first."""

        def __init__(self, questions: list[str]) -> None:
            super().__init__()
            self.questions = questions

    class Ended(Message):
        """A question has come to its end; its trace is whole."""

        def __init__(self, trace: Trace) -> None:
            super().__init__()
            self.trace = trace

    class SharesChanged(Message):
        """The user moved the bar between the panes."""

        def __init__(self, share: int) -> None:
            super().__init__()
            self.share = share

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        """Make the screen; it takes questions at once, and asks them once `attach` has given it the assistant."""
        super().__init__()
        self._attached: Answerer | None = None
        self._welcome: Welcome
        self._body: Container
        self._tree: ReasoningTree
        self._answer: AnswerPanel
        self._bottom: BottomLine
        self._waiting: Asked | None = None
        self._clock = clock
        self.state = QuestionState()
        self.loading_stage = "loading"  # of the model and the indexes; empty when they are ready
        self._number = 0
        self._started = 0.0
        self._selected: int | None = None
        self._first = 0  # the node to show when the plan is there: of a corrected one, the one that was shown
        self._share = 50  # percent of the width that the tree has
        self._citation = -1
        self._resting: Timer | None = None
        self.furnished = False

    def compose(self) -> ComposeResult:
        yield StatusLine()
        yield QuestionBox()

    def on_mount(self) -> None:
        self.query_one(QuestionBox).focus()
        self.show_status()
        self.call_after_refresh(self._furnish)

    async def _furnish(self) -> None:
        """Everything but the question box comes behind the first frame, and so does what it imports."""
        from atomr_local.tui.widgets.answer_panel import AnswerPanel
        from atomr_local.tui.widgets.bottom_line import BottomLine
        from atomr_local.tui.widgets.examples import Welcome
        from atomr_local.tui.widgets.node_panel import NodePanel
        from atomr_local.tui.widgets.reasoning_tree import ReasoningTree
        from atomr_local.tui.widgets.splitter import Splitter

        self._welcome, self._answer, self._bottom = Welcome(), AnswerPanel(), BottomLine()
        self._tree, self._panel = ReasoningTree(), NodePanel()
        self._body = Container(self._tree, Splitter(), self._panel, id="body")
        self._body.display = self._answer.display = False
        await self.mount(self._welcome, self._body, self._answer, self._bottom)
        self.furnished = True
        self._show_shares()
        self.set_interval(_TICK, self.show_status)
        self.show_status()
        self.post_message(self.Furnished())

    def on_resize(self, event: Resize) -> None:
        # The event's size: the screen's own is not yet the new one.
        self.set_class(event.size.width < _NARROW, "narrow")
        self.set_class(event.size.height < _LOW, "low")
        self.set_class(event.size.height < _SHORT, "short")
        if self.furnished:
            self._show_shares()

    def on_paste(self, event: Paste) -> None:
        """What is pasted outside the question box is a question."""
        box = self.query_one(QuestionBox)
        if self.focused is not box:
            event.stop()
            box.value = event.text
            self.set_focus(box)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Which keys do something now; the others are dimmed or, where they never can, hidden."""
        state = self.state
        ended = state.trace is not None
        return {
            "cancel": state.running,
            "focus_tree": bool(self._number) or None,
            "focus_evidence": bool(self._number) or None,
            "next_citation": bool(state.citations),
            "next_user": self.focused is not None and self.focused.id == "evidence",
            "edit_step": (ended and state.tree is not None) or None,
            "edit_plan": (ended and state.tree is not None) or None,
            "rerun": (ended and state.tree is not None) or None,
            "copy": ended or None,
            "export": ended or None,
            "calls": state.tree is not None or None,
        }.get(action, True)

    @property
    def _assistant(self) -> Answerer:
        assert self._attached is not None
        return self._attached

    def attach(self, assistant: Answerer) -> None:
        """Take the assistant; what was asked before it was there is asked now."""
        self._attached = assistant
        self._share = assistant.settings.ui.tree_share
        self._show_shares()
        self.show_switches()
        self._recall()
        if self._waiting is not None:
            waiting, self._waiting = self._waiting, None
            self.begin(waiting)

    @work(thread=True, exit_on_error=False, group="recall")
    def _recall(self) -> None:
        from atomr_local.history.recall import recall

        with suppress(AtomrError):  # told when the history itself is opened
            self.post_message(self.Recalled(recall()))

    @on(Recalled)
    def _recalled(self, message: Recalled) -> None:
        self.query_one(QuestionBox).recall(list(reversed(message.questions)))

    def offer_beginning(self) -> None:
        """Show the first start's choice, as long as nothing was asked."""
        if not self._number:
            self._welcome.offer_beginning()

    def end_beginning(self) -> None:
        """The choice is made."""
        self._welcome.end_beginning()

    # Asking

    def begin(self, asked: Asked) -> None:
        """Ask; told to the user where that is not possible now."""
        question = asked.question.strip()
        box = self.query_one(QuestionBox)
        if not question:
            box.value = ""
            return
        if self.state.running:
            self.tell("A question is being answered. Escape cancels it.")
            return
        box.value = question
        if self._attached is None:
            self._waiting = asked
            self.tell("The program is starting. The question is asked as soon as it is ready.")
            return
        box.remember(question)
        self._started = self._clock()
        self._first = self._selected if asked.revision is not None and self._selected is not None else 0
        self._enter(QuestionState(question=question, running=True, stage="starting"))
        tree = self._tree
        tree.show_text("")
        tree.focus()
        self._panel.show(None, self.state)
        self._ask(self._number, asked)

    def open_trace(self, trace: Trace) -> bool:
        """Show a question of before with all that it found; False while one runs."""
        if self.state.running:
            self.tell("A question is being answered. Escape cancels it.")
            return False
        from atomr_local.tui.replay import replay

        self._enter(replay(trace))
        self.query_one(QuestionBox).value = trace.question
        tree = self._tree
        tree.show_plan(self.state)
        tree.focus()
        self.select(0)
        self._answer.show(self.state)
        self.show_switches()
        self.show_status()
        return True

    def _enter(self, state: QuestionState) -> None:
        self._number += 1
        self.state = state
        self._selected = None
        self._citation = -1
        self._welcome.display = False
        self._body.display = True
        self._answer.show(state)
        self.refresh_bindings()

    @work(thread=True, exit_on_error=False, group="ask")
    def _ask(self, number: int, asked: Asked) -> None:
        from atomr_local.reasoning.events import TextGenerated

        try:
            for event in self._assistant.ask(
                asked.question, plan=asked.plan, plan_origin=asked.origin, revision=asked.revision
            ):
                # Of what the model writes only the answer is shown as it comes: a step's state says that it reasons.
                if not isinstance(event, TextGenerated) or event.node_id == 0:
                    self.post_message(self.Happened(number, event))
        except Cancelled:
            return
        except AtomrError as error:
            self.post_message(self.Broke(number, error))

    @on(QuestionBox.Submitted)
    def _submitted(self, message: QuestionBox.Submitted) -> None:
        self.begin(Asked(message.value))

    # Handlers found by their names, as are others below, need no import of what they handle.
    def on_option_list_option_selected(self, message: OptionList.OptionSelected) -> None:
        if message.option_list.id == "examples":
            self.begin(Asked(self._welcome.questions[message.option_index]))

    @on(Happened)
    def _happened(self, message: Happened) -> None:
        if message.number != self._number:
            return
        from atomr_local.reasoning import events

        event, state = message.event, self.state
        state.apply(event)
        tree = self._tree
        if isinstance(event, events.PlanFragment):
            tree.show_text(state.plan_text)
        elif isinstance(event, events.PlanReady):
            first = self._first if self._first in state.nodes else 0
            tree.show_plan(state, first)
            self.select(first)
            self.refresh_bindings()  # what the model wrote of it can be looked at from now on
        elif isinstance(event, events.AnswerReady | events.Finished | events.WarningRaised | events.TextGenerated):
            self._answer.show(state)
            if isinstance(event, events.Finished):
                self._ended(event.trace)
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
            self.state.running = False
            self._ended(None)
            self.show_status()
            from atomr_local.tui.screens.error import ErrorScreen

            self.app.push_screen(ErrorScreen(message.error))

    def action_cancel(self) -> None:
        if self.state.running:
            self.state.stage = "cancelling"
            self._assistant.cancel()
            self.show_status()

    # Looking around

    @property
    def selected(self) -> int | None:
        """The number of the node that is shown."""
        return self._selected

    def on_tree_node_highlighted(self, message: Tree.NodeHighlighted[int]) -> None:
        """The cursor moves at once; what it stands on is shown when it rests, so that a held key never waits."""
        if message.node.data is None or message.node.data == self._selected:
            return
        if self._resting is not None:
            self._resting.stop()
        self._resting = self.set_timer(_REST, partial(self.select, message.node.data))

    def on_tree_node_selected(self, message: Tree.NodeSelected[int]) -> None:
        if message.node.data is not None:
            self.select(message.node.data)
            self.action_focus_evidence()

    def select(self, node_id: int) -> None:
        """Show the node in the panel, and the cursor on its line."""
        if self._resting is not None:
            self._resting.stop()
        if node_id == self._selected:
            return
        self._selected = node_id
        self._tree.go_to(node_id)
        self._panel.show(self.state.nodes.get(node_id), self.state)

    def go_to_evidence(self, evidence_id: str) -> None:
        """Show the piece at the step that is shown, else at the first that uses it."""
        users = self.state.users_of(evidence_id)
        if not users:
            return
        if self._selected not in users:
            self.select(users[0])
        self.action_focus_evidence()
        self._panel.go_to(evidence_id)

    def on_answer_panel_citation_chosen(self, message: AnswerPanel.CitationChosen) -> None:
        self.go_to_evidence(message.evidence_id)

    def action_next_citation(self) -> None:
        cited = self.state.citations
        if cited:
            self._citation = (self._citation + 1) % len(cited)
            self.go_to_evidence(cited[self._citation])

    def action_next_user(self) -> None:
        panel = self._panel
        chosen = panel.chosen
        if chosen is None:
            return
        users = self.state.users_of(chosen)
        later = [number for number in users if self._selected is not None and number > self._selected]
        target = (later or users)[0]
        if target == self._selected:
            self.tell("No other step uses this piece of evidence.")
            return
        self.select(target)
        panel.go_to(chosen)

    def action_focus_question(self) -> None:
        # At once, and with the last question selected here: the focus event comes later than what is typed next.
        box = self.query_one(QuestionBox)
        self.set_focus(box)
        box.select_all()

    def action_focus_tree(self) -> None:
        self.set_focus(self._tree)

    def action_focus_evidence(self) -> None:
        self.set_focus(self._panel)

    # The panes

    def action_resize(self, by: int) -> None:
        self._set_share(self._share + by)

    def on_splitter_moved(self, message: Splitter.Moved) -> None:
        self._set_share(message.share)

    def _set_share(self, share: int) -> None:
        from atomr_local.tui.widgets.splitter import within

        self._share = within(share)
        self._show_shares()
        self.post_message(self.SharesChanged(self._share))

    def _show_shares(self) -> None:
        tree, panel = self._tree, self._panel
        tree_part, panel_part = f"{self._share}fr", f"{100 - self._share}fr"
        narrow = self.has_class("narrow")
        tree.styles.width, panel.styles.width = ("100%", "100%") if narrow else (tree_part, panel_part)
        tree.styles.height, panel.styles.height = (tree_part, panel_part) if narrow else ("100%", "100%")

    # What is told

    def show_switches(self) -> None:
        """Show which sources may be used, now and next."""
        if self._attached is None:
            return
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
