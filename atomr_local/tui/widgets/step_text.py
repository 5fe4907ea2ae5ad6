"""What is told of a step, as safe text: what it rests on, how sure it is, and how it was answered."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.text import Text

from atomr_local.reasoning.confidence.words import NOT_FOUND, confidence_symbol, confidence_word
from atomr_local.reasoning.trace.words import (
    MISFIT,
    YOUR_ANSWER,
    check_text,
    computation_text,
    correction_text,
    measures_text,
    method_text,
)
from atomr_local.sanitize import sanitize, sanitize_line
from atomr_local.tree.answer_types import format_expects
from atomr_local.tree.nodes import ROOT_ID
from atomr_local.tree.operations import format_operation
from atomr_local.tui.query_words import property_labels
from atomr_local.tui.question.state import NodeState, NodeView
from atomr_local.tui.rendering import highlighted, place_text, rows_of

if TYPE_CHECKING:
    from atomr_local.reasoning.trace.events import NodeFinished
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
        return Text.assemble((f"✎ {YOUR_ANSWER}", "yellow"), taken)
    parts = list(_sureness(view, result))
    if result.corrected_from is not None:
        parts.append(Text(f"↻ {correction_text(result.corrected_from)}", "cyan"))
    if result.method is not None:
        parts.append(Text(_way(result)))
    if result.kept:
        parts.append(Text("◆ kept from before", "blue"))
    if result.misfit:
        parts.append(Text(f"⚠ {MISFIT}", "yellow"))
    if result.supported is not None:
        mark, style = ("✓", "green") if result.supported else ("✗", "yellow")
        parts.append(Text(f"{mark} {check_text(result.supported, result.cited)}", style))
    return Text(" · ").join(parts)


def _sureness(view: NodeView, result: NodeFinished) -> Iterable[Text]:
    if view.declined:
        yield Text(f"{DECLINED} as the answer to the question", "yellow")
        if result.confidence is not None:
            yield Text(f"by itself {result.confidence:.2f}", "dim")
    elif not result.answers:
        yield Text(f"? {NOT_FOUND}", "magenta")
    elif result.confidence is not None:
        yield Text.assemble(sure_text(result.confidence), (f" ({result.confidence:.2f})", "dim"))


def _way(result: NodeFinished) -> str:
    """How the answer came about; "taken from step 5" says more than that it is from the steps below."""
    assert result.method is not None
    said = sanitize_line(computation_text(result.computation or ""))
    return (
        said if result.method in ("child", "sibling") and said.startswith("taken from") else method_text(result.method)
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
        yield field(YOUR_ANSWER if view.by_user else "answer", result.answer or "none", "bold green")
    if result.method in ("symbolic", "computed") and result.computation:
        yield field("computed", computation_text(result.computation), "cyan")
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
    if view.resolved_question and view.resolved_question != view.node.question:
        yield field("filled in", view.resolved_question)
    if view.node.operation is not None:
        yield field("operation", format_operation(view.node.operation))
    if view.node.expects is not None:
        yield field("expects", format_expects(view.node.expects))
    if view.plan_confidence is not None:
        yield field("sure of this part of the plan", f"{view.plan_confidence:.2f}")
    if view.sources:
        yield field("sources", f"{', '.join(view.sources)} ({view.source_reason})")
    result = view.result
    if result is None:
        return
    if result.computation:
        yield field("worked out", computation_text(result.computation), "cyan")
    if measured := measures_text(result.signals):
        yield field("measured", measured)
    for note in result.dropped:
        yield field("note", computation_text(note))


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
