"""What the main screen opens besides itself: evidence, prompts, editors, copies and files. Each loads when opened."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, ClassVar, Literal

from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from atomr_local.assistant.history.store import recall
from atomr_local.errors import AtomrError, InputError
from atomr_local.sources.text_parts import parse_within, typed_conditions, typed_line
from atomr_local.system.sanitize import sanitize_line
from atomr_local.tui.background import in_background
from atomr_local.tui.question.conversation import QuestionRequest
from atomr_local.tui.rendering import short_line
from atomr_local.tui.screens.dialogs import ChoiceDialog
from atomr_local.tui.widgets.question_box import CleanInput, QuestionBox

if TYPE_CHECKING:
    from atomr_local.tree.nodes import Tree
    from atomr_local.tui.question.state import NodeView
    from atomr_local.tui.screens.ask.screen import AskScreen
    from atomr_local.tui.widgets.reasoning_view import ReasoningView


class QuestionWindows:
    """Opens windows on the question shown, and asks what comes of them."""

    def __init__(self, screen: AskScreen, view: ReasoningView) -> None:
        self._screen, self._view = screen, view
        self._query = ""  # of the console, as it was left

    @property
    def _selected(self) -> NodeView | None:
        number = self._view.selected
        return self._screen.state.nodes.get(number) if number is not None else None

    def open_evidence(self, evidence_id: str) -> None:
        """Show one piece whole."""
        from atomr_local.tui.screens.ask.evidence import EvidenceScreen

        state, view = self._screen.state, self._selected
        item = state.evidence.get(evidence_id)
        if item is None or view is None:
            return

        def chosen(result: int | str | None) -> None:
            if isinstance(result, int):
                self._view.select(result)
                self._view.evidence.go_to(item.id)
            elif result is not None:
                self.open_console(result)

        users = [(number, state.nodes[number].step.resolved_question) for number in state.users[item.id]]
        answers = view.result.answers if view.result is not None else ()
        screen = EvidenceScreen(self._screen.assistant, item, answers, users, state.rank_of(item.id))
        self._screen.app.push_screen(screen, chosen)

    def open_console(self, sparql: str = "") -> None:
        """Open the console with this query, or with the one that was edited in it last."""
        from atomr_local.tui.screens.console import ConsoleScreen

        def left(edited: str | None) -> None:
            if edited is not None:
                self._query = edited

        console = ConsoleScreen(self._screen.assistant, sparql, edited="" if sparql else self._query)
        self._screen.app.push_screen(console, left)

    def open_calls(self) -> None:
        """Show what the model was shown for the step, and what it wrote."""
        from atomr_local.tui.screens.ask.evidence import CallsScreen

        state, view = self._screen.state, self._selected
        title, calls = "Prompts and output", view.calls if view is not None else []
        if view is not None and view.node.id == 0:
            title, calls = "The plan and the whole question: prompts and output", [*state.planning, *calls]
        elif view is not None:
            title = f"Step {view.node.id}: prompts and output"
        self._screen.app.push_screen(CallsScreen(title, calls, kept=not state.replayed))

    # Correcting

    def edit_plan(self) -> None:
        from atomr_local.sources.privacy import indexes_of
        from atomr_local.tui.screens.ask.plan_editor import PlanEditor

        state = self._screen.state
        assert state.tree is not None
        limits = self._screen.assistant.settings.limits
        # A follow-up question may name what an earlier one found.
        traces = [state.trace, *(turn.trace for turn in self._screen.conversation.turns)]
        quoted = {name for trace in traces if trace is not None for name in indexes_of(trace.settings)}
        editor = PlanEditor(state.record.understood_as or state.record.question, state.tree, limits, quoted)
        self._screen.app.push_screen(editor, lambda tree: None if tree is None else self._correct(tree))

    def edit_step(self) -> None:
        from atomr_local.sources.registry import permitted
        from atomr_local.tui.screens.ask.plan_editor import NodeEditor, StepChange

        tree, view, assistant = self._screen.state.tree, self._selected, self._screen.assistant
        if view is None or tree is None:
            return

        def changed(result: StepChange | None) -> None:
            if result is not None:
                number = result.node_id
                sources = {number: result.sources} if result.sources else {}
                answers = {number: result.answers} if result.answers else {}
                self._correct(result.tree, sources=sources, answers=answers, rerun={number})

        usable = permitted(assistant.settings.sources, web=assistant.web_enabled)
        self._screen.app.push_screen(NodeEditor(tree, view, assistant.settings.limits, usable), changed)

    def rerun(self) -> None:
        """Run the step that is shown again, and what depends on it."""
        tree, number = self._screen.state.tree, self._view.selected
        if tree is not None and number is not None:
            self._correct(tree, rerun={number})

    def _correct(
        self,
        tree: Tree,
        *,
        sources: Mapping[int, tuple[str, ...]] | None = None,
        answers: Mapping[int, tuple[str, ...]] | None = None,
        rerun: Iterable[int] = (),
    ) -> None:
        """Run the corrected plan; what does not depend on the change keeps its result."""
        from atomr_local.reasoning.revision import Revision

        state = self._screen.state
        if state.trace is None:
            return
        revision = Revision(base=state.trace, sources=sources or {}, answers=answers or {}, rerun=frozenset(rerun))
        meant = state.meant or None
        asked = QuestionRequest(
            state.record.question,
            tree,
            "user",
            revision,
            again=state.trace,
            understood=meant,
            strategy=state.record.strategy,
        )
        self._screen.begin(asked)

    def keep_process(self) -> None:
        """Correct the steps with tools, and keep them as a worked process."""
        from atomr_local.errors import InputError
        from atomr_local.strategies.processes.process import process_of
        from atomr_local.tui.screens.ask.plan_editor import ProcessEditor

        screen, trace = self._screen, self._screen.state.trace
        if trace is None:
            return
        try:
            process = process_of(trace)
        except InputError as error:
            screen.show_notice(error.message)
            return
        screen.app.push_screen(ProcessEditor(process, screen.assistant.do_again, screen.assistant.cancel))

    def reword(self) -> None:
        """Let the user say what the question means, and ask it again."""

        state = self._screen.state
        if state.trace is None:
            return

        def meant(understood: str | None) -> None:
            if understood is not None:
                self._screen.begin(QuestionRequest(state.record.question, again=state.trace, understood=understood))

        self._screen.app.push_screen(
            RewordScreen(state.record.question, state.record.understood_as or state.record.question), meant
        )

    def limit(self) -> None:
        """Let the user say which part of the text index the next questions are asked in."""

        def chosen(within: tuple[str, ...] | None) -> None:
            if within is not None:
                self._screen.within = within
                self._screen.show_status()

        self._screen.app.push_screen(PartScreen(self._screen.within), chosen)

    def ask_again_with(self) -> None:
        """Compare the strategies that this question was asked with, and ask it with another."""
        from atomr_local.tui.screens.ask.compare import CompareScreen, Comparison

        screen, state = self._screen, self._screen.state
        if (trace := state.trace) is None:
            return

        def chosen(choice: Comparison | None) -> None:
            if choice is not None and choice.opened is not None:
                screen.turns.show_answer(choice.opened)
            elif choice is not None:
                meant = state.meant or None
                screen.begin(
                    QuestionRequest(state.record.question, again=trace, understood=meant, strategy=choice.strategy)
                )

        screen.app.push_screen(CompareScreen(trace, screen.conversation.compared.of(trace)), chosen)

    # Keeping

    def copy(self, what: str) -> None:
        """Copy the answer, the evidence under the cursor, or the step's queries."""
        from atomr_local.tui import clipboard

        state = self._screen.state
        if what == "answer":
            text = clipboard.answer_text(state)
        elif what == "evidence":
            text = clipboard.evidence_text(state, self._view.evidence.chosen or "")
        else:
            text = clipboard.sparql_text(state, self._view.selected or 0)
        if text:
            message = clipboard.copy_text(self._screen.app, text)
        else:
            message = "Put the cursor on a piece of evidence first." if what == "evidence" else f"No {what} to copy."
        self._screen.show_notice(message)

    def export(self) -> None:
        """Write the question to a file, or its whole conversation."""
        from atomr_local.tui.screens.history.export import ExportScreen

        screen = self._screen
        if screen.state.trace is not None:
            conversation = [turn.trace for turn in screen.conversation.turns if turn.counts]
            screen.app.push_screen(ExportScreen(screen.state.trace, conversation=conversation))

    def recall(self) -> None:
        """Put a question asked before into the question box."""

        def recalled(question: str | None) -> None:
            if question is not None:
                box = self._screen.query_one(QuestionBox)
                box.value = question
                self._screen.set_focus(box)

        self._screen.app.push_screen(RecallScreen(), recalled)


# Dialogs about a question: one asked before, the present one as it is meant, one asked while another runs.

Busy = Literal["wait", "stop", "back"]
_SHOWN = 50
_LONGEST = 200  # characters of a question that a window shows


class RecallScreen(ModalScreen[str | None]):
    """Searches the questions asked before."""

    DEFAULT_CSS = """
    RecallScreen { align: center top; }
    #recall { width: 90; max-width: 96%; height: 20; max-height: 80%; margin-top: 1; background: $surface; border: round $accent; }
    #recall-list { height: 1fr; }
    """  # noqa: E501
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "dismiss", "Close", id="recall.close"),
        Binding("down", "cursor(1)", "Next", priority=True, show=False, id="recall.next"),
        Binding("up", "cursor(-1)", "Previous", priority=True, show=False, id="recall.previous"),
        Binding("enter", "choose", "Take", priority=True, tooltip="Copy it to the question box", id="recall.take"),
    ]

    def __init__(self) -> None:
        super().__init__()
        self._questions: list[str] = []

    def compose(self) -> ComposeResult:
        with Vertical(id="recall") as body:
            body.border_title = "Questions asked before"
            yield CleanInput(placeholder="Type words of the question", id="recall-search")
            yield OptionList(id="recall-list", markup=False)

    def on_mount(self) -> None:
        self.query_one(Input).focus()
        self._search("")

    @on(Input.Changed)
    def _typed(self, message: Input.Changed) -> None:
        self._search(message.value)

    def _search(self, containing: str) -> None:
        then = partial(self._found, containing)
        failed = partial(self._found, containing, [])
        in_background(self, partial(recall, _SHOWN, containing), then, failed=failed, group="recall", exclusive=True)

    def _found(self, containing: str, questions: list[str], error: AtomrError | None = None) -> None:
        if containing != self.query_one(Input).value:
            return
        self._questions = questions
        options = self.query_one(OptionList)
        options.set_options([Option(Text(sanitize_line(question))) for question in questions])
        if questions:
            options.highlighted = 0
        else:
            text = error.message if error is not None else "No question asked before has these words."
            options.set_options([Option(Text(sanitize_line(text), "dim"), disabled=True)])

    def action_cursor(self, by: int) -> None:
        options = self.query_one(OptionList)
        (options.action_cursor_down if by > 0 else options.action_cursor_up)()

    def action_choose(self) -> None:
        place = self.query_one(OptionList).highlighted
        if place is not None and place < len(self._questions):
            self.dismiss(self._questions[place])

    @on(OptionList.OptionSelected)
    def _clicked(self) -> None:
        self.action_choose()


class RewordScreen(ModalScreen[str | None]):
    """Gives the question as it is meant; None when it is left as it was."""

    DEFAULT_CSS = """
    RewordScreen { align: center middle; }
    #reword { width: 90; max-width: 96%; height: auto; padding: 0 1; background: $surface; border: round $accent; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "dismiss", "Close", priority=True, tooltip="Leave the question as it was", id="reword.close"),
        Binding("enter", "ask", "Ask", priority=True, tooltip="Ask the question as it stands here", id="reword.ask"),
    ]

    def __init__(self, question: str, understood: str) -> None:
        """Edit `understood`; `question` is what was typed."""
        super().__init__()
        self._question, self._understood = question, understood

    def compose(self) -> ComposeResult:
        with Vertical(id="reword") as body:
            body.border_title = "What is meant"
            yield Static(Text(f"Typed: {sanitize_line(self._question)}", "dim"))
            yield CleanInput(sanitize_line(self._understood), id="reword-line", select_on_focus=False)
            yield Static(Text("Enter asks again as it stands here. Escape leaves it as it was.", "dim"))

    def on_mount(self) -> None:
        line = self.query_one(Input)
        line.focus()
        line.cursor_position = len(line.value)

    @on(Input.Submitted)
    def action_ask(self) -> None:
        meant = self.query_one(Input).value.strip()
        if meant:
            self.dismiss(meant)


class PartScreen(ModalScreen[tuple[str, ...] | None]):
    """Gives the part of the text index to ask, () for all of it; None when it is left as it was."""

    DEFAULT_CSS = """
    PartScreen { align: center middle; }
    #part { width: 90; max-width: 96%; height: auto; padding: 0 1; background: $surface; border: round $accent; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "dismiss", "Close", priority=True, tooltip="Leave the part as it was", id="part.close"),
        Binding("enter", "take", "Take", priority=True, tooltip="Ask in this part from now on", id="part.take"),
    ]

    def __init__(self, within: Sequence[str]) -> None:
        super().__init__()
        self._within = within

    def compose(self) -> ComposeResult:
        with Vertical(id="part") as body:
            body.border_title = "Ask only a part of the text index"
            yield CleanInput(
                sanitize_line(typed_line(self._within)), id="part-line", select_on_focus=False,
                placeholder="hr/  *.pdf  #tag  after:2024-05  before:2024-06",
            )  # fmt: skip
            told = "File, folder, pattern, #tag, after: or before: a date. Quotes around blanks. Empty: all of it."
            yield Static(Text(told, "dim"), id="part-told")

    def on_mount(self) -> None:
        line = self.query_one(Input)
        line.focus()
        line.cursor_position = len(line.value)

    @on(Input.Submitted)
    def action_take(self) -> None:
        try:
            part = parse_within(typed_conditions(self.query_one(Input).value))
        except InputError as error:
            self.query_one("#part-told", Static).update(Text(sanitize_line(f"{error.message}. {error.hint}")))
            return
        self.dismiss(part.given if part is not None else ())


class BusyScreen(ChoiceDialog[Busy]):
    """Asked when a question is asked while another one runs."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("a", "dismiss('wait')", "Ask after it", tooltip="The question waits its turn", id="busy.wait"),
        Binding("s", "dismiss('stop')", "Stop and ask", tooltip="Stop the running question", id="busy.stop"),
        Binding("escape", "dismiss('back')", "Back", tooltip="Leave it in the box", id="busy.back"),
    ]
    DEFAULT_CSS = "BusyScreen > #dialog { width: 76; border: round $accent; }"

    def __init__(self, running: str, asked: str) -> None:
        text = Text.assemble((short_line(running, _LONGEST), "dim"), f"\nNext: {short_line(asked, _LONGEST)}")
        super().__init__(
            "A question is being answered",
            text,
            {"wait": "wait", "stop": "stop", "back": "back"},
            (
                ("wait", "Ask after it (a)", "primary"),
                ("stop", "Stop it, ask now (s)", "default"),
                ("back", "Back (Esc)", "default"),
            ),
        )
