"""The main screen: ask, watch the tree, check the evidence. What it is made of, and looking around in it."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from textual import on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container
from textual.events import Paste, Resize
from textual.message import Message

from atomr_local.errors import AtomrError
from atomr_local.tui.core import Answerer, Asked
from atomr_local.tui.screens.ask.asking import GUESS_KEY, Asking
from atomr_local.tui.widgets.question_box import QuestionBox
from atomr_local.tui.widgets.status_line import StatusLine

if TYPE_CHECKING:
    from textual.timer import Timer
    from textual.widgets import OptionList, Tree

    from atomr_local.tui.widgets.answer_panel import AnswerPanel
    from atomr_local.tui.widgets.splitter import Splitter

_NARROW = 110  # columns below which the tree and the evidence stand one above the other
_LOW = 26  # rows below which the question box gives up its frame
_SHORT = 20  # rows below which what the program says of itself goes too
_TICK = 0.25
_REST = 0.03  # seconds that the cursor must rest on a step before its evidence is laid out
_STEP = 5  # percent that a key moves the bar between the panes


class AskScreen(Asking):
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
        Binding("g", "guess", "Guess", tooltip="Show or hide the guess, where the answer is not found", id=GUESS_KEY),
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

    class Furnished(Message):
        """All of the screen is there."""

    @dataclass
    class Recalled(Message):
        """Questions asked before, the latest first."""

        questions: list[str]

    @dataclass
    class SharesChanged(Message):
        """The user moved the bar between the panes."""

        share: int

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        """Make the screen; it takes questions at once, and asks them once `attach` has given it the assistant."""
        super().__init__(clock=clock)
        self._share = 50  # percent of the width that the tree has
        self._resting: Timer | None = None

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
        from atomr_local.tui.widgets.transcript import Transcript
        from atomr_local.tui.widgets.understood_line import UnderstoodLine

        self._transcript, self._understood = Transcript(), UnderstoodLine()
        self._welcome, self._answer, self._bottom = Welcome(), AnswerPanel(), BottomLine()
        self._tree, self._panel = ReasoningTree(), NodePanel()
        self._body = Container(self._tree, Splitter(), self._panel, id="body")
        self._body.display = self._answer.display = False
        await self.mount(self._transcript, before="#question")
        await self.mount(self._understood, self._welcome, self._body, self._answer, self._bottom)
        self.furnished = True
        self._show_shares()
        self.show_switches()
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
            "guess": state.has_guess,
            "new_conversation": bool(state.question or self.talk.turns) and not state.running,
            "focus_turns": self.furnished and self._transcript.display,
            "reword": ended,
            "next_user": self.focused is not None and self.focused.id == "evidence",
            "edit_step": (ended and state.tree is not None) or None,
            "edit_plan": (ended and state.tree is not None) or None,
            "rerun": (ended and state.tree is not None) or None,
            "copy": ended or None,
            "export": ended or None,
            "calls": state.tree is not None or None,
        }.get(action, True)

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

    # Handlers found by their names, as are others below, need no import of what they handle.
    def on_option_list_option_selected(self, message: OptionList.OptionSelected) -> None:
        if message.option_list.id == "examples":
            self.begin(Asked(self._welcome.questions[message.option_index]))

    # Looking around

    @property
    def selected(self) -> int | None:
        """The number of the node that is shown."""
        return self._selected

    def on_tree_node_highlighted(self) -> None:
        """The cursor moves at once; what it stands on is shown when it rests, so that a held key never waits."""
        if self._resting is not None:
            self._resting.stop()
        # Where the cursor stands now: by the time that this is heard it may be elsewhere than when it was told.
        line = self._tree.cursor_node
        if line is not None and line.data is not None and line.data != self._selected:
            self._resting = self.set_timer(_REST, partial(self.select, line.data))

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

    def action_guess(self) -> None:
        self.state.guess_shown = not self.state.guess_shown
        self._citation = -1
        self._answer.show(self.state)
        self.refresh_bindings()

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
