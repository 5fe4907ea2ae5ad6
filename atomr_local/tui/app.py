"""The terminal UI. It knows the core through `Assistant` and its events alone.

The assistant works on worker threads that only post messages; the handlers here own the state.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, ClassVar, Protocol

from textual import events, on, work
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container
from textual.message import Message
from textual.widgets import Footer, OptionList, Tree

from atomr_local.errors import AtomrError, Cancelled
from atomr_local.reasoning.events import (
    AnswerReady,
    Event,
    Finished,
    PlanFragment,
    PlanReady,
    QuestionAsked,
    StageChanged,
    TextGenerated,
)
from atomr_local.tui.screens.error import ErrorScreen
from atomr_local.tui.screens.help import HelpScreen
from atomr_local.tui.state import QuestionState
from atomr_local.tui.widgets.answer_panel import AnswerPanel
from atomr_local.tui.widgets.evidence_pane import EvidencePane
from atomr_local.tui.widgets.examples import Examples, Welcome
from atomr_local.tui.widgets.question_box import QuestionBox
from atomr_local.tui.widgets.reasoning_tree import ReasoningTree
from atomr_local.tui.widgets.status_line import StatusLine, WebSwitch

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_NARROW = 110  # columns below which the tree and the evidence stand one above the other
_SHORT = 20  # rows below which the question box gives up its frame
_TICK = 0.25


class Answerer(Protocol):
    """What the UI needs of the assistant."""

    @property
    def web_enabled(self) -> bool: ...

    def preload(self, on_stage: Callable[[str], None] | None = None) -> None: ...

    def ask(self, question: str) -> Iterator[Event]: ...

    def cancel(self) -> None: ...

    def set_web(self, enabled: bool) -> None: ...

    def close(self) -> None: ...


class AtomrApp(App[None]):
    """Ask, watch the tree, check the evidence."""

    CSS_PATH = "atomr.tcss"
    TITLE = "atomr-local"
    ENABLE_COMMAND_PALETTE = False
    BINDINGS: ClassVar[list[BindingType]] = [
        # The keys that edit a line in a shell (^W, ^E, ^U) stay the question box's: no slip turns the web on.
        # Priority, so that what is typed right after a key that moves the focus already goes there.
        Binding("enter", "", "Ask; on a step, go to its evidence", show=False),
        Binding("escape", "cancel", "Cancel", priority=True, tooltip="Cancel the running question; close a window"),
        Binding("ctrl+l", "focus_question", "Question", priority=True, tooltip="Go to the question box, or just type"),
        Binding("ctrl+t", "focus_tree", "Tree", priority=True, tooltip="Go to the reasoning tree"),
        Binding("ctrl+o", "focus_evidence", "Evidence", priority=True, tooltip="Go to the evidence of the step"),
        Binding("f2", "toggle_web", "Web", priority=True, tooltip="Turn web search on or off"),
        Binding("f1", "help", "Help", tooltip="Show or close this help"),
        Binding("ctrl+q", "quit", "Quit", priority=True, tooltip="Quit, also while a question runs"),
    ]

    class Loaded(Message):
        """The model and the indexes are ready, or loading failed."""

        def __init__(self, error: AtomrError | None) -> None:
            super().__init__()
            self.error = error

    class Staged(Message):
        def __init__(self, stage: str) -> None:
            super().__init__()
            self.stage = stage

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

    def __init__(self, assistant: Answerer, *, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self.animation_level = "none"  # quick keys would overtake a scroll that glides
        self._assistant = assistant
        self._clock = clock
        self._state = QuestionState()
        self._number = 0
        self._loading = "loading"
        self._started = 0.0
        self._selected: int | None = None

    def compose(self) -> ComposeResult:
        yield StatusLine()
        yield QuestionBox()
        yield Welcome()
        with Container(id="body"):
            yield ReasoningTree()
            yield EvidencePane()
        yield AnswerPanel()
        yield Footer()

    def on_mount(self) -> None:
        self._show_web()
        self.query_one("#body").display = False
        self.query_one(QuestionBox).focus()
        self.set_interval(_TICK, self._show_status)
        self._show_status()
        self.call_after_refresh(self._load)

    def on_resize(self, event: events.Resize) -> None:
        # The main screen's, whichever is on top; and the event's size: the app's own is not yet the new one.
        main = self.screen_stack[0]
        main.set_class(event.size.width < _NARROW, "narrow")
        main.set_class(event.size.height < _SHORT, "short")

    async def on_event(self, event: events.Event) -> None:
        """Let a question be typed, or pasted, from wherever the focus is."""
        typed = isinstance(event, events.Paste) or (
            isinstance(event, events.Key) and event.is_printable and event.character != " "
        )
        if typed and not event.is_forwarded and len(self.screen_stack) == 1 and self.focused is not self._box:
            self.action_focus_question()
        await super().on_event(event)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Which keys do something now: the others are dimmed, or hidden behind a window."""
        window = len(self.screen_stack) > 1
        if action == "cancel":
            return window or self._state.running or None
        if window and (action == "help" or action.startswith("focus_")):
            return False
        if action in {"focus_tree", "focus_evidence"}:
            return bool(self._number) or None
        return True

    @property
    def _box(self) -> QuestionBox | None:
        return next(iter(self.query(QuestionBox)), None)

    @work(thread=True, exit_on_error=False, group="load")
    def _load(self) -> None:
        try:
            self._assistant.preload(self._post_stage)
        except AtomrError as error:
            self.post_message(self.Loaded(error))
        else:
            self.post_message(self.Loaded(None))

    def _post_stage(self, stage: str) -> None:
        self.post_message(self.Staged(stage))

    @work(thread=True, exit_on_error=False, group="ask")
    def _ask(self, number: int, question: str) -> None:
        try:
            for event in self._assistant.ask(question):
                if not isinstance(
                    event, TextGenerated
                ):  # a node's state says that it is reasoning; tokens need no frame
                    self.post_message(self.Happened(number, event))
        except Cancelled:
            return
        except AtomrError as error:
            self.post_message(self.Broke(number, error))

    @on(Staged)
    def _staged(self, message: Staged) -> None:
        self._loading = message.stage
        self._show_status()

    @on(Loaded)
    def _loaded(self, message: Loaded) -> None:
        self._loading = "" if message.error is None else "not ready"
        if message.error is not None:
            self.push_screen(ErrorScreen(message.error))
        self._show_status()

    @on(QuestionBox.Submitted)
    def _submitted(self, message: QuestionBox.Submitted) -> None:
        self._begin(message.value)

    @on(OptionList.OptionSelected, "#examples")
    def _picked(self, message: OptionList.OptionSelected) -> None:
        self._begin(self.query_one(Examples).questions[message.option_index])

    def _begin(self, question: str) -> None:
        question = question.strip()
        box = self.query_one(QuestionBox)
        if not question:
            box.value = ""
            return
        if self._state.running:
            self._tell("A question is being answered. Escape cancels it.")
            return
        box.remember(question)
        box.value = question
        self._number += 1
        self._state = QuestionState(question=question, running=True, stage="starting")
        self._selected = None
        self._started = self._clock()
        self.query_one(Welcome).display = False
        self.query_one("#body").display = True
        tree = self.query_one(ReasoningTree)
        tree.show_text("")
        tree.focus()
        self.query_one(EvidencePane).show(None, self._state)
        self.query_one(AnswerPanel).show(self._state)
        self.refresh_bindings()
        self._ask(self._number, question)

    @on(Happened)
    def _happened(self, message: Happened) -> None:
        if message.number != self._number:
            return
        event, state = message.event, self._state
        state.apply(event)
        tree = self.query_one(ReasoningTree)
        if isinstance(event, PlanFragment):
            tree.show_text(state.plan_text)
        elif isinstance(event, PlanReady):
            tree.show_plan(state)
            self._select(0)
        elif isinstance(event, AnswerReady | Finished):
            self.query_one(AnswerPanel).show(state)
            if isinstance(event, Finished):
                self._ended()
        elif isinstance(event, QuestionAsked):
            self._show_web()
        elif not isinstance(event, StageChanged):
            self._node_changed(getattr(event, "node_id", None))
        self._show_status()

    def _node_changed(self, node_id: int | None) -> None:
        view = self._state.nodes.get(node_id) if node_id is not None else None
        if view is None:
            return
        self.query_one(ReasoningTree).refresh_node(view)
        if node_id == self._selected:
            self.query_one(EvidencePane).show(view, self._state)

    def _ended(self) -> None:
        state = self._state
        if state.answer is not None and state.answer.status in {"answered", "unknown"}:
            self._loading = ""  # whatever failed to load before is there now
        if state.tree is None:
            self.query_one(EvidencePane).show(None, state)
        self._show_web()
        self.refresh_bindings()

    @on(Broke)
    def _broke(self, message: Broke) -> None:
        if message.number == self._number:
            self._state.running = False
            self._ended()
            self._show_status()
            self.push_screen(ErrorScreen(message.error))

    @on(Tree.NodeHighlighted)
    def _highlighted(self, message: Tree.NodeHighlighted[int]) -> None:
        if message.node.data is not None:
            self._select(message.node.data)

    @on(Tree.NodeSelected)
    def _opened(self, message: Tree.NodeSelected[int]) -> None:
        if message.node.data is not None:
            self._select(message.node.data)
            self.action_focus_evidence()

    def _select(self, node_id: int) -> None:
        pane = self.query_one(EvidencePane)
        if node_id != self._selected:
            pane.scroll_home(animate=False)
        self._selected = node_id
        pane.show(self._state.nodes.get(node_id), self._state)

    @on(WebSwitch.Toggled)
    def action_toggle_web(self) -> None:
        enabled = not self._assistant.web_enabled
        self._assistant.set_web(enabled)
        self._show_web()
        told = "Web search is on: questions may be sent to DuckDuckGo." if enabled else "Web search is off."
        if self._state.running and self._state.web != enabled:
            told += " The running question goes on as it began" + ("." if enabled else "; Escape cancels it.")
        self._tell(told)

    def _show_web(self) -> None:
        self.query_one(WebSwitch).show(self._assistant.web_enabled, self._state.web if self._state.running else None)

    def _tell(self, text: str) -> None:
        self.clear_notifications()  # only the newest counts
        self.notify(text, markup=False)

    def action_cancel(self) -> None:
        if len(self.screen_stack) > 1:
            self.pop_screen()
        elif self._state.running:
            self._state.stage = "cancelling"
            self._assistant.cancel()
            self._show_status()

    def action_focus_question(self) -> None:
        # At once, and with the last question selected here: the focus event comes later than what is typed next.
        box = self.query_one(QuestionBox)
        self.screen.set_focus(box)
        box.select_all()

    def action_focus_tree(self) -> None:
        self.screen.set_focus(self.query_one(ReasoningTree))

    def action_focus_evidence(self) -> None:
        self.screen.set_focus(self.query_one(EvidencePane))

    def action_help(self) -> None:
        self.push_screen(HelpScreen([binding for binding in self.BINDINGS if isinstance(binding, Binding)]))

    async def action_quit(self) -> None:
        self._assistant.cancel()
        self.exit()

    def _show_status(self) -> None:
        state = self._state
        stage = state.stage if state.running else self._loading or "ready"
        parts = []
        if state.running:
            parts.append(f"{self._clock() - self._started:.0f} s")
        elif state.seconds is not None:
            parts.append(f"{state.seconds:.1f} s")
        if state.calls:
            parts.append(f"{state.calls} call{'s' if state.calls > 1 else ''}")
            parts.append(f"{state.evaluated_tokens} tokens read")
            parts.append(f"{state.generated_tokens} written")
        for line in self.query(StatusLine):
            line.show(stage, parts)


def run() -> None:
    """Open the terminal UI and stay until the user quits."""
    from atomr_local.assistant import Assistant

    with Assistant.open() as assistant:
        AtomrApp(assistant).run()
