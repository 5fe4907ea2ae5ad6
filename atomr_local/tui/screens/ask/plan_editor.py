"""Editors of the plan: the whole plan as text, or one step. Both check what is written as it is written."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, VerticalScroll
from textual.screen import ModalScreen, Screen
from textual.widgets import Checkbox, Input, Label, Select, Static, TextArea

from atomr_local.errors import AtomrError
from atomr_local.reasoning.planning.examples import check_example, keep_example
from atomr_local.strategies.processes.process import Process, keep, read_text_form
from atomr_local.system import paths
from atomr_local.system.sanitize import sanitize, sanitize_line
from atomr_local.tree.compact import to_compact
from atomr_local.tree.errors import TreeError
from atomr_local.tree.natural import is_natural
from atomr_local.tree.nodes import ROOT_ID, Operator, Tree
from atomr_local.tree.operations import Operation
from atomr_local.tui.background import ErrorScreen, in_background
from atomr_local.tui.question.correction import DIRECT, CheckedPlan, check_plan, check_tree, operation_of, with_step
from atomr_local.tui.rendering import coloured
from atomr_local.tui.screens.dialogs import confirm
from atomr_local.tui.widgets.question_box import CleanArea, CleanInput
from atomr_local.tui.widgets.status_line import SteadyFooter

if TYPE_CHECKING:
    from atomr_local.settings.schema import LimitSettings
    from atomr_local.tui.question.state import NodeView


_Given = TypeVar("_Given")
_NO_OPERATOR = "none"


def _findings(checked: CheckedPlan, fine: str) -> Text:
    """What is wrong, each on a line; `fine` where nothing is."""
    lines = [f"{'⚠' if checked.tree else '✗'} {sanitize_line(problem)}" for problem in checked.problems]
    return coloured("\n".join(lines) or f"✓ {fine}", "green" if checked.tree else "red")


def _line(text: str, colour: str) -> Text:
    return coloured(sanitize_line(text), colour)


def _plan_text(tree: Tree, question: str) -> str:
    """The plan as it is edited; with line 0 if it understood the question otherwise than it was typed."""
    return to_compact(tree, with_root=tree.question != question)


class _TextEditor(Screen[_Given]):
    """A text that is checked as it is written. Leaving it changed asks first."""

    DEFAULT_CSS = """
    _TextEditor .title { background: $panel; padding: 0 1; height: auto; }
    _TextEditor .help { padding: 0 1; color: $text-muted; height: auto; }
    _TextEditor TextArea { height: 1fr; border: round $border-blurred; }
    _TextEditor TextArea:focus { border: heavy $accent; }
    _TextEditor #check { height: auto; max-height: 6; padding: 0 1; }
    """
    HELP = LEAVE = ""  # what is to be known, and what is asked of who leaves changes behind
    NUMBERED = False  # its lines
    UNCHANGED: Any = None  # what leaving gives

    def __init__(self, question: str, text: str) -> None:
        super().__init__()
        self._question, self._first = question, sanitize(text)

    def compose(self) -> ComposeResult:
        yield Static(Text(sanitize_line(self._question), "bold"), classes="title")
        yield CleanArea(self._first, show_line_numbers=self.NUMBERED, tab_behavior="focus")
        yield Static(id="check", markup=False)
        yield Static(Text(self.HELP), classes="help")
        yield SteadyFooter()

    def on_mount(self) -> None:
        self.query_one(TextArea).focus()
        self.check()

    @property
    def text(self) -> str:
        return self.query_one(TextArea).text

    @on(TextArea.Changed)
    def _changed(self) -> None:
        self.check()

    def check(self) -> None:
        """Check the text, and tell what is found."""
        raise NotImplementedError

    def tell(self, text: Text) -> None:
        self.query_one("#check", Static).update(text)
        self.refresh_bindings()

    def action_leave(self) -> None:
        leave = partial(self.dismiss, self.UNCHANGED)
        if self.text == self._first:
            leave()
        else:
            confirm(self.app, self.LEAVE, "Your changes are lost.", leave, yes="Leave", no="Keep editing")


class PlanEditor(_TextEditor["Tree | None"]):
    """Dismisses with the plan to run."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "leave", "Close", priority=True, tooltip="Close without running", id="plan.close"),
        Binding("ctrl+s", "run", "Run", tooltip="Run the plan; only what changed is asked again",
                id="plan.run"),
        Binding("f10", "keep", "Keep as example", priority=True,
                tooltip="Keep the plan: it is used when this question comes again", id="plan.keep"),
    ]  # fmt: skip
    HELP = (
        "One step a line, indented by one space below the step it serves: number. question = "
        'Search("name", "kind") · Relate([1], "relation") · Filter([1], "condition") · Compare([1], [2], "earlier"). '
        "[1] is the answer of step 1. Line 0 is the question as understood."
    )
    LEAVE, NUMBERED = "Leave the plan as it was?", True

    def __init__(self, question: str, tree: Tree, limits: LimitSettings, indexes: Collection[str] = ()) -> None:
        """Make the screen.

        Args:
            indexes: those that the question and its plan may quote.
        """
        super().__init__(question, _plan_text(tree, question))
        self._indexes, self._limits = indexes, limits
        self._checked = check_plan(self._first, question, limits)

    def check(self) -> None:
        self._checked = check_plan(self.text, self._question, self._limits)
        steps = len(self._checked.tree) if self._checked.tree is not None else 0
        self.tell(_findings(self._checked, f"{steps} steps, the question included"))

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        return action not in {"run", "keep"} or self._checked.tree is not None or None

    def action_run(self) -> None:
        if self._checked.tree is not None:
            self.dismiss(self._checked.tree)

    def action_keep(self) -> None:
        if self._checked.tree is None:
            return
        try:
            plan = _plan_text(self._checked.tree, self._question)
            keep_example(paths.examples_file(), check_example(self._question, plan, self._indexes))
        except AtomrError as error:
            self.app.push_screen(ErrorScreen(error))
        else:
            self.notify("Kept. This question will be planned like this from now on.")


class ProcessEditor(_TextEditor[bool]):
    """Corrects the steps of a finished question and keeps them as a worked process. Observations are made again first.

    Dismisses with whether the process was kept.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "leave", "Close", priority=True, tooltip="Close without keeping", id="process.close"),
        Binding("ctrl+s", "keep", "Save", tooltip="Do the steps again, and keep the process as an example",
                id="process.save"),
    ]  # fmt: skip
    HELP = (
        "By hand: what you read on the page (several with ;), or the query that you want; none if there is nothing. "
        "Without it the model reads or writes. Observations are made again when you keep it."
    )
    LEAVE, UNCHANGED = "Leave without keeping?", False

    def __init__(self, process: Process, do_again: Callable[[Process], Process], stop: Callable[[], object]) -> None:
        """Make the screen.

        Args:
            do_again: makes the observations; blocks.
            stop: ends that.
        """
        super().__init__(process.question, process.as_text())
        self._indexes, self._do_again, self._stop = process.indexes, do_again, stop
        self._process: Process | None = process
        self._working = False

    def check(self) -> None:
        try:
            self._process = read_text_form(self.text).quoting(self._indexes)
        except AtomrError as error:
            self._process = None
            self.tell(_line(f"✗ {error.message}", "red"))
        else:
            self.tell(_line(f"✓ {len(self._process.steps)} steps", "green"))

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        return action != "keep" or (self._process is not None and not self._working) or None

    def action_keep(self) -> None:
        if (process := self._process) is None or self._working:
            return
        self._working = True
        self.tell(_line("… the steps are done again", "cyan"))

        def work() -> Process:
            done = self._do_again(process)
            keep(paths.processes_file(), done)
            return done

        def failed(error: AtomrError) -> None:
            self._working = False
            self.tell(_line(f"✗ {error.message}", "red"))

        in_background(self, work, self._kept, failed=failed, group="process", exclusive=True)

    def _kept(self, process: Process) -> None:
        self.app.notify(f"Kept. {process.method} shows it as an example from now on.", markup=False)
        self.dismiss(True)

    def action_leave(self) -> None:
        if self._working:
            self._stop()
        else:
            super().action_leave()


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
        Binding("ctrl+s", "run", "Run", tooltip="Run what depends on the change", id="step.run"),
    ]

    def __init__(self, tree: Tree, view: NodeView, limits: LimitSettings, sources: Sequence[str]) -> None:
        """Make the screen; `sources` may be asked now."""
        super().__init__()
        self._tree = tree
        self._view = view
        self._limits = limits
        self._sources = list(sources)
        self._checked = CheckedPlan(tree, ())
        self._natural = is_natural(tree)  # methods whose plans are questions alone would drop an operator

    def compose(self) -> ComposeResult:
        node = self._view.node
        operator, arguments = operation_of(node)
        with VerticalScroll(id="step", can_focus=False) as body:
            body.border_title = "The answer" if node.id == ROOT_ID else f"Step {node.id}"
            yield Label("Question ([1] stands for the answer of step 1)")
            yield CleanInput(sanitize_line(node.question), id="step-question", select_on_focus=False)
            if not node.children and node.id != ROOT_ID and not self._natural:
                yield Label("What the step does")
                yield Select(
                    [
                        *((name, name) for name in (*map(str, Operator), *map(str, Operation), DIRECT)),
                        ("none: from the steps it names", _NO_OPERATOR),
                    ],
                    value=operator or _NO_OPERATOR,
                    allow_blank=False,
                    id="step-operator",
                )
                yield Label('What it does that with, such as [1], "director" or [1], [2], "earlier"')
                yield CleanInput(sanitize_line(arguments), id="step-arguments", select_on_focus=False)
            yield Label("Sources that this step may ask")
            with Horizontal(id="step-sources"):
                for name in self._sources:
                    yield Checkbox(name, True, id=f"step-source-{name}", compact=True)
            yield Label("Your answer (separate several with ;). Leave empty to look it up.")
            found = sanitize_line("; ".join(result.answers)) if (result := self._view.result) is not None else ""
            yield CleanInput(id="step-answer", placeholder=f"now: {found}" if found else "", select_on_focus=False)
            yield Static(id="step-check", markup=False)
        yield SteadyFooter()

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
            operator = "" if value == _NO_OPERATOR else str(value)
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
        if self._natural and self._checked.tree is not None:
            self._checked = CheckedPlan(self._checked.tree, ())  # that it has no operator is no weakness
        self.query_one("#step-check", Static).update(_findings(self._checked, "can be run"))

    def action_run(self) -> None:
        if self._checked.tree is None:
            return
        chosen = tuple(name for name in self._sources if self.query_one(f"#step-source-{name}", Checkbox).value)
        answers = [sanitize_line(part) for part in self.query_one("#step-answer", Input).value.split(";")]
        if not chosen:
            self.query_one("#step-check", Static).update(coloured("✗ choose at least one source", "red"))
            return
        narrowed = chosen if set(chosen) != set(self._sources) else ()
        self.dismiss(
            StepChange(self._checked.tree, self._view.node.id, narrowed, tuple(part for part in answers if part))
        )
