"""The reasoning tree: one line a node, its state first."""

from __future__ import annotations

from rich.text import Text
from textual.widgets import Tree
from textual.widgets.tree import TreeNode

from atomr_local.sanitize import sanitize_line
from atomr_local.tree.nodes import Node
from atomr_local.tui.state import NodeState, NodeView, QuestionState

MARKS = {
    NodeState.WAITING: ("○", "dim"),
    NodeState.RETRIEVING: ("◌", "yellow"),
    NodeState.REASONING: ("◐", "cyan"),
    NodeState.DONE: ("●", "green"),
    NodeState.UNKNOWN: ("?", "magenta"),
    NodeState.FAILED: ("✗", "red"),
}


class ReasoningTree(Tree[int]):
    """Shows a question's nodes; the data of each line is its node id."""

    BORDER_TITLE = "Reasoning"

    def __init__(self) -> None:
        super().__init__(Text(""), id="tree")
        self.show_root = False
        self.guide_depth = 2
        self._lines: dict[int, TreeNode[int]] = {}

    def show_plan(self, state: QuestionState) -> None:
        """Lay the plan out anew."""
        self.clear()
        self._lines = {}
        if state.tree is not None:
            self._add(self.root, state.tree.root, state)
            self.root.expand_all()
            self.cursor_line = 0

    def show_text(self, text: str) -> None:
        """Show the plan as it is being written."""
        self.clear()
        self._lines = {}
        for line in text.splitlines():
            self.root.add_leaf(Text(line_text(line), style="dim"))
        self.root.expand()

    def refresh_node(self, view: NodeView) -> None:
        line = self._lines.get(view.node.id)
        if line is not None:
            line.set_label(label_of(view))

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


def label_of(view: NodeView) -> Text:
    """State, operator, answer once there is one, question, confidence and time, sanitised."""
    mark, style = MARKS[view.state]
    label = Text(f"{mark} ", style=style, no_wrap=True)
    if view.node.call is not None:
        label.append(f"{view.node.call.operator} ", "bold")
    result = view.result
    if result is None:
        label.append(sanitize_line(view.resolved_question), "dim" if view.state is NodeState.WAITING else "")
        return label
    # The answer first: in a narrow pane the end of the line is cut off.
    label.append(sanitize_line(result.answer), "bold green" if result.answers else "magenta")
    if result.supported is False:
        label.append(" ⚠", "yellow")
    label.append(f" ← {sanitize_line(view.resolved_question)}", "dim")
    if result.confidence is not None:
        label.append(f"  {result.confidence:.2f}", "dim")
    label.append(f"  {result.seconds:.1f}s", "dim")
    return label
