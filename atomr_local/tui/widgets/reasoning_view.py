"""The reasoning tree: one line a node, its state first."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from rich.style import Style
from rich.text import Text
from textual import events
from textual.containers import Container
from textual.geometry import Offset
from textual.message import Message
from textual.timer import Timer
from textual.widgets import Static, Tree
from textual.widgets.tree import TreeNode

from atomr_local.reasoning.confidence import NOT_FOUND
from atomr_local.reasoning.trace.schema import rating_text
from atomr_local.reasoning.trace.telling import YOUR_ANSWER, action_text, bounded, corrected_text, kind_text
from atomr_local.system.sanitize import sanitize_line
from atomr_local.tree.nodes import ROOT_ID
from atomr_local.tui.question.state import NodeState, NodeView, QuestionState
from atomr_local.tui.widgets.node_panel import DECLINED, NodePanel, sure_text

if TYPE_CHECKING:
    from atomr_local.reasoning.trace.schema import NodeTrace


MARKS = {
    NodeState.WAITING: ("○", "dim"),
    NodeState.RETRIEVING: ("◌", "yellow"),
    NodeState.REASONING: ("◐", "cyan"),
    NodeState.DONE: ("●", "green"),
    NodeState.COMPUTED: ("=", "green"),
    NodeState.MEMORY: ("◇", "yellow"),
    NodeState.UNKNOWN: ("?", "magenta"),
    NodeState.FAILED: ("✗", "red"),
    NodeState.CACHED: ("◆", "blue"),
    NodeState.GIVEN: ("✎", "yellow"),
    NodeState.STOPPED: ("–", "dim"),
}
_WORDS = {"computed": " (computed)", "memory": " (from memory)"}
_ORIGINS = {"children": "steps below", "model": "own knowledge"}  # in few letters; the pane says them in full
_LONGEST_THOUGHT = 300
_LONGEST_ORIGIN = 20
_LONGEST_BEFORE = 40
_STRUCK = 24  # columns for the word and a piece of what was struck out
_SECONDS = 6  # columns of the figure behind most lines
_LEAST_QUESTION = 8  # columns below which a piece of a question tells nothing


class ReasoningTree(Tree[int]):
    """Shows a question's nodes; the data of each line is its node id."""

    BORDER_TITLE = "Reasoning"

    def __init__(self) -> None:
        super().__init__(Text(""), id="tree")
        self.show_root = False
        self.guide_depth = 2
        self.auto_expand = False  # Enter opens the step's evidence; space folds
        self._lines: dict[int, TreeNode[int]] = {}
        self._views: dict[int, NodeView] = {}

    def show_plan(self, state: QuestionState, first: int = 0) -> None:
        """Lay the plan and the steps added to it out again, with the cursor on this node."""
        self.clear()
        self._lines = {}
        self._views = state.nodes
        for view in state.nodes.values():
            self._add(view)
        if self._lines:
            self.root.expand_all()
            self.go_to(first)

    def grow(self, view: NodeView) -> None:
        """Add a step below its parent; the cursor stays on its line.

        While the cursor is where the plan put it, on the answer, the newest line is kept in sight.
        """
        followed = self.cursor_node is not None and self.cursor_node.data == ROOT_ID
        self._add(view)
        if followed and view.node.id in self._lines and self.last_line >= 0:
            self.scroll_to_node(self._lines[view.node.id], animate=False)

    def show_text(self, text: str) -> None:
        self.clear()
        self._lines = {}
        for line in text.splitlines():
            self.root.add_leaf(Text(line_text(line), style="dim"))
        self.root.expand()

    def go_to(self, node_id: int) -> None:
        """Put the cursor on the node's line, where it has one."""
        line = self._lines.get(node_id)
        # Asking for the last line lays the lines out: a node knows its own only then.
        if line is not None and self.last_line >= 0 and self.cursor_node is not line:
            self.move_cursor(line)

    def lines_seen(self) -> list[tuple[int, Offset]]:
        """The numbers of the nodes whose lines are seen, each with where its line begins on the screen."""
        region = self.scrollable_content_region
        top = self.scroll_offset.y
        seen = []
        for node_id, line in self._lines.items():
            if 0 <= line.line - top < region.height:
                seen.append((node_id, Offset(region.x + 1, region.y + line.line - top)))
        return sorted(seen, key=lambda item: item[1].y)

    def refresh_node(self, view: NodeView) -> None:
        line = self._lines.get(view.node.id)
        if line is not None:
            line.set_label(label_of(view))

    def render_label(self, node: TreeNode[int], base_style: Style, style: Style) -> Text:
        """The line as wide as there is room for it: nothing hides behind a scrollbar."""
        prefix = ""
        if node.allow_expand:
            prefix = self.ICON_NODE_EXPANDED if node.is_expanded else self.ICON_NODE
        depth, above = 0, node.parent
        while above is not None and above is not self.root:
            depth, above = depth + 1, above.parent
        room = max(1, self.scrollable_content_region.width - depth * self.guide_depth - len(prefix))
        view = self._views.get(node.data) if node.data is not None else None
        label = Text.assemble(node.label) if view is None else label_of(view, room)
        label.truncate(room, overflow="ellipsis")
        label.stylize(style)
        return Text.assemble((prefix, base_style + Style.from_meta({"toggle": True})), label)

    def _add(self, view: NodeView) -> None:
        above = self.root if view.parent is None else self._lines.get(view.parent)
        if above is None or view.node.id in self._lines:
            return
        if not above.allow_expand:  # the first below it
            above.allow_expand = True
            above.expand()
        self._lines[view.node.id] = above.add_leaf(label_of(view), data=view.node.id)


def line_text(text: str) -> str:
    """Sanitised, indentation kept."""
    return " " * (len(text) - len(text.lstrip(" "))) + sanitize_line(text)


def label_of(view: NodeView, width: int | None = None) -> Text:
    """Number, state, operator, answer once there is one, question, how sure it is and time, sanitised.

    Args:
        width: columns there are. What does not fit is shortened: first the question, then the figures go.
    """
    head = _head(view)
    result = view.result
    question = Text(sanitize_line(view.step.resolved_question), "dim" if view.state is NodeState.WAITING else "")
    figures = Text()
    if result is not None:
        question = _done(view, question)
        if new := corrected_text(result):
            _append_statement(head, new, width)
            question = _struck(question)
        elif not view.is_stage and not _is_said(result):
            _append_answer(head, view)
            question = Text.assemble(" ← ", question, style="dim")
        lost = view.by_user or result.outcome == "not found"
        figures = Text(f"  {result.seconds:.1f}s", "dim")
        if view.declined and not lost:
            figures = Text.assemble("  ", (DECLINED, "yellow"), figures)
        elif result.confidence is not None and not lost:
            figures = Text.assemble("  ", _sure(result.confidence), figures)
    if width is not None:
        room = width - head.cell_len - figures.cell_len
        if room < 0:
            figures, room = Text(), width - head.cell_len
        if room >= _LEAST_QUESTION:
            question.truncate(room, overflow="ellipsis")
        elif question.cell_len > room:
            question = Text()
    label = Text.assemble(head, question, figures)
    if width is not None:
        label.truncate(width, overflow="ellipsis")
    return label


def _append_answer(head: Text, view: NodeView) -> None:
    result = view.result
    assert result is not None
    if result.outcome == "not found":
        head.append(NOT_FOUND, "magenta")
        return
    nothing = result.outcome == "computed" and not result.answers
    head.append("none" if nothing else sanitize_line(result.answer), "bold green" if result.answers else "magenta")
    if result.corrected_from is not None:
        head.append_text(_corrected(result.corrected_from))
    else:
        origin = _winner(result) or _WORDS.get(result.outcome or "", "")
        head.append(f" ({YOUR_ANSWER})" if view.by_user else origin, "dim")
    if result.supported is False or result.misfit:
        head.append(" ⚠", "yellow")


def _append_statement(head: Text, new: str, width: int | None) -> None:
    """What a statement was corrected to; some of the line is left for what was struck out."""
    told = Text(new)
    if width is not None:
        room = width - head.cell_len - _SECONDS
        told.truncate(max(_LEAST_QUESTION, room - max(_STRUCK, room // 3)), overflow="ellipsis")
    head.append_text(told)


def _corrected(before: str) -> Text:
    """In a few words, and what the model had written struck through; the pane says it in full."""
    if not before:
        return Text(" ↻ completed", "cyan")
    return _struck(Text(bounded(before, _LONGEST_BEFORE)))


def _struck(before: Text) -> Text:
    before.stylize("dim strike")
    return Text.assemble((" ↻ corrected ", "cyan"), before)


def _winner(result: NodeTrace) -> str:
    """Where the answer comes from that won over others, with its rating: " (text -0.21)"."""
    if not result.candidates:
        return ""
    best = result.candidates[0]
    origin = bounded(str(best.get("origin", "")), _LONGEST_ORIGIN)
    rating = "" if best.get("score") is None else rating_text(best["score"])
    told = " ".join(filter(None, (_ORIGINS.get(origin, origin), rating)))
    return f" ({told})" if told else ""


def _done(view: NodeView, question: Text) -> Text:
    """What the step did: the tool that it used with its thought, else its question."""
    result = view.result
    assert result is not None
    if result.action:
        thought = bounded(result.thought, _LONGEST_THOUGHT)
        return Text.assemble((action_text(result.action), "bold"), (f"  {thought}" if thought else "", "dim"))
    return question


def _is_said(result: NodeTrace) -> bool:
    """Whether the tool was given the step's answer, so that the line holds it already."""
    return result.action is not None and bool(result.answers) and result.action["input"] == result.answer


def _sure(confidence: float) -> Text:
    """Sign and word; of what is well supported the sign alone, so that the others stand out."""
    text = sure_text(confidence)
    return text[:1] if text.plain.startswith("✓") else text


def _head(view: NodeView) -> Text:
    """Number, mark, and operator or label."""
    number = "" if view.node.id == ROOT_ID else f"{view.node.id} "  # texts refer to the steps by their numbers
    mark, style = MARKS[view.state]
    head = Text.assemble((number, "dim"), (f"{mark} ", style), no_wrap=True)
    if view.node.call is not None:
        head.append(f"{view.node.call.operator} ", "bold")
    elif view.node.operation is not None:
        head.append(f"{view.node.operation.operation} ", "bold")
    elif name := kind_text(view.label, "step"):
        head.append(f"{name} ", "bold")
    return head


# The reasoning tree and the evidence of the step that its cursor is on, side by side or one above the other.

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
                shown is not None and view.result and not set(view.step.evidence).isdisjoint(shown.step.evidence)
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
        users = self._state.users.get(evidence_id, [])
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
        users = self._state.users.get(chosen, [])
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
