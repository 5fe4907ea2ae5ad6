"""What is told of a step, as safe text: what it rests on, how sure it is, and how it was answered."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text
from textual import on
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.visual import VisualType
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from atomr_local.reasoning.confidence import NOT_FOUND, confidence_symbol, confidence_word
from atomr_local.reasoning.trace import telling
from atomr_local.reasoning.trace.schema import rating_text
from atomr_local.system.sanitize import sanitize, sanitize_line
from atomr_local.tree.calls import format_expects
from atomr_local.tree.nodes import ROOT_ID
from atomr_local.tree.operations import format_operation
from atomr_local.tui.question.state import NodeState, NodeView, QuestionState
from atomr_local.tui.rendering import highlighted, place_text, property_labels, query_in_words, rows_of, short_line

if TYPE_CHECKING:
    from atomr_local.reasoning.trace.schema import NodeTrace
    from atomr_local.sources.protocol import Evidence


STATES = {
    NodeState.WAITING: "waits for the steps that it needs",
    NodeState.RETRIEVING: "looks for evidence",
    NodeState.REASONING: "thinking",
    NodeState.STOPPED: "not finished: the question ended before",
}
DECLINED = "⚠ declined"
SURE_STYLES = {"✓": "green", "≈": "cyan", "⚠": "yellow"}
_SHORT = 240  # characters of a passage that are shown without opening it


def sure_text(confidence: float) -> Text:
    """Sign and word, coloured: "≈ probably"."""
    symbol = confidence_symbol(confidence)
    return Text(f"{symbol} {confidence_word(confidence)}", SURE_STYLES[symbol])


def verdict(view: NodeView) -> Text:
    """One line: how sure, how the answer came about, and what the check has found."""
    result = view.result
    if result is None:
        return Text(STATES[view.state], "dim")
    if view.is_stage:
        return Text("a step on the way: the ones after it go on from here", "dim")
    if result.outcome == "not found":
        return Text.assemble(
            (f"? {NOT_FOUND}", "magenta"), f": {sanitize_line(result.reason)}" if result.reason else ""
        )
    if view.by_user:
        taken = "" if result.method is None else f" · {_way(result)}"
        return Text.assemble((f"✎ {telling.YOUR_ANSWER}", "yellow"), taken)
    parts = list(_sureness(view, result))
    if result.corrected_from is not None:
        parts.append(Text(f"↻ {telling.correction_text(result.corrected_from)}", "cyan"))
    if result.method is not None:
        parts.append(Text(_way(result)))
    if view.kept:
        parts.append(Text("◆ kept from before", "blue"))
    if result.misfit:
        parts.append(Text(f"⚠ {telling.MISFIT}", "yellow"))
    if result.supported is not None:
        mark, style = ("✓", "green") if result.supported else ("✗", "yellow")
        parts.append(Text(f"{mark} {telling.check_text(result)}", style))
    return Text(" · ").join(parts)


def _sureness(view: NodeView, result: NodeTrace) -> Iterable[Text]:
    if view.declined:
        yield Text(f"{DECLINED} as the answer to the question", "yellow")
        if result.confidence is not None:
            yield Text(f"by itself {result.confidence:.2f}", "dim")
    elif not result.answers:
        yield Text(f"? {NOT_FOUND}", "magenta")
    elif result.confidence is not None:
        yield Text.assemble(sure_text(result.confidence), (f" ({result.confidence:.2f})", "dim"))


def _way(result: NodeTrace) -> str:
    """How the answer came about; "taken from step 5" says more than that it is from the steps below."""
    assert result.method is not None
    said = sanitize_line(telling.computation_text(result.computation or ""))
    return (
        said
        if result.method in ("child", "sibling") and said.startswith("taken from")
        else telling.method_text(result.method)
    )


def outcome(view: NodeView) -> Iterable[Text]:
    """The answer in words of its own, for where no sentence of the evidence shows it."""
    result = view.result
    if result is None:
        return
    if view.is_stage:
        return
    if result.outcome == "not found":
        if result.answers:
            yield field("a guess, not an answer", result.answer)
    elif result.answers or result.outcome == "computed":
        yield field(telling.YOUR_ANSWER if view.by_user else "answer", result.answer or "none", "bold green")
    if result.method in ("symbolic", "computed") and result.computation:
        yield field("computed", telling.computation_text(result.computation), "cyan")
    if result.error:
        yield field("error", f"{result.error.get('title', '')}: {result.error.get('message', '')}", "red")


def describe(view: NodeView, asked: str = "") -> Iterable[Text]:
    """Everything else that is known of the step, sanitised.

    Args:
        asked: what the user typed; shown of the root, where the plan understood it otherwise.
    """
    yield Text(sanitize_line(view.node.question), "bold")
    if asked and view.node.id == ROOT_ID and " ".join(asked.split()) != view.node.question:
        yield field("asked as", asked)
    if view.step.resolved_question and view.step.resolved_question != view.node.question:
        yield field("filled in", view.step.resolved_question)
    if view.node.operation is not None:
        yield field("operation", format_operation(view.node.operation))
    if view.node.expects is not None:
        yield field("expects", format_expects(view.node.expects))
    if view.step.plan_confidence is not None:
        yield field("sure of this part of the plan", f"{view.step.plan_confidence:.2f}")
    if view.step.sources:
        yield field("sources", f"{', '.join(view.step.sources)} ({view.source_reason})")
    result = view.result
    if result is None:
        return
    if result.computation:
        yield field("worked out", telling.computation_text(result.computation), "cyan")
    if measured := telling.measures_text(result.signals):
        yield field("measured", measured)
    for note in result.dropped:
        yield field("note", telling.computation_text(note))


def field(name: str, value: str, style: str = "") -> Text:
    return Text.assemble((f"{name}: ", "dim"), (sanitize_line(value), style))


def piece(item: Evidence, is_cited: bool, answers: Sequence[str], users: Sequence[int], rank: int) -> Iterable[Text]:
    """One piece of evidence: the sentence with the answer marked, title and place, and which steps use it."""
    yield marked(excerpt(item.text, answers), answers)
    head = Text.assemble(
        (f"[{item.id}] ", "bold cyan" if is_cited else "dim"),
        (sanitize_line(item.title), "bold"),
        (f" · {item.source}", "dim"),
    )
    if "sparql" not in item.locator:
        place = place_text(item.locator)
        head.append_text(Text.assemble(" · ", place) if place else place)
        head.append(f" · rank {rank}", "dim")
    yield head
    if len(users) > 1:
        yield Text(f"used by {named_steps(users)}", "dim")


def named_steps(numbers: Sequence[int]) -> str:
    """ "steps 1, 3 and the answer": the root is no step."""
    steps = [str(number) for number in numbers if number != ROOT_ID]
    told = f"step{'s' if len(steps) > 1 else ''} {', '.join(steps)}" if steps else ""
    return " and ".join(part for part in (told, "the answer" if ROOT_ID in numbers else "") if part)


def query(item: Evidence) -> RenderableType:
    """The piece's graph query in full, what its P-numbers mean, and its rows."""
    sparql = str(item.locator.get("sparql", ""))
    text = highlighted(sparql)
    for number, label in property_labels(sparql).items():
        text.append(f"\n{number}: {sanitize_line(label)}", "dim")
    rows = rows_of(item.locator)
    return text if rows is None else Group(text, rows)


def excerpt(text: str, answers: Iterable[str]) -> str:
    """The sentences that hold the answers, or the beginning of a long text."""
    if len(text) <= _SHORT and "\n" not in text.strip():
        return text
    from atomr_local.language.sentences import sentences

    wanted = [answer.casefold() for answer in answers if answer.strip()]
    parts = [(start, text[start:end]) for start, end in sentences(text)]
    held = [(start, part) for start, part in parts if any(answer in part.casefold() for answer in wanted)]
    if not held:
        return text if len(text) <= _SHORT else f"{text[:_SHORT].rstrip()} …"
    said = " … ".join(part.strip() for _, part in held[:2])
    return f"{'… ' if held[0][0] > 0 else ''}{said}{' …' if held[-1] != parts[-1] or len(held) > 2 else ''}"


def marked(text: str, answers: Iterable[str], *, sentences_too: bool = False) -> Text:
    """The text, sanitised, with the answers reversed in it; with `sentences_too`, their sentences underlined."""
    shown = Text(sanitize(text))
    words = [word for answer in answers if (word := sanitize_line(answer))]
    if sentences_too:
        from atomr_local.language.sentences import sentences

        for start, end in sentences(shown.plain):
            if any(word.casefold() in shown.plain[start:end].casefold() for word in words):
                shown.stylize("underline", start, end)
    shown.highlight_words(words, "reverse", case_sensitive=False)
    return shown


# What a step thought, did, saw and weighed, as it stands in its pane: untrusted, so sanitised and bounded.

_THOUGHT = 600  # characters
_OBSERVATION = 4_000
_HEAD = 100
_CANDIDATES = 20


def thought_and_action(result: NodeTrace) -> list[Text]:
    """A line for each that there is; of a statement that was corrected, what it was too."""
    lines = []
    if new := telling.corrected_text(result):
        lines += [
            field("corrected", new, "bold"),
            field("first written", telling.bounded(result.corrected_from or ""), "strike"),
        ]
    elif result.thought:
        lines.append(field("thought", telling.bounded(result.thought, _THOUGHT)))
    if result.action:
        lines.append(field("action", telling.action_text(result.action), "bold"))
    return lines


def observation_head(text: str) -> str:
    """The line that the observation folds to."""
    return f"observation: {telling.bounded(text, _HEAD)}"


def observation_body(text: str) -> Text:
    """The observation as the model saw it, up to a bound."""
    shown = Text(sanitize(text[:_OBSERVATION]))
    if (left := len(text) - _OBSERVATION) > 0:
        shown.append(f"\n… and {left:,} more characters", "dim")
    return shown


def weighed_head(candidates: Sequence[Mapping[str, Any]]) -> str:
    """The line that the answers fold to."""
    return f"answers weighed: {len(candidates)}"


def weighed_body(candidates: Sequence[Mapping[str, Any]]) -> RenderableType:
    """The answers as a table, best first, and what the ratings mean."""
    table = Table(show_edge=False, pad_edge=False)
    for name in ("answer", "rating", "from", "evidence"):
        table.add_column(Text(name), overflow="fold", justify="right" if name == "rating" else "left")
    for place, item in enumerate(candidates[:_CANDIDATES]):
        style = "bold" if place == 0 else ""
        table.add_row(
            Text(short_line(str(item.get("answer", ""))), style),
            Text(rating_text(item.get("score"))),
            Text(telling.origin_text(str(item.get("origin", "")))),
            Text(", ".join(short_line(str(name), 12) for name in item.get("evidence", ())[:_CANDIDATES]) or "–"),
        )
    notes = [Text(f"rating: {telling.RATING_MEANS}", "dim")]
    if (left := len(candidates) - _CANDIDATES) > 0:
        notes.insert(0, Text(f"… and {left:,} more", "dim"))
    return Group(table, *notes)


# The selected step: what its answer rests on first, then how sure it is; everything else folds out.

_DETAILS, _NODE_PANEL_OBSERVATION, _WEIGHED = "details", "observation", "weighed"
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
        self._users: dict[str, list[int]] = {}
        self._turned: set[str] = set()  # folds that the user has unfolded, and folded where they are open at first

    def show(self, view: NodeView | None, state: QuestionState) -> None:
        """Show the node, or nothing."""
        if state is not self._state:
            self._state = state
            self._turned &= {_DETAILS, _NODE_PANEL_OBSERVATION, _WEIGHED}  # ids mean other pieces now
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
        found, self._users = state.evidence, state.users
        known = [found[item] for item in dict.fromkeys((*cited, *view.step.evidence)) if item in found]
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
        yield self._foldable(_DETAILS, "details", Group(*describe(view, asked=state.record.question)))
        for item in first[1:]:
            yield from self._piece(item, view)
        for source in dict.fromkeys(item.source for item in others):
            yield Option(Text(f"\n{'ALSO FOUND' if first else 'FOUND'}: {source.upper()}", "bold"), disabled=True)
            for item in others:
                if item.source == source:
                    yield from self._piece(item, view)
        if not known and result is not None and not view.by_user and not result.observation:
            yield Option(Text("Nothing was looked up for this step itself.", "dim"), disabled=True)

    def _story(self, result: NodeTrace) -> Iterable[Option]:
        """What the step thought, did, saw and weighed."""
        if told := thought_and_action(result):
            yield _told(told)
        if text := result.observation:
            yield self._foldable(_NODE_PANEL_OBSERVATION, observation_head(text), observation_body(text))
        if result.candidates:
            yield self._foldable(_WEIGHED, weighed_head(result.candidates), weighed_body(result.candidates))

    def _piece(self, item: Evidence, view: NodeView) -> Iterable[Option]:
        state, result = self._state, view.result
        answers = result.answers if result is not None else ()
        is_cited = result is not None and item.id in result.cited
        text = piece(item, is_cited, answers, self._users[item.id], state.rank_of(item.id))
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
    if label := telling.kind_text(view.label, "step"):
        name += f" ({label})"
    return Text(f"{NodePanel.BORDER_TITLE} · {name}: {short_line(view.step.resolved_question or view.node.question)}")


def _key(option: Option | None) -> tuple[str, str | None] | None:
    if isinstance(option, Fold):
        return "fold", option.key
    return ("piece", option.id) if option is not None else None


def _told(parts: Iterable[Text]) -> Option:
    return Option(_flat(parts), disabled=True)


def _flat(parts: Iterable[Text]) -> VisualType:
    """The parts one below the other as one text, which is laid out many times faster than a group."""
    return Content.from_rich_text(Text("\n").join(text for text in parts if text))
