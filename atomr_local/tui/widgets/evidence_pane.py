"""The evidence of the selected node: what was asked, how it was answered, and what the answer rests on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text
from textual.containers import VerticalScroll
from textual.widgets import Static

from atomr_local.reasoning.events import NodeFinished
from atomr_local.sanitize import sanitize, sanitize_line
from atomr_local.sources.protocol import Evidence
from atomr_local.tui.state import NodeState, NodeView, QuestionState

_ROWS_SHOWN = 20
_STATES = {
    NodeState.WAITING: "waits for the steps that it needs",
    NodeState.RETRIEVING: "looks for evidence",
    NodeState.REASONING: "reasons",
}
_METHODS = {
    "operator": "operator on the evidence",
    "child": "from the steps below",
    "sibling": "from earlier steps",
    "symbolic": "computed",
    "direct_rag": "direct RAG",
    "closed_book": "the model's own knowledge, no evidence",
}


class EvidencePane(VerticalScroll):
    """Scrolls over one rendered text; the content is made anew for each selection."""

    BORDER_TITLE = "Evidence"
    can_focus = True

    def __init__(self) -> None:
        super().__init__(Static(id="evidence-text", markup=False), id="evidence")

    def show(self, view: NodeView | None, state: QuestionState) -> None:
        """Show the node, or nothing."""
        content: RenderableType
        if view is not None:
            content = Group(*describe(view, state))
        elif state.running:
            content = Text("The question is being broken down into steps.", "dim")
        else:
            content = Text("There is no step to show the evidence of.", "dim")
        self.query_one("#evidence-text", Static).update(content)


def describe(view: NodeView, state: QuestionState) -> Iterable[RenderableType]:
    """Everything known of the node, sanitised."""
    result = view.result
    yield Text(sanitize_line(view.node.question), "bold")
    if view.resolved_question and view.resolved_question != view.node.question:
        yield _field("filled in", view.resolved_question)
    if view.sources:
        yield _field("sources", f"{', '.join(view.sources)} ({view.source_reason})")
    if result is None:
        yield _field("state", _STATES[view.state])
    else:
        yield from _outcome(result)
    cited = set(result.cited) if result is not None else set()
    found = [state.evidence[item] for item in view.evidence if item in state.evidence]
    found.sort(key=lambda item: item.id not in cited)  # what the answer rests on is read first
    answers = result.answers if result is not None else ()
    for source in dict.fromkeys(item.source for item in found):
        yield Text(f"\n{source.upper()}", "bold underline")
        for item in found:
            if item.source is source:
                yield from _piece(item, item.id in cited, answers)
    if not found and result is not None:
        yield Text("\nNo evidence was retrieved for this step itself.", "dim")


def _outcome(result: NodeFinished) -> Iterable[RenderableType]:
    yield _field("answer", result.answer, "bold green" if result.answers else "magenta")
    if result.method is not None:
        yield _field("method", _METHODS[result.method])
    if result.computation:
        yield _field("computation", result.computation, "cyan")
    if result.supported is not None:
        verdict = ("the citation holds", "green") if result.supported else ("not found in the cited evidence", "yellow")
        yield _field("check", *verdict)
    for note in result.dropped:
        yield _field("left out", note)
    if result.error:
        yield _field("error", f"{result.error.get('title', '')}: {result.error.get('message', '')}", "red")


def _field(name: str, value: str, style: str = "") -> Text:
    return Text.assemble((f"{name}: ", "dim"), (sanitize_line(value), style))


def _piece(item: Evidence, is_cited: bool, answers: Iterable[str]) -> Iterable[RenderableType]:
    yield Text.assemble(
        (f"[{item.id}] ", "bold cyan" if is_cited else "dim"),
        (sanitize_line(item.title), "bold"),
        (f"  score {item.score:.3f}", "dim"),
        ("  cited" if is_cited else "", "cyan"),
    )
    text = Text(sanitize(item.text))
    text.highlight_words(
        [shown for answer in answers if (shown := sanitize_line(answer))], "reverse", case_sensitive=False
    )
    yield text
    yield from _place(item.locator)


def _place(locator: Mapping[str, Any]) -> Iterable[RenderableType]:
    if "passage" in locator:
        yield Text(f"passage {sanitize_line(str(locator['passage']))}, characters {locator.get('span')}", "dim")
    if "url" in locator:
        yield Text(sanitize_line(f"{locator['url']}, retrieved {locator.get('retrieved_at', '')}"), "blue")
    if "sparql" in locator:
        yield Text(sanitize(str(locator["sparql"])), "dim cyan")
        rows = [row for row in locator.get("rows", ()) if isinstance(row, Mapping)]
        if rows:
            yield _rows(rows)


def _rows(rows: list[Mapping[str, Any]]) -> RenderableType:
    names = list(dict.fromkeys(name for row in rows for name in row))
    table = Table(show_edge=False, pad_edge=False)
    for name in names:
        table.add_column(Text(sanitize_line(str(name))), overflow="fold")
    for row in rows[:_ROWS_SHOWN]:
        table.add_row(*(Text(sanitize_line(str(row.get(name, "")))) for name in names))
    if len(rows) > _ROWS_SHOWN:
        return Group(table, Text(f"… and {len(rows) - _ROWS_SHOWN} more rows", "dim"))
    return table
