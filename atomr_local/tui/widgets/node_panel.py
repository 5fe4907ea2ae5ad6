"""The selected node: its question, how it was answered, and its evidence."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, ClassVar

from rich.console import Group, RenderableType
from rich.text import Text
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.visual import VisualType
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from atomr_local.reasoning.confidence.words import NOT_FOUND, confidence_value
from atomr_local.sanitize import sanitize, sanitize_line
from atomr_local.tree.answer_types import format_expects
from atomr_local.tree.nodes import ROOT_ID
from atomr_local.tree.operations import format_operation
from atomr_local.tui.question.state import NodeState, NodeView, QuestionState
from atomr_local.tui.rendering import place_of

if TYPE_CHECKING:
    from atomr_local.reasoning.trace.events import NodeFinished
    from atomr_local.sources.protocol import Evidence

_STATES = {
    NodeState.WAITING: "waits for the steps that it needs",
    NodeState.RETRIEVING: "looks for evidence",
    NodeState.REASONING: "reasons",
}
METHODS = {
    "operator": "operator on the evidence",
    "child": "from the steps below",
    "sibling": "from earlier steps",
    "symbolic": "computed",
    "computed": "computed by the plan's operation",
    "direct_rag": "direct RAG",
    "closed_book": "the model's own knowledge, no evidence",
}


class NodePanel(OptionList):
    """The node's fields, then its evidence by source; the cursor goes from piece to piece, Enter opens one."""

    BORDER_TITLE = "Evidence"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "select", "Open", tooltip="On a piece of evidence: open it", id="evidence.open"),
    ]

    def __init__(self) -> None:
        super().__init__(id="evidence", compact=True, markup=False)
        self._shown: NodeView | None = None

    def show(self, view: NodeView | None, state: QuestionState) -> None:
        """Show the node, or nothing."""
        if view is None:
            text = (
                "The question is being broken down into steps."
                if state.running
                else "There is no step to show the evidence of."
            )
            self._shown = None
            self.set_options([Option(Text(text, "dim"), disabled=True)])
            return
        kept = self.chosen if view is self._shown else None
        at = self.scroll_offset.y
        self._shown = view
        self.set_options(list(_options(view, state)))
        if kept is not None:
            self.go_to(kept)
            self.scroll_to(y=at, animate=False)
        else:
            self.scroll_home(animate=False)

    @property
    def chosen(self) -> str | None:
        """The id of the piece under the cursor."""
        option = self.highlighted_option
        return option.id if option is not None else None

    @property
    def pieces(self) -> list[str]:
        """The ids of the pieces, in the order shown."""
        return [option.id for option in self.options if option.id is not None]

    def go_to(self, evidence_id: str) -> bool:
        """Put the cursor on this piece; False if it is not shown."""
        if evidence_id not in self.pieces:
            return False
        self.highlighted = self.get_option_index(evidence_id)
        return True


def _options(view: NodeView, state: QuestionState) -> Iterable[Option]:
    yield Option(_flat(describe(view, asked=state.question)), disabled=True)
    result = view.result
    cited = set(result.cited) if result is not None else set()
    found = [state.evidence[item] for item in view.evidence if item in state.evidence]
    found.sort(key=lambda item: item.id not in cited)  # what the answer rests on is read first
    answers = result.answers if result is not None else ()
    for source in dict.fromkeys(item.source for item in found):
        yield Option(Text(f"\n{source.upper()}", "bold underline"), disabled=True)
        for item in found:
            if item.source == source:
                yield Option(_flat(piece(item, item.id in cited, answers, state.users_of(item.id))), id=item.id)
    if not found and result is not None:
        yield Option(Text("\nNo evidence was retrieved for this step itself.", "dim"), disabled=True)


def _flat(parts: Iterable[RenderableType]) -> VisualType:
    """The parts one below the other; as one text where all are texts, which is laid out many times faster."""
    parts = list(parts)
    texts = [part for part in parts if isinstance(part, Text)]
    if len(texts) < len(parts):
        return Group(*parts)
    return Content.from_rich_text(Text("\n").join(text for text in texts if text))


def describe(view: NodeView, asked: str = "") -> Iterable[RenderableType]:
    """Everything known of the node but its evidence, sanitised.

    Args:
        asked: what the user typed; shown of the root, where the plan understood it otherwise.
    """
    yield Text(sanitize_line(view.node.question), "bold")
    if asked and view.node.id == ROOT_ID and " ".join(asked.split()) != view.node.question:
        yield field("asked as", asked)
    if view.resolved_question and view.resolved_question != view.node.question:
        yield field("filled in", view.resolved_question)
    if view.node.operation is not None:
        yield field("operation", format_operation(view.node.operation))
    if view.node.expects is not None:
        yield field("expects", format_expects(view.node.expects))
    if view.sources:
        yield field("sources", f"{', '.join(view.sources)} ({view.source_reason})")
    if view.result is None:
        yield field("state", _STATES[view.state])
    else:
        yield from _outcome(view.result)


def _outcome(result: NodeFinished) -> Iterable[RenderableType]:
    if result.outcome == "not found":
        yield field("outcome", f"? {NOT_FOUND}", "magenta")
        if result.reason:
            yield field("reason", result.reason)
        if result.answers:
            yield field("a guess, not an answer", result.answer)
    else:
        yield field("answer", result.answer, "bold green" if result.answers else "magenta")
    if result.confidence is not None and result.outcome != "not found":
        yield field("confidence", confidence_value(result.confidence))
    own = {name: value for name, value in sorted(result.signals.items()) if "." not in name}  # others are a rival's
    if own:
        yield field("signals", " · ".join(f"{name} {value:.2f}" for name, value in own.items()))
    if result.method is not None:
        yield field("method", METHODS[result.method])
    if result.computation:
        yield field("computation", result.computation, "cyan")
    if result.supported is not None:
        verdict = ("the citation holds", "green") if result.supported else ("not found in the cited evidence", "yellow")
        yield field("check", *verdict)
    for note in result.dropped:
        yield field("left out", note)
    if result.error:
        yield field("error", f"{result.error.get('title', '')}: {result.error.get('message', '')}", "red")


def field(name: str, value: str, style: str = "") -> Text:
    return Text.assemble((f"{name}: ", "dim"), (sanitize_line(value), style))


def piece(item: Evidence, is_cited: bool, answers: Sequence[str], users: Sequence[int]) -> Iterable[RenderableType]:
    """One piece of evidence, the answers marked in it, and which steps use it."""
    yield Text.assemble(
        (f"[{item.id}] ", "bold cyan" if is_cited else "dim"),
        (sanitize_line(item.title), "bold"),
        (f"  score {item.score:.3f}", "dim"),
        ("  cited" if is_cited else "", "cyan"),
    )
    yield marked(item.text, answers)
    yield place_of(item.locator)
    if len(users) > 1:
        yield Text(f"used by steps {', '.join(map(str, users))}", "dim")


def marked(text: str, answers: Iterable[str]) -> Text:
    """The text, sanitised, with the answers reversed in it."""
    shown = Text(sanitize(text))
    words = [word for answer in answers if (word := sanitize_line(answer))]
    shown.highlight_words(words, "reverse", case_sensitive=False)
    return shown
