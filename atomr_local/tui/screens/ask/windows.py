"""What the main screen opens besides itself: evidence, prompts, editors of the plan, copies and files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType

from atomr_local.tui.core import Asked
from atomr_local.tui.screens.ask.talking import Talking
from atomr_local.tui.widgets.question_box import QuestionBox

if TYPE_CHECKING:
    from textual.widgets import OptionList

    from atomr_local.tree.nodes import Tree as PlanTree
    from atomr_local.tui.widgets.node_panel import NodePanel


class AskWindows(Talking):
    """The part of the main screen that needs the question shown, and leaves asking to it. Windows load when opened."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("e", "edit_step", "Edit step", tooltip="Edit the step: question, operator, sources, answer",
                id="step.edit"),
        Binding("p", "edit_plan", "Edit plan", tooltip="Edit the plan as text", id="plan.edit"),
        Binding("r", "rerun", "Run again", tooltip="Run this step again, and what depends on it", id="step.rerun"),
        Binding("m", "calls", "Model", tooltip="What the model was shown for this step, and what it wrote",
                id="step.calls"),
        Binding("y", "copy('answer')", "Copy", tooltip="Copy the answer with its citations", id="copy.answer"),
        Binding("Y", "copy('evidence')", "Copy evidence", show=False, tooltip="Copy the evidence under the cursor",
                id="copy.evidence"),
        Binding("S", "copy('sparql')", "Copy SPARQL", show=False, tooltip="Copy the step's graph queries",
                id="copy.sparql"),
        Binding("x", "export", "Export", tooltip="Write the question with its trace to a file", id="trace.export"),
        Binding("ctrl+r", "recall", "Recall", priority=True, show=False, tooltip="Search the questions asked before",
                id="question.recall"),
    ]  # fmt: skip

    _selected: int | None
    _panel: NodePanel

    def select(self, node_id: int) -> None:
        """Show the node in the panel, and the cursor on its line."""
        raise NotImplementedError

    def on_option_list_option_selected(self, message: OptionList.OptionSelected) -> None:
        if message.option_list is self._panel:
            self._open_piece(message.option_id or "")

    def _open_piece(self, evidence_id: str) -> None:
        from atomr_local.tui.screens.ask.evidence import Chosen, EvidenceScreen

        state = self.state
        item = state.evidence.get(evidence_id)
        view = state.nodes.get(self._selected) if self._selected is not None else None
        if item is None or view is None:
            return
        users = [(number, state.nodes[number].resolved_question) for number in state.users_of(item.id)]

        def chosen(result: Chosen | None) -> None:
            if result is None:
                return
            if result.kind == "node":
                self.select(result.node_id)
                self._panel.go_to(item.id)
            else:
                self.open_console(result.sparql)

        answers = view.result.answers if view.result is not None else ()
        self.app.push_screen(EvidenceScreen(self._assistant, item, answers, users), chosen)

    def open_console(self, sparql: str = "") -> None:
        """Open the SPARQL console with this query."""
        from atomr_local.tui.screens.console import ConsoleScreen

        self.app.push_screen(ConsoleScreen(self._assistant, sparql))

    def action_calls(self) -> None:
        from atomr_local.tui.screens.ask.calls import CallsScreen

        state = self.state
        view = state.nodes.get(self._selected) if self._selected is not None else None
        calls = view.calls if view is not None else []
        title = "Prompts and output"
        if view is not None:
            title = f"Step {view.node.id}: prompts and output"
            if view.node.id == 0:
                title, calls = "The plan and the whole question: prompts and output", [*state.planning, *calls]
        self.app.push_screen(CallsScreen(title, calls, kept=not state.replayed))

    # Correcting

    def action_edit_plan(self) -> None:
        from atomr_local.tui.screens.ask.plan_editor import PlanEditor

        state = self.state
        assert state.tree is not None
        editor = PlanEditor(state.understood_as or state.question, state.tree, self._assistant.settings.limits)
        self.app.push_screen(editor, lambda tree: None if tree is None else self._correct(tree))

    def action_edit_step(self) -> None:
        from atomr_local.tui.screens.ask.node_editor import Changed, NodeEditor

        state = self.state
        view = state.nodes.get(self._selected) if self._selected is not None else None
        if view is None or state.tree is None:
            return

        def changed(result: Changed | None) -> None:
            if result is not None:
                number = result.node_id
                self._correct(
                    result.tree,
                    sources={number: result.sources} if result.sources else {},
                    answers={number: result.answers} if result.answers else {},
                    rerun={number},
                )

        editor = NodeEditor(state.tree, view, self._assistant.settings.limits, self._usable_sources())
        self.app.push_screen(editor, changed)

    def action_rerun(self) -> None:
        if self.state.tree is not None and self._selected is not None:
            self._correct(self.state.tree, rerun={self._selected})

    def _usable_sources(self) -> list[str]:
        return [*self._assistant.settings.sources, *(["web"] if self._assistant.web_enabled else [])]

    def _correct(
        self,
        tree: PlanTree,
        *,
        sources: Mapping[int, Sequence[str]] | None = None,
        answers: Mapping[int, Sequence[str]] | None = None,
        rerun: Iterable[int] = (),
    ) -> None:
        """Run the corrected plan; what does not depend on the change keeps its result."""
        from atomr_local.reasoning.revision import Revision

        state = self.state
        if state.trace is None:
            return
        revision = Revision(
            base=state.trace,
            sources={number: tuple(names) for number, names in (sources or {}).items()},
            answers={number: tuple(texts) for number, texts in (answers or {}).items()},
            rerun=frozenset(rerun),
        )
        meant = state.understood_as if state.conversation else None
        self.begin(Asked(state.question, tree, "user", revision, again=state.trace, understood=meant))

    # Keeping

    def action_copy(self, what: str) -> None:
        from atomr_local.tui import clipboard

        state = self.state
        if what == "answer":
            text = clipboard.answer_text(state)
        elif what == "evidence":
            chosen = self._panel.chosen
            text = clipboard.evidence_text(state, chosen) if chosen else ""
        else:
            text = clipboard.sparql_text(state, self._selected or 0)
        if text:
            self.tell(clipboard.copy_text(self.app, text))
        else:
            self.tell("Put the cursor on a piece of evidence first." if what == "evidence" else f"No {what} to copy.")

    def action_export(self) -> None:
        from atomr_local.tui.screens.history.export import ExportScreen

        if self.state.trace is not None:
            conversation = [turn.trace for turn in self.talk.turns]
            self.app.push_screen(ExportScreen(self.state.trace, conversation=conversation))

    def action_recall(self) -> None:
        from atomr_local.tui.screens.ask.recall import RecallScreen

        def recalled(question: str | None) -> None:
            if question is not None:
                box = self.query_one(QuestionBox)
                box.value = question
                self.set_focus(box)

        self.app.push_screen(RecallScreen(), recalled)
