"""One step of the plan: its question, its operator, its sources, or an answer of the user's own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Checkbox, Footer, Input, Label, Select, Static

from atomr_local.sanitize import sanitize_line
from atomr_local.tree.errors import TreeError
from atomr_local.tree.nodes import ROOT_ID, Operator, Tree
from atomr_local.tree.operations import Operation
from atomr_local.tui.question.correction import DIRECT, CheckedPlan, check_tree, operation_of, with_step
from atomr_local.tui.widgets.clean_text import CleanInput

if TYPE_CHECKING:
    from atomr_local.settings.schema import LimitSettings
    from atomr_local.tui.question.state import NodeView

_NONE = "none"


@dataclass(frozen=True)
class StepChange:
    """The step as the user wants it; `sources` and `answers` are empty if they stay the program's."""

    tree: Tree
    node_id: int
    sources: tuple[str, ...] = ()
    answers: tuple[str, ...] = ()


class NodeEditor(ModalScreen[StepChange | None]):
    DEFAULT_CSS = """
    NodeEditor { align: center middle; }
    #step { width: 96; max-width: 96%; height: auto; max-height: 94%; padding: 0 2; background: $surface; border: round $accent; scrollbar-size-vertical: 1; }
    #step Label { width: 100%; color: $text-muted; }
    #step Input { height: 3; }
    #step-sources { height: auto; }
    #step-check { height: auto; }
    """  # noqa: E501
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "dismiss", "Close", tooltip="Leave the step as it was", id="step.close"),
        Binding("f5,ctrl+s", "run", "Run", tooltip="Run what depends on the change", id="step.run"),
    ]

    def __init__(self, tree: Tree, view: NodeView, limits: LimitSettings, sources: Sequence[str]) -> None:
        """Make the screen; `sources` may be asked now."""
        super().__init__()
        self._tree = tree
        self._view = view
        self._limits = limits
        self._sources = list(sources)
        self._checked = CheckedPlan(tree, ())

    def compose(self) -> ComposeResult:
        node = self._view.node
        operator, arguments = operation_of(node)
        with VerticalScroll(id="step", can_focus=False) as body:
            body.border_title = f"Step {node.id}"
            yield Label("Question; [1] is replaced by the answer of step 1")
            yield CleanInput(sanitize_line(node.question), id="step-question", select_on_focus=False)
            if not node.children and node.id != ROOT_ID:
                yield Label("Operator")
                yield Select(
                    [
                        *((name, name) for name in (*map(str, Operator), *map(str, Operation), DIRECT)),
                        ("none: from the steps it names", _NONE),
                    ],
                    value=operator or _NONE,
                    allow_blank=False,
                    id="step-operator",
                )
                yield Label('Arguments, such as [1], "director" or [1], [2], "earlier"')
                yield CleanInput(sanitize_line(arguments), id="step-arguments", select_on_focus=False)
            yield Label("Sources that this step may ask")
            with Horizontal(id="step-sources"):
                for name in self._sources:
                    yield Checkbox(name, True, id=f"step-source-{name}", compact=True)
            yield Label("Answer of your own; several by semicolons; empty: look it up")
            yield CleanInput(id="step-answer", placeholder=sanitize_line(self._view.answer), select_on_focus=False)
            yield Static(id="step-check", markup=False)
        yield Footer(show_command_palette=False)

    def on_mount(self) -> None:
        self.query_one("#step-question").focus()
        self._check()

    @on(Input.Changed)
    @on(Select.Changed)
    def _check(self) -> None:
        node = self._view.node
        operator, arguments = operation_of(node)
        if self.query("#step-operator"):
            value = self.query_one("#step-operator", Select).value
            operator = "" if value == _NONE else str(value)
            arguments = self.query_one("#step-arguments", Input).value
        try:
            tree = with_step(
                self._tree,
                node.id,
                self.query_one("#step-question", Input).value,
                operator,
                arguments if operator else "",
            )
            self._checked = check_tree(tree, self._limits)
        except TreeError as error:
            self._checked = CheckedPlan(None, (str(error),))
        lines = [f"{'⚠' if self._checked.tree else '✗'} {sanitize_line(line)}" for line in self._checked.problems]
        text = Text("\n".join(lines) or "✓ can be run", "green" if self._checked.tree else "red")
        self.query_one("#step-check", Static).update(text)

    def action_run(self) -> None:
        if self._checked.tree is None:
            return
        chosen = tuple(name for name in self._sources if self.query_one(f"#step-source-{name}", Checkbox).value)
        answers = [sanitize_line(part) for part in self.query_one("#step-answer", Input).value.split(";")]
        if not chosen:
            self.query_one("#step-check", Static).update(Text("✗ choose at least one source", "red"))
            return
        narrowed = chosen if set(chosen) != set(self._sources) else ()
        self.dismiss(
            StepChange(self._checked.tree, self._view.node.id, narrowed, tuple(part for part in answers if part))
        )
