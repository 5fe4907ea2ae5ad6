"""The selected step: what its answer rests on first, then how sure it is; everything else folds out."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, ClassVar

from rich.console import Group, RenderableType
from rich.text import Text
from textual import on
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.visual import VisualType
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from atomr_local.reasoning.trace.words import kind_text
from atomr_local.tree.nodes import ROOT_ID
from atomr_local.tui.query_words import query_in_words
from atomr_local.tui.question.state import NodeView, QuestionState
from atomr_local.tui.rendering import short_line
from atomr_local.tui.widgets.step_story import (
    observation_body,
    observation_head,
    thought_and_action,
    weighed_body,
    weighed_head,
)
from atomr_local.tui.widgets.step_text import describe, outcome, piece, query, verdict

if TYPE_CHECKING:
    from atomr_local.reasoning.trace.events import NodeFinished
    from atomr_local.sources.protocol import Evidence

_DETAILS, _OBSERVATION, _WEIGHED = "details", "observation", "weighed"
_OPEN_AT_FIRST = {_WEIGHED}


class Fold(Option):
    """A line that unfolds; `key` says which one it is."""

    def __init__(self, content: VisualType, key: str, *, is_open: bool) -> None:
        super().__init__(content)
        self.key, self.is_open = key, is_open


class NodePanel(OptionList):
    """What the step rests on, then the other evidence by source; Enter opens a piece, or folds and unfolds a line."""

    BORDER_TITLE = "Evidence"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "select", "Open", tooltip="On a piece of evidence: open it; on ▸: unfold", id="evidence.open"),
    ]

    def __init__(self) -> None:
        super().__init__(id="evidence", compact=True, markup=False)
        self._shown: NodeView | None = None
        self._state = QuestionState()
        self._turned: set[str] = set()  # folds that the user has unfolded, and folded where they are open at first

    def show(self, view: NodeView | None, state: QuestionState) -> None:
        """Show the node, or nothing."""
        if state is not self._state:
            self._state = state
            self._turned &= {_DETAILS, _OBSERVATION, _WEIGHED}  # ids mean other pieces now
        self.border_title = _title(view)
        if view is None:
            text = "The question is being broken down into steps." if state.running else "No steps yet."
            self._shown = None
            self.set_options([Option(Text(text, "dim"), disabled=True)])
            return
        kept = _key(self.highlighted_option) if view is self._shown else None
        at = self.scroll_offset.y
        self._shown = view
        self.set_options(list(self._options_for(view)))
        if kept is not None:
            self.highlighted = next((at for at, option in enumerate(self.options) if _key(option) == kept), None)
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

    @on(OptionList.OptionSelected)
    def _fold(self, message: OptionList.OptionSelected) -> None:
        option = message.option
        if isinstance(option, Fold) and self._shown is not None:
            message.stop()
            self._turned ^= {option.key}
            self.show(self._shown, self._state)

    def _options_for(self, view: NodeView) -> Iterable[Option]:
        state, result = self._state, view.result
        cited = list(result.cited) if result is not None and not view.by_user else []
        known = [state.evidence[item] for item in dict.fromkeys((*cited, *view.evidence)) if item in state.evidence]
        first = [item for item in known if item.id in cited]
        others = [item for item in known if item.id not in cited]
        answers = result.answers if result is not None else ()
        shown = first and any(answer.casefold() in first[0].text.casefold() for answer in answers)
        plain = [] if shown and result is not None and not result.error else list(outcome(view))
        declined = result is not None and result.outcome == "not found"
        if plain and not declined:
            yield _told(plain)
        if first:
            yield from self._piece(first[0], view)
        story = list(self._story(result)) if result is not None else []
        if view.is_stage:
            yield from story
        yield _told([verdict(view), *(plain if declined else [])])
        if not view.is_stage:
            yield from story
        yield self._foldable(_DETAILS, "details", Group(*describe(view, asked=state.question)))
        for item in first[1:]:
            yield from self._piece(item, view)
        for source in dict.fromkeys(item.source for item in others):
            yield Option(Text(f"\n{'ALSO FOUND' if first else 'FOUND'}: {source.upper()}", "bold"), disabled=True)
            for item in others:
                if item.source == source:
                    yield from self._piece(item, view)
        if not known and result is not None and not view.by_user and not result.observation:
            yield Option(Text("Nothing was looked up for this step itself.", "dim"), disabled=True)

    def _story(self, result: NodeFinished) -> Iterable[Option]:
        """What the step thought, did, saw and weighed."""
        if told := thought_and_action(result):
            yield _told(told)
        if text := result.observation:
            yield self._foldable(_OBSERVATION, observation_head(text), observation_body(text))
        if result.candidates:
            yield self._foldable(_WEIGHED, weighed_head(result.candidates), weighed_body(result.candidates))

    def _piece(self, item: Evidence, view: NodeView) -> Iterable[Option]:
        state, result = self._state, view.result
        answers = result.answers if result is not None else ()
        is_cited = result is not None and item.id in result.cited
        text = piece(item, is_cited, answers, state.users_of(item.id), state.rank_of(item.id))
        yield Option(_flat(text), id=item.id)
        if "sparql" in item.locator:
            said = query_in_words(item.locator, item.title, item.text)
            yield self._foldable(f"query {item.id}", f"asked the graph for: {said}", query(item))

    def _foldable(self, key: str, head: str, body: RenderableType) -> Fold:
        """A line that stands for `body` until it is unfolded."""
        if (key in self._turned) != (key in _OPEN_AT_FIRST):
            return Fold(Group(Text(f"▾ {head}", "dim"), body), key, is_open=True)
        return Fold(Content.from_rich_text(Text(f"▸ {head}", "dim")), key, is_open=False)


def _title(view: NodeView | None) -> Text:
    if view is None:
        return Text(NodePanel.BORDER_TITLE)
    name = "Answer" if view.node.id == ROOT_ID else f"Step {view.node.id}"
    if label := kind_text(view.label, "step"):
        name += f" ({label})"
    return Text(f"{NodePanel.BORDER_TITLE} · {name}: {short_line(view.resolved_question or view.node.question)}")


def _key(option: Option | None) -> tuple[str, str | None] | None:
    if isinstance(option, Fold):
        return "fold", option.key
    return ("piece", option.id) if option is not None else None


def _told(parts: Iterable[Text]) -> Option:
    return Option(_flat(parts), disabled=True)


def _flat(parts: Iterable[Text]) -> VisualType:
    """The parts one below the other as one text, which is laid out many times faster than a group."""
    return Content.from_rich_text(Text("\n").join(text for text in parts if text))
