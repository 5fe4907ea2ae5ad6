"""The reasoning tree and the evidence of the step that its cursor is on, side by side or one above the other."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from textual import events
from textual.containers import Container
from textual.message import Message
from textual.timer import Timer
from textual.widgets import Static

from atomr_local.tui.question.state import QuestionState
from atomr_local.tui.widgets.node_panel import NodePanel
from atomr_local.tui.widgets.reasoning_tree import ReasoningTree

_LEAST, _MOST = 20, 80  # percent that the tree may have
_REST = 0.03  # seconds that the cursor must rest on a step before its evidence is laid out


class Splitter(Static):
    """The bar between tree and evidence; it posts where it is dragged to."""

    @dataclass
    class Moved(Message):
        """`share`: percent of the body that the tree shall have."""

        share: int

    def __init__(self) -> None:
        super().__init__("", id="splitter", markup=False)

    def on_mouse_down(self, event: events.MouseDown) -> None:
        self.capture_mouse()
        event.stop()

    def on_mouse_up(self, event: events.MouseUp) -> None:
        self.release_mouse()
        event.stop()

    def on_mouse_move(self, event: events.MouseMove) -> None:
        if self.app.mouse_captured is not self or self.parent is None:
            return
        region = self.parent.region  # type: ignore[attr-defined]
        self.post_message(self.Moved(round(100 * (event.screen_x - region.x) / max(1, region.width))))


class ReasoningView(Container):
    """Shows one question's state, and knows which step and which citation the user looks at.

    Attributes:
        selected: the number of the node that is shown.
        share: percent of the room that the tree has.
        moved_share: the share, if the user has moved the bar between the panes.
    """

    def __init__(self) -> None:
        self.steps, self.evidence = ReasoningTree(), NodePanel()
        super().__init__(self.steps, Splitter(), self.evidence, id="body")
        self.display = False
        self.selected: int | None = None
        self.share = 50
        self.moved_share: int | None = None
        self._state = QuestionState()
        self._citation = -1
        self._resting: Timer | None = None

    def enter(self, state: QuestionState) -> None:
        """Take another question; nothing of it is selected yet."""
        self._state, self.selected, self._citation = state, None, -1
        self.display = True

    def show_plan(self, node_id: int | None) -> None:
        """Lay the plan out, with this node selected where it is in it."""
        self.steps.show_plan(self._state, node_id or 0)
        if node_id is None:
            self.evidence.show(None, self._state)
        else:
            self.select(node_id)

    def grow(self, node_id: int) -> None:
        """Add a step that no plan has to the tree; what is looked at stays."""
        view = self._state.nodes.get(node_id)
        if view is not None:
            self.steps.grow(view)

    def refresh_node(self, node_id: int | None) -> None:
        """Show what has become of the node."""
        view = self._state.nodes.get(node_id) if node_id is not None else None
        if view is not None:
            self.steps.refresh_node(view)
            shown = self._state.nodes.get(self.selected) if self.selected is not None else None
            # Another step that has ended may use what the selected one found: "used by" says so.
            if shown is view or (
                shown is not None and view.result and not set(view.evidence).isdisjoint(shown.evidence)
            ):
                self.evidence.show(shown, self._state)

    def select(self, node_id: int) -> None:
        """Show the node in the panel, and the cursor on its line."""
        if self._resting is not None:
            self._resting.stop()
        if node_id != self.selected:
            self.selected = node_id
            self.steps.go_to(node_id)
            self.evidence.show(self._state.nodes.get(node_id), self._state)

    # Handlers found by their names need no import of what they handle.
    def on_tree_node_highlighted(self) -> None:
        """The cursor moves at once; what it stands on is shown when it rests, so that a held key never waits."""
        if self._resting is not None:
            self._resting.stop()
        # Where the cursor stands now: by the time that this is heard it may be elsewhere than when it was told.
        line = self.steps.cursor_node
        if line is not None and line.data is not None and line.data != self.selected:
            self._resting = self.set_timer(_REST, partial(self.select, line.data))

    def on_tree_node_selected(self, message: ReasoningTree.NodeSelected[int]) -> None:
        if message.node.data is not None:
            self.select(message.node.data)
            self.screen.set_focus(self.evidence)

    # Evidence

    def go_to_evidence(self, evidence_id: str) -> None:
        """Show the piece at the step that is shown, else at the first that uses it."""
        users = self._state.users_of(evidence_id)
        if not users:
            return
        if self.selected not in users:
            self.select(users[0])
        self.screen.set_focus(self.evidence)
        self.evidence.go_to(evidence_id)

    def next_citation(self) -> None:
        if cited := self._state.citations:
            self._citation = (self._citation + 1) % len(cited)
            self.go_to_evidence(cited[self._citation])

    def restart_citations(self) -> None:
        """Begin with the first citation again: others are shown now."""
        self._citation = -1

    def next_user(self) -> bool:
        """Show the next step that uses the piece under the cursor; False if there is no other."""
        chosen = self.evidence.chosen
        if chosen is None:
            return True
        users = self._state.users_of(chosen)
        later = [number for number in users if self.selected is not None and number > self.selected]
        target = (later or users)[0]
        if target == self.selected:
            return False
        self.select(target)
        self.evidence.go_to(chosen)
        return True

    # The panes

    def on_splitter_moved(self, message: Splitter.Moved) -> None:
        self.move_bar(message.share)

    def widen(self, percent: int) -> None:
        """Give the tree so many percent more of the room."""
        self.move_bar(self.share + percent)

    def move_bar(self, share: int) -> None:
        """Give the tree so many percent of the room, neither pane too small to be read."""
        self.share = self.moved_share = max(_LEAST, min(_MOST, share))
        self.show_share()

    def on_resize(self) -> None:
        self.show_share()  # the screen may have become narrow

    def show_share(self) -> None:
        """Lay the panes out: side by side, or one above the other on a narrow screen."""
        narrow = self.screen.has_class("narrow")
        for pane, share in ((self.steps, self.share), (self.evidence, 100 - self.share)):
            pane.styles.width, pane.styles.height = ("100%", f"{share}fr") if narrow else (f"{share}fr", "100%")
