"""What the main screen opens besides itself: evidence, prompts, editors, copies and files. Each loads when opened."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from atomr_local.tui.question.conversation import QuestionRequest
from atomr_local.tui.widgets.question_box import QuestionBox

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

        users = [(number, state.nodes[number].resolved_question) for number in state.users_of(item.id)]
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
        from atomr_local.tui.screens.ask.calls import CallsScreen

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
        editor = PlanEditor(state.understood_as or state.question, state.tree, limits, quoted)
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
            state.question, tree, "user", revision, again=state.trace, understood=meant, strategy=state.strategy
        )
        self._screen.begin(asked)

    def keep_process(self) -> None:
        """Correct the steps with tools, and keep them as a worked process."""
        from atomr_local.errors import InputError
        from atomr_local.strategies.processes.from_trace import process_of
        from atomr_local.tui.screens.ask.process_editor import ProcessEditor

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
        from atomr_local.tui.screens.ask.question_dialogs import RewordScreen

        state = self._screen.state
        if state.trace is None:
            return

        def meant(understood: str | None) -> None:
            if understood is not None:
                self._screen.begin(QuestionRequest(state.question, again=state.trace, understood=understood))

        self._screen.app.push_screen(RewordScreen(state.question, state.understood_as or state.question), meant)

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
                screen.begin(QuestionRequest(state.question, again=trace, understood=meant, strategy=choice.strategy))

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
        from atomr_local.tui.screens.ask.question_dialogs import RecallScreen

        def recalled(question: str | None) -> None:
            if question is not None:
                box = self._screen.query_one(QuestionBox)
                box.value = question
                self._screen.set_focus(box)

        self._screen.app.push_screen(RecallScreen(), recalled)
