"""The plan as text, checked while it is being written."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, ClassVar

from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import Screen
from textual.widgets import Footer, Static, TextArea

from atomr_local import paths
from atomr_local.errors import AtomrError
from atomr_local.planning.examples import check_example, keep_example
from atomr_local.sanitize import sanitize, sanitize_line
from atomr_local.tree.compact import to_compact
from atomr_local.tui.question.correction import check_plan
from atomr_local.tui.screens.confirm import confirm
from atomr_local.tui.screens.error import ErrorScreen
from atomr_local.tui.widgets.clean_text import CleanArea

if TYPE_CHECKING:
    from atomr_local.settings.schema import LimitSettings
    from atomr_local.tree.nodes import Tree

_HELP = (
    'One step a line, indented by one space below the step it serves: number. question = Search("name", "kind") · '
    'Relate([1], "relation") · Filter([1], "condition") · Compare([1], [2], "earlier"). [1] is the answer of step 1. '
    "Line 0 is the question as understood."
)


def _plan_text(tree: Tree, question: str) -> str:
    """The plan as it is edited; with line 0 if it understood the question otherwise than it was typed."""
    return to_compact(tree, with_root=tree.question != question)


class PlanEditor(Screen["Tree | None"]):
    """Dismisses with the plan to run."""

    DEFAULT_CSS = """
    #plan-title { background: $panel; padding: 0 1; height: auto; }
    #plan-help { padding: 0 1; color: $text-muted; height: auto; }
    #plan-text { height: 1fr; border: round $panel-lighten-2; }
    #plan-text:focus { border: round $accent; }
    #plan-check { height: auto; max-height: 6; padding: 0 1; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "leave", "Close", priority=True, tooltip="Close without running", id="plan.close"),
        Binding("f5", "run", "Run", tooltip="Run the plan; only what changed is asked again",
                id="plan.run"),
        Binding("f6", "keep", "Keep as example", priority=True, tooltip="Keep the plan as an example for the planner",
                id="plan.keep"),
    ]  # fmt: skip

    def __init__(self, question: str, tree: Tree, limits: LimitSettings) -> None:
        super().__init__()
        self._question = question
        self._limits = limits
        self._first = sanitize(_plan_text(tree, question))
        self._checked = check_plan(self._first, question, limits)

    def compose(self) -> ComposeResult:
        yield Static(Text(sanitize_line(self._question), "bold"), id="plan-title")
        yield CleanArea(self._first, id="plan-text", show_line_numbers=True, tab_behavior="focus")
        yield Static(id="plan-check", markup=False)
        yield Static(Text(_HELP), id="plan-help")
        yield Footer(show_command_palette=False)

    def on_mount(self) -> None:
        self.query_one(TextArea).focus()
        self._show()

    @on(TextArea.Changed)
    def _changed(self) -> None:
        self._checked = check_plan(self.query_one(TextArea).text, self._question, self._limits)
        self._show()

    def _show(self) -> None:
        checked = self._checked
        lines = [f"{'⚠' if checked.tree else '✗'} {sanitize_line(problem)}" for problem in checked.problems]
        if not lines:
            assert checked.tree is not None
            lines = [f"✓ {len(checked.tree)} steps, the question included"]
        self.query_one("#plan-check", Static).update(Text("\n".join(lines), "green" if checked.tree else "red"))
        self.refresh_bindings()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action in {"run", "keep"}:
            return self._checked.tree is not None or None
        return True

    def action_run(self) -> None:
        if self._checked.tree is not None:
            self.dismiss(self._checked.tree)

    def action_keep(self) -> None:
        if self._checked.tree is None:
            return
        try:
            example = check_example(self._question, _plan_text(self._checked.tree, self._question))
            keep_example(paths.examples_file(), example)
        except AtomrError as error:
            self.app.push_screen(ErrorScreen(error))
        else:
            self.notify("Kept as an example for the planner. A model with an adapter plans without examples.")

    def action_leave(self) -> None:
        leave = partial(self.dismiss, None)
        if self.query_one(TextArea).text == self._first:
            leave()
            return
        text = "Your changes are lost."
        confirm(self.app, "Leave the plan as it was?", text, leave, yes="Leave", no="Keep editing")
