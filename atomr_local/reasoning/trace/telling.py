"""What clients tell of a trace, in words: passages, steps, advice, and the names of its fields."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal

from atomr_local.language.sentences import first_words, sentences, size_in_words
from atomr_local.reasoning.trace import StepEnd
from atomr_local.reasoning.trace.schema import (
    Trace,
    action_text,
    computation_text,
    kind_text,
    weighed_text,
    whence_text,
)
from atomr_local.sanitize import sanitize, sanitize_line
from atomr_local.sources.document_places import place_words
from atomr_local.sources.protocol import Evidence
from atomr_local.tree.nodes import ROOT_ID

# Passages as every client shows them: where they are from, and a short excerpt with the telling sentences marked.

CLOSEST_IN_DOCUMENTS = "Not answered; closest in your documents"
CLOSEST = "Not answered; closest passages"
GAP = "…"
_WORDS = 60
_FEWER = 30  # words of telling sentences, with less than which the sentences around them are shown too


@dataclass(frozen=True, slots=True)
class ShownPassage:
    """A passage as it is shown; all of it is sanitised.

    Attributes:
        evidence: its id.
        source: title and place, on one line.
        parts: runs of its text with their line breaks, and whether each is telling.
    """

    evidence: str
    source: str
    parts: tuple[tuple[str, bool], ...]

    @property
    def lines(self) -> list[str]:
        """The excerpt as plain text, the telling sentences between » and «, without empty lines."""
        return self.marked(lambda text: text, "»", "«")

    def marked(self, escape: Callable[[str], str], begin: str, end: str) -> list[str]:
        """The lines that are not empty, with what tells between two marks.

        Args:
            escape: makes a text without line breaks harmless where it is shown.
        """
        lines = [""]
        for text, telling in self.parts:
            for number, piece in enumerate(text.split("\n")):
                lines += [""] if number else []
                inner = " ".join(piece.split())
                before, after = (" " if inner and edge.isspace() else "" for edge in (piece[:1], piece[-1:]))
                told = f"{begin}{escape(inner)}{end}" if telling and inner else escape(inner)
                lines[-1] += f"{before}{told}{after}" if inner or not piece else " "
        return [line.strip() for line in lines if line.strip()]


def source_words(piece: Evidence) -> str:
    """Title and place, on one line: "Refunds (policy.md, p. 3)", "Black hole", "News <https://…>"."""
    title, place = sanitize_line(piece.title), sanitize_line(place_words(piece.locator))
    url = piece.locator.get("url")
    if isinstance(url, str) and url and not place:
        return f"{title} <{sanitize_line(url)}>"
    return f"{title} ({place})" if place and title else title or place


def passages_of(trace: Trace) -> tuple[str, list[ShownPassage]]:
    """The passages that the trace's answer quotes, with the heading ""; or those closest to the question, with one."""
    evidence = {item.id: item for item in trace.evidence}
    if trace.status == "unknown":
        # The heading says whether the user's own documents were searched.
        own = any(evidence[name].locator.get("file") for one in trace.closest if (name := one["evidence"]) in evidence)
        nearest = _shown(((item["evidence"], item["spans"]) for item in trace.closest), evidence)
        return CLOSEST_IN_DOCUMENTS if own else CLOSEST, nearest
    root = next((node for node in trace.nodes if node.id == ROOT_ID), None)
    if trace.status != "answered" or root is None:
        return "", []
    # What the answer quotes, or else what a step quotes of what the answer cites.
    steps = (quote for node in trace.nodes for quote in node.quotes if quote["evidence"] in root.cited)
    spans: dict[str, list[Sequence[int]]] = {}
    for quote in root.quotes or steps:
        spans.setdefault(quote["evidence"], []).append(quote["span"])
    return "", _shown(spans.items(), evidence)


def _shown(
    spans: Iterable[tuple[str, Sequence[Sequence[int]]]], evidence: Mapping[str, Evidence]
) -> list[ShownPassage]:
    return [
        ShownPassage(name, source_words(evidence[name]), excerpt(evidence[name].text, told))
        for name, told in spans
        if name in evidence
    ]


def excerpt(text: str, spans: Iterable[Sequence[int]], words: int = _WORDS) -> tuple[tuple[str, bool], ...]:
    """About `words` words of the text around the spans, as runs with whether they are of a span; gaps are marked.

    Whole sentences are shown; one over the limit is cut. Spans outside the text do not count.
    """
    told = _merged(text, ((max(start, 0), min(end, len(text))) for start, end in spans))
    cut = [(start, end) for start, end in sentences(text) if text[start:end].strip()]
    kept = [at for at, (start, end) in enumerate(cut) if any(a < end and start < b for a, b in told)] or [0][: len(cut)]
    room = words
    within: list[int] = []
    for at in kept:
        size = size_in_words(text[slice(*cut[at])])
        if size > room and within:
            break
        within.append(at)
        room -= size
    if room < 0:
        only = first_words(text[slice(*cut[within[0]])], words)
        return ((sanitize(only), True), (f" {GAP}", False))
    if words - room < _FEWER:
        for at in [near for one in list(within) for near in (one + 1, one - 1)]:
            if 0 <= at < len(cut) and at not in within and (size := size_in_words(text[slice(*cut[at])])) <= room:
                within.append(at)
                room -= size
    return tuple(_runs(text, [cut[at] for at in sorted(within)], told))


def _runs(text: str, shown: Sequence[tuple[int, int]], told: Sequence[tuple[int, int]]) -> Iterator[tuple[str, bool]]:
    at = 0
    for start, end in _merged(text, shown):
        if text[at:start].strip():
            yield f"{' ' if at else ''}{GAP} ", False
        edges = sorted({start, end, *(edge for span in told for edge in span if start < edge < end)})
        for first, last in pairwise(edges):
            yield sanitize(text[first:last]), any(a <= first and last <= b for a, b in told)
        at = end
    if text[at:].strip():
        yield f" {GAP}", False


def _merged(text: str, spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """The spans in order; those with at most white space between them as one."""
    merged: list[tuple[int, int]] = []
    for start, end in sorted(span for span in spans if span[0] < span[1]):
        if merged and not text[merged[-1][1] : start].strip():
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


# What a step thought, did, saw, weighed and noted, as short lines of text; the same for an event and a trace.

_LONGEST = 1_000  # characters of a text
_MOST_CANDIDATES = 10
_MOST_NOTES = 20


def is_stage(step: StepEnd, label: str, question: str) -> bool:
    """Whether the step has ended as it should without an answer of its own: a thought, a sentence, the use of a tool.

    Args:
        label: what the step is to its method; "" for a step of a plan.
        question: what it was opened with, which may be a sentence or a query.
    """
    if step.answers or step.error or step.candidates:
        return False
    said = step.thought or step.observation or not question.rstrip().endswith("?")
    return bool(step.action or (label and said))


def step_title(step: StepEnd, label: str, question: str) -> str:
    """What the step is on one line, without its answer: the tool that it used, else what it was opened with.

    Args:
        label: what the step is to its method.
        question: with references replaced by answers.
    """
    what = action_text(step.action) if step.action else sanitize_line(question)
    if new := corrected_text(step):
        what += f" (corrected: {new})"
    name = kind_text(label, "step")
    return f"{name}: {what}" if name else what


def corrected_text(step: StepEnd) -> str:
    """What the statement that the step was opened with was corrected to; "" if it was not, or if it has answers."""
    return bounded(step.thought) if step.corrected_from is not None and not step.answers else ""


def winner_text(step: StepEnd) -> str:
    """Where the answer comes from that won over others, and its rating; "" if none was weighed."""
    best = step.candidates[0] if step.candidates and step.answers else None
    return whence_text(best) if best is not None else ""


def step_details(step: StepEnd) -> Iterator[tuple[str, str]]:
    """Name and text of each thing that is known, each on one line, sanitised and bounded."""
    if step.thought:
        yield "thought", bounded(step.thought)
    if step.action:
        yield "action", action_text(step.action)
    if step.observation:
        yield "observation", bounded(step.observation)
    for candidate in step.candidates[:_MOST_CANDIDATES]:
        yield "weighed", bounded(weighed_text(candidate))
    if (left := len(step.candidates) - _MOST_CANDIDATES) > 0:
        yield "weighed", f"and {left} more"
    for note in step.dropped[:_MOST_NOTES]:
        yield "note", bounded(computation_text(note[: 2 * _LONGEST]))
    if (left := len(step.dropped) - _MOST_NOTES) > 0:
        yield "note", f"and {left} more"


def bounded(text: str, longest: int = _LONGEST) -> str:
    """The text on one line, cut where it is longer."""
    line = sanitize_line(text[: 2 * longest])
    return line if len(line) <= longest and len(text) <= 2 * longest else f"{line[:longest].rstrip()} …"


# What a user can do about a missing answer, said in the words of each client.

EXAMPLE = "Who is the mother of the author of Frankenstein?"
AdviceKind = Literal["example", "english", "planning", "again", "spelling", "web", "sources", "indexes", "knowledge"]
# A command line; the terminal UI; plain mode; whatever asks over HTTP or MCP, the page for browsers included.
Client = Literal["command", "terminal", "plain", "remote"]
_ADD = "Add knowledge: `atomr fetch wikipedia`, or your own files with `atomr text build`."
# By kind and client; "" for the other clients. An empty text: it is of no use there.
_TEXTS: dict[str, dict[str, str]] = {
    "example": {"": f"Ask something like: {EXAMPLE}"},
    "english": {"": "Ask it in English."},
    "planning": {"command": "Use --strategy atomr.", "": "Use the strategy atomr."},
    "again": {"": "Ask again when the source can be reached."},
    "spelling": {"": "Check the spelling of “{names}”."},
    "web": {
        "command": "Turn web search on: --web.",
        "terminal": "Turn web search on: {key}.",
        "plain": "Turn web search on: /web on.",
        "remote": "Search the web too, if the server allows it.",
    },
    "sources": {"command": "Search the {names} too: {options}.", "": "Search the {names} too."},
    # A server has the indexes that it was started with.
    "indexes": {"command": "Search another index: {options}.", "remote": "", "": "Search another index: {names}."},
    "knowledge": {"command": _ADD, "plain": _ADD, "": "Add knowledge: pages or documents that tell it."},
}


@dataclass(frozen=True, slots=True)
class Advice:
    """One thing to do.

    Attributes:
        names: the misspelt name, the sources or the indexes that it is about.
        options: of `atomr ask`, which do it.
    """

    kind: AdviceKind
    names: tuple[str, ...] = ()
    options: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """The advice as events and the trace write it."""
        return {"kind": self.kind, "names": list(self.names), "options": list(self.options)}


def advice_templates(client: Client) -> dict[str, str]:
    """The sentence of each kind of advice, with places for {names}, {options} and {key}; "" if it is of no use."""
    return {kind: ways.get(client, ways.get("", "")) for kind, ways in _TEXTS.items()}


def advice_texts(
    advised: Iterable[Mapping[str, Any]], told: Sequence[str] = (), client: Client = "command", *, web_key: str = "F2"
) -> list[str]:
    """A sentence for each piece of advice that is of use in this client. Names come from outside.

    Args:
        advised: as the trace has it.
        told: the sentences of the trace, for one of an earlier version, which has no more.
        web_key: the key of the terminal UI that turns web search on.
    """
    texts, found = advice_templates(client), []
    for item in advised:
        between = " and the " if item["kind"] == "sources" else " or "
        parts = {"names": between.join(item["names"]), "options": " or ".join(item["options"]), "key": web_key}
        found.append(texts.get(str(item["kind"]), "").format(**parts))
    return [text for text in found if text] or list(told)
