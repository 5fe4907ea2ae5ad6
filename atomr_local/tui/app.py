"""The terminal UI. It knows the core through `Assistant` and its events alone.

The assistant works on worker threads that only post messages; the handlers here own the state, and the screen is
shown it.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import partial
from typing import ClassVar

from textual import on, work
from textual.app import App, SystemCommand
from textual.binding import Binding, BindingType
from textual.screen import Screen
from textual.widgets import OptionList
from textual.worker import get_current_worker

from atomr_local import paths
from atomr_local.errors import AtomrError
from atomr_local.reasoning.events import Event, Finished, NodeStarted, PlanReady
from atomr_local.tree.nodes import ROOT_ID
from atomr_local.tui import theme
from atomr_local.tui.answerer import Answerer, as_atomr_error
from atomr_local.tui.mailbox import Mailbox
from atomr_local.tui.messages import AskFailed, EventsWaiting, Loaded, LoadingStage, Opened
from atomr_local.tui.screens.error import ErrorScreen
from atomr_local.tui.screens.help import HelpScreen
from atomr_local.tui.screens.main import MainScreen
from atomr_local.tui.state import Session
from atomr_local.tui.terminal import leave, quiet_terminal, require_terminal
from atomr_local.tui.widgets.evidence_pane import EvidencePane
from atomr_local.tui.widgets.examples import Examples
from atomr_local.tui.widgets.question_box import QuestionBox
from atomr_local.tui.widgets.reasoning_tree import ReasoningTree
from atomr_local.tui.widgets.web_switch import WebSwitch

_FRAMES_PER_SECOND = 8


@dataclass
class _Run:
    """One question being answered: what the UI and its worker thread share."""

    number: int
    mailbox: Mailbox
    stop: threading.Event = field(default_factory=threading.Event)


class AtomrApp(App[None], inherit_bindings=False):
    """Ask, watch the tree, check the evidence."""

    CSS_PATH = "atomr.tcss"
    TITLE = "atomr-local"
    HORIZONTAL_BREAKPOINTS: ClassVar[list[tuple[int, str]] | None] = [(0, "-narrow"), (110, "-wide")]  # type: ignore[misc]
    VERTICAL_BREAKPOINTS: ClassVar[list[tuple[int, str]] | None] = [(0, "-short"), (32, "-tall")]  # type: ignore[misc]
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "cancel", "Stop", tooltip="Stop the running question; what was found stays"),
        Binding("f2", "toggle_web", "Web", tooltip="Turn web search on or off", priority=True),
        Binding("ctrl+l", "focus_question", "Question", tooltip="Go to the question box"),
        Binding("ctrl+t", "focus_tree", "Tree", tooltip="Go to the reasoning tree"),
        Binding("ctrl+g", "focus_evidence", "Evidence", tooltip="Go to the evidence"),
        Binding("f1", "help", "Help", tooltip="Show this help"),
        Binding("ctrl+q", "quit", "Quit", tooltip="Stop everything and leave", priority=True),
        Binding("ctrl+c", "help_quit", show=False, system=True),
    ]

    def __init__(self, open_assistant: Callable[[], Answerer], clock: Callable[[], float] = time.monotonic) -> None:
        """Args:
        open_assistant: called once, on a worker thread, after the first frame; may take its time and may raise
            AtomrError.
        clock: seconds; what elapsed time and moving marks are taken from.
        """
        super().__init__()
        self.assistant: Answerer | None = None
        self.session = Session()
        self._open_assistant = open_assistant
        self._clock = clock
        self._run_now: _Run | None = None

    def get_default_screen(self) -> Screen[None]:
        return MainScreen()

    @property
    def main(self) -> MainScreen:
        screen = self.screen_stack[0]
        assert isinstance(screen, MainScreen)
        return screen

    def on_mount(self) -> None:
        self.register_theme(theme.INK)
        self.register_theme(theme.PAPER)
        self.theme = theme.INK.name
        self._ticking = self.set_interval(1 / _FRAMES_PER_SECOND, self._show_status)
        self.call_after_refresh(self._start_loading)

    # Loading

    def _start_loading(self) -> None:
        self.session.failure = None
        self.session.stage = "starting"
        self._show_status()
        self._load(self.assistant)

    @work(thread=True, exit_on_error=False, group="load")
    def _load(self, assistant: Answerer | None) -> None:
        from atomr_local.tui.examples import examples_for  # with the settings model, 0.2 s: after the first frame

        try:
            if assistant is None:
                assistant = self._open_assistant()
                self.post_message(Opened(assistant, examples_for(assistant.settings)))
            if get_current_worker().is_cancelled:
                return
            assistant.preload(self._post_stage)
        except Exception as error:
            self.post_message(Loaded(as_atomr_error(error)))
        else:
            self.post_message(Loaded(None))

    def _post_stage(self, stage: str) -> None:
        self.post_message(LoadingStage(stage))

    @on(Opened)
    def _opened(self, message: Opened) -> None:
        self.assistant = message.assistant
        self.session.model = message.assistant.settings.model
        self.main.show_web(message.assistant.web_enabled)
        self.main.show_examples(message.examples)

    @on(LoadingStage)
    def _loading_stage(self, message: LoadingStage) -> None:
        self.session.stage = message.stage
        self._show_status()

    @on(Loaded)
    def _loaded(self, message: Loaded) -> None:
        session = self.session
        session.ready, session.failure, session.stage = message.error is None, message.error, ""
        held, session.held = session.held, False
        if held and message.error is None:
            self._ask_now()
        elif held:
            session.question.cancel_unstarted()
            self.main.show_question(session)
        if message.error is not None:
            self.push_screen(ErrorScreen(message.error, "Asking a question tries again."))
        self._show_status()

    # Asking

    @on(QuestionBox.Submitted)
    def _submitted(self, message: QuestionBox.Submitted) -> None:
        self._begin(message.value)

    @on(OptionList.OptionSelected, "#examples")
    def _picked(self, message: OptionList.OptionSelected) -> None:
        self._begin(self.query_one(Examples).questions[message.option_index])

    def _begin(self, question: str) -> None:
        question, session = question.strip(), self.session
        if not question:
            return
        if session.question.running:
            self.notify("A question is being answered. Escape stops it.", severity="warning", markup=False)
            return
        session.begin(question, self._clock())
        box = self.main.query_one(QuestionBox)
        box.remember(question)
        box.value = question
        self.main.show_question(session)
        self.main.focus_now(ReasoningTree)
        if session.ready:
            self._ask_now()
        else:
            session.held = True
            session.question.stage = "waiting for the model to load"
            if session.failure is not None:
                self._start_loading()
        self._show_status()

    def _ask_now(self) -> None:
        assert self.assistant is not None
        number = self.session.number
        self._run_now = _Run(number, Mailbox(lambda: self._post_waiting(number)))
        self._ask(self.assistant, self._run_now, self.session.question.question)

    def _post_waiting(self, number: int) -> None:
        self.post_message(EventsWaiting(number))

    @work(thread=True, exit_on_error=False, group="ask")
    def _ask(self, assistant: Answerer, run: _Run, question: str) -> None:
        try:
            for event in assistant.ask(question):
                run.mailbox.put(event)
                if run.stop.is_set():  # stopped before the assistant had begun: it has not heard of it
                    assistant.cancel()
        except Exception as error:
            self.post_message(AskFailed(run.number, as_atomr_error(error)))

    @on(EventsWaiting)
    def _events_waiting(self, message: EventsWaiting) -> None:
        run, session = self._run_now, self.session
        if run is None or run.number != message.number or session.number != message.number:
            return
        before = session.selection
        changed = {self._take_in(event) for event in run.mailbox.take()}
        self.main.show_progress(session, session.selection is not before or session.selected in changed)
        self._show_status()

    def _take_in(self, event: Event) -> int | None:
        """Apply the event; the id of the node that it changed."""
        session = self.session
        changed = session.question.apply(event)
        if session.follow:
            if isinstance(event, NodeStarted):
                session.selected = event.node_id
            elif isinstance(event, PlanReady | Finished):
                session.selected = ROOT_ID
        return changed

    @on(AskFailed)
    def _ask_failed(self, message: AskFailed) -> None:
        if message.number == self.session.number:
            self.session.question.cancel_unstarted()
            self.main.show_question(self.session)
            self.push_screen(ErrorScreen(message.error))
            self._show_status()

    # Looking around

    @on(ReasoningTree.Selected)
    def _selected(self, message: ReasoningTree.Selected) -> None:
        self.session.selected = message.node_id
        self.session.follow = False
        self.main.show_tree(self.session)
        self.main.show_evidence(self.session)

    @on(ReasoningTree.Opened)
    def action_focus_evidence(self) -> None:
        self.main.focus_now(EvidencePane)

    def action_focus_question(self) -> None:
        self.main.focus_now(QuestionBox)

    def action_focus_tree(self) -> None:
        self.main.focus_now(ReasoningTree)

    @on(WebSwitch.Toggled)
    def action_toggle_web(self) -> None:
        if self.assistant is None:
            return
        enabled = not self.assistant.web_enabled
        self.assistant.set_web(enabled)
        self.main.show_web(enabled)
        if enabled:
            self.notify("Search words of your questions are sent to DuckDuckGo.", title="Web search is ON",
                        severity="error", markup=False)  # fmt: skip
        else:
            self.notify("Nothing leaves this machine.", title="Web search is off", markup=False)

    def action_cancel(self) -> None:
        session = self.session
        if session.held:
            session.held = False
            session.question.cancel_unstarted()
            self.main.show_question(session)
        elif session.question.running and self.assistant is not None and self._run_now is not None:
            session.question.stage = "stopping"
            self._run_now.stop.set()
            self.assistant.cancel()
        self._show_status()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        return (True if self.session.question.running else None) if action == "cancel" else True

    def action_help(self) -> None:
        around = [binding for binding in Screen.BINDINGS if isinstance(binding, Binding) and "tab" in binding.key]
        self.push_screen(
            HelpScreen(
                [
                    ("Everywhere", [*self.BINDINGS, *around]),
                    ("In the question box", QuestionBox.BINDINGS),
                    ("In the tree", ReasoningTree.BINDINGS),
                    ("In the evidence", EvidencePane.BINDINGS),
                ]
            )
        )

    def get_system_commands(self, screen: Screen[object]) -> Iterable[SystemCommand]:
        for binding in self.BINDINGS:
            if isinstance(binding, Binding):
                run = partial(self.call_later, self.run_action, binding.action)
                yield SystemCommand(binding.description, binding.tooltip, run)
        yield SystemCommand("Theme", "Choose the colours", self.action_change_theme)

    async def action_quit(self) -> None:
        if self._run_now is not None:
            self._run_now.stop.set()
        if self.assistant is not None:
            self.assistant.cancel()
        self.exit()

    def _show_status(self) -> None:
        session, now = self.session, self._clock()
        busy = session.question.running or bool(session.stage)
        (self._ticking.resume if busy else self._ticking.pause)()
        self.main.show_status(session, now, int(now * _FRAMES_PER_SECOND))
        self.main.refresh_bindings()


def run() -> None:
    """Open the terminal UI and stay until the user quits.

    Raises:
        AtomrError: there is no terminal, or the UI broke.
    """
    require_terminal()
    app = AtomrApp(_open_assistant)
    log = paths.cache_dir() / "terminal-ui.log"
    loop = asyncio.new_event_loop()  # of our own: on Textual's, leaving would wait until loading ends
    with quiet_terminal(log):
        app.run(loop=loop)
    loop.close()
    if app.return_code:
        raise AtomrError(
            "the terminal UI broke", title="Internal error", hint=f"Please report it; what happened is told in {log}"
        )
    leave(app.assistant.close if app.assistant is not None else None)


def _open_assistant() -> Answerer:
    from atomr_local.assistant import Assistant

    return Assistant.open()
