"""The reasoning tree: one line a node, its state first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.style import Style
from rich.text import Text
from textual.geometry import Offset
from textual.widgets import Tree
from textual.widgets.tree import TreeNode

from atomr_local.reasoning.confidence.words import NOT_FOUND
from atomr_local.reasoning.trace.words import YOUR_ANSWER
from atomr_local.sanitize import sanitize_line
from atomr_local.tree.nodes import ROOT_ID
from atomr_local.tui.question.state import NodeState, NodeView, QuestionState
from atomr_local.tui.widgets.step_text import sure_text

if TYPE_CHECKING:
    from atomr_local.tree.nodes import Node

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
}
_WORDS = {"computed": " (computed)", "memory": " (from memory)"}
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
        """Lay the plan out again, with the cursor on this node."""
        self.clear()
        self._lines = {}
        self._views = state.nodes
        if state.tree is not None:
            self._add(self.root, state.tree.root, state)
            self.root.expand_all()
            self.go_to(first)

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

    def _add(self, parent: TreeNode[int], node: Node, state: QuestionState) -> None:
        label = label_of(state.nodes[node.id])
        if node.children:
            line = parent.add(label, data=node.id, expand=True)
            for child in node.children:
                self._add(line, child, state)
        else:
            line = parent.add_leaf(label, data=node.id)
        self._lines[node.id] = line


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
    question = Text(sanitize_line(view.resolved_question), "dim" if view.state is NodeState.WAITING else "")
    figures = Text()
    if result is not None:
        if result.outcome == "not found":
            head.append(NOT_FOUND, "magenta")
        else:
            nothing = result.outcome == "computed" and not result.answers
            head.append(
                "none" if nothing else sanitize_line(result.answer), "bold green" if result.answers else "magenta"
            )
            head.append(f" ({YOUR_ANSWER})" if view.by_user else _WORDS.get(result.outcome or "", ""), "dim")
        if (result.supported is False or result.misfit) and result.outcome != "not found":
            head.append(" ⚠", "yellow")
        question = Text.assemble(" ← ", question, style="dim")
        lost = view.by_user or result.outcome == "not found"
        figures = Text(f"  {result.seconds:.1f}s", "dim")
        if result.confidence is not None and not lost:
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


def _sure(confidence: float) -> Text:
    """Sign and word; of what is well supported the sign alone, so that the others stand out."""
    text = sure_text(confidence)
    return text[:1] if text.plain.startswith("✓") else text


def _head(view: NodeView) -> Text:
    """Number, mark and operator."""
    number = "" if view.node.id == ROOT_ID else f"{view.node.id} "  # texts refer to the steps by their numbers
    mark, style = MARKS[view.state]
    head = Text.assemble((number, "dim"), (f"{mark} ", style), no_wrap=True)
    if view.node.call is not None:
        head.append(f"{view.node.call.operator} ", "bold")
    elif view.node.operation is not None:
        head.append(f"{view.node.operation.operation} ", "bold")
    return head
