"""What clients tell of a trace: the answer as a small document, its passages, steps and advice, in words."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal

from atomr_local.language.sentences import first_words, sentences, size_in_words
from atomr_local.reasoning.confidence import NOT_FOUND
from atomr_local.reasoning.trace import StepEnd
from atomr_local.reasoning.trace.schema import Departure, EvidenceTrace, NodeTrace, Trace, rating_text
from atomr_local.sources.document_places import place_words
from atomr_local.sources.protocol import Evidence
from atomr_local.system.sanitize import sanitize, sanitize_line
from atomr_local.tree.nodes import ROOT_ID

# What the fields of a trace are called for people. The fields themselves keep their names: the trace is a format.

METHODS = {
    "operator": "read from the evidence",
    "child": "from the steps below",
    "sibling": "from earlier steps",
    "symbolic": "computed",
    "computed": "computed",
    "direct_rag": "answered directly from what was found",
    "closed_book": "the model's own knowledge, no evidence",
    "tool": "found step by step with searches",
    "sparql": "found by a graph query",
    "vote": "the most frequent of several answers",
    "aggregate": "the best of several ways to answer",
}
# What a step's signals measure, by name: shares from 0 to 1, but for the counts.
MEASURES = {
    "reading": "sure of what it read",
    "null": "saw no answer there",
    "verify": "confirmed when asked again",
    "link": "name found in the graph",
    "relation": "relation found in the graph",
    "type_fit": "fits the kind of answer asked for",
    "agree": "found in several places",
    "support": "contained in the cited passage",
    "mentioned": "words of the question in the passage",
    "subject": "the passage is about the one asked about",
    "answerable": "the passage answers the question",
    "span": "the passage gives this answer",
    "pointed": "the model named the sentences that tell it",
    "quoted": "the sentences themselves are the answer",
    "guess": "had to name something",
    "memory": "from the model's own knowledge",
    "failed_source": "a source failed",
    "leaves": "all steps together",
    "verified": "all steps confirmed when asked again",
    "computed": "computed",
    "fallback": "steps answered directly from what was found",
    "unfinished": "steps without an answer",
    "steps": "steps looked up",
    "answers": "answers",
    "named": "only repeats the question",
    "rival": "another way to the answer agrees",
}
COUNTS = {"steps", "answers"}
# Where an answer comes from that was weighed against others.
ORIGINS = {
    "text": "from the text",
    "graph": "from the graph",
    "web": "from the web",
    "children": "from the steps below",
    "model": "the model's own knowledge",
}
# What methods call their steps, where that is no word that everybody knows.
LABELS = {"vote": "several tries"}
RATING_MEANS = "larger is better; compare within this step only"
YOUR_ANSWER = "your answer"
OWN = f"✎ {YOUR_ANSWER}"
MISFIT = "not the kind of answer asked for"
_CHECKED = {True: "the cited passage contains this answer", False: "the cited passage does not contain this answer"}
_OF_ANOTHER = "the cited passage contains this answer, but is about another subject"
_LONGEST_NAME = 60  # characters of a name that another version or package has given
_PLAIN_KINDS = {"root", "parent", "step", "direct"}
_TAKEN = re.compile(r"\banswer of \[(\d+)\]")
_LEFT_OUT = re.compile(r"^the plan leaves out (.+)$", re.DOTALL)
_UNMENTIONED = re.compile(r"^the evidence does not mention (.+)$", re.DOTALL)
_RIVALS = re.compile(r"^tree: (.*?); direct: (.*)$", re.DOTALL)


def method_text(method: str) -> str:
    """How an answer came about; a method that this version does not know by its name."""
    return METHODS.get(method) or sanitize_line(method[: 2 * _LONGEST_NAME])[:_LONGEST_NAME]


def kind_text(label: str, kind: str) -> str:
    """What a step is: what its method calls it, else a kind that says more than that it is a step."""
    name = LABELS.get(label, label) or ("" if kind in _PLAIN_KINDS else kind)
    return sanitize_line(name[: 2 * _LONGEST_NAME])[:_LONGEST_NAME]


def origin_text(origin: str) -> str:
    """Where an answer that was weighed comes from."""
    return ORIGINS.get(origin) or sanitize_line(origin[: 2 * _LONGEST_NAME])[:_LONGEST_NAME]


def action_text(action: Mapping[str, str], longest: int = 300) -> str:
    """The use of a tool on one line: "search[Metropolis]"."""
    name, given = (sanitize_line(action.get(key, "")[: 2 * longest]) for key in ("name", "input"))
    return f"{name[:_LONGEST_NAME]}[{given[:longest]}{'…' if len(given) > longest else ''}]"


def correction_text(corrected_from: str, longest: int = 120) -> str:
    """What evidence has done to what the model had written; "" stands for that it did not know."""
    if not corrected_from:
        return "completed: the model did not know"
    was = sanitize_line(corrected_from[: 2 * longest])
    return f"corrected: the model had “{was[:longest]}{'…' if len(was) > longest else ''}”"


def whence_text(candidate: Mapping[str, Any]) -> str:
    """Where a weighed answer comes from, and its rating: "from the text, rating -0.21"."""
    score = candidate.get("score")
    parts = (origin_text(str(candidate.get("origin", ""))), "" if score is None else f"rating {rating_text(score)}")
    return ", ".join(filter(None, parts))


def weighed_text(candidate: Mapping[str, Any]) -> str:
    """An answer that was weighed, on one line: "Vienna: from the text, rating -0.21"."""
    told = whence_text(candidate)
    return sanitize_line(str(candidate.get("answer", ""))) + (f": {told}" if told else "")


def check_text(step: StepEnd) -> str:
    """What the check of the citations has found, where there was one."""
    if step.off_subject:
        return _OF_ANOTHER
    supported = bool(step.supported)
    return _CHECKED[supported] if supported or step.cited else "no passage is cited for this answer"


def computation_text(computation: str) -> str:
    """A recorded computation: "answer of [5]" as "taken from step 5"."""
    said = _TAKEN.sub(r"taken from step \1", computation)
    return _RIVALS.sub(r"step by step: \1; directly from what was found: \2", said)


def measures_text(signals: Mapping[str, float]) -> str:
    """What was measured of an answer, most telling first; names that have no words here are left out."""
    return " · ".join(
        f"{words} {signals[name]:.0f}" if name in COUNTS else f"{words} {signals[name]:.0%}"
        for name, words in MEASURES.items()
        if name in signals
    )


def warning_text(warning: str) -> str:
    """A warning as it is shown: what of the question is left out, and what that means."""
    warning = _UNMENTIONED.sub(r"the cited evidence does not mention \1: the answer may not fit it", warning)
    return _LEFT_OUT.sub(r"no step asks about \1: the answer may not fit it", warning)


_SHOWN_QUERIES = 3


def understood(trace: Trace) -> str:
    """The question as it was understood, on one line; "" if that equals what was typed."""
    meant = sanitize_line(trace.understood_as)
    return meant if meant != sanitize_line(trace.question) else ""


def taken_from(trace: Trace, earlier: Mapping[str, str]) -> list[str]:
    """The questions that supplied what this one left out, each on one line; `earlier`: known ones by trace id."""
    return [sanitize_line(earlier[name]) for name in trace.took_from if name in earlier]


def left_machine(departures: Sequence[Departure]) -> str:
    """What was sent where, in one line such as `question, evidence → api.example.org`; "" if nothing was.

    Queries contain words of the model and of the question; sanitise them before printing to a terminal.
    """
    told = []
    for to in dict.fromkeys(item.to for item in departures):
        items = [item for item in departures if item.to == to]
        what = list(dict.fromkeys(item.what for item in items if item.query is None))
        queries = [item.query for item in items if item.query is not None]
        if queries:
            shown = ", ".join(f"“{query}”" for query in queries[:_SHOWN_QUERIES])
            more = len(queries) - _SHOWN_QUERIES
            name = "web query" if len(queries) == 1 else "web queries"
            what.append(f"{name} {shown}" + (f" and {more} more" if more > 0 else ""))
        told.append(f"{', '.join(what)} → {to}")
    return "; ".join(told)


# Passages as every client shows them: where they are from, and a short excerpt with the telling sentences marked.

CLOSEST_IN_DOCUMENTS = "Not answered; closest in your documents"
CLOSEST = "Not answered; closest passages"
ALSO_CLOSE = "Also close in your documents"
GAP = "…"
_WORDS = 60
_ALSO_WORDS = 25
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


def also_close(trace: Trace) -> list[ShownPassage]:
    """The passages of the user's documents that are close to an answered question beside those it rests on, shorter."""
    if trace.status != "answered":
        return []
    evidence = {item.id: item for item in trace.evidence}
    return _shown(((item["evidence"], item["spans"][:1]) for item in trace.closest), evidence, _ALSO_WORDS)


def _shown(
    spans: Iterable[tuple[str, Sequence[Sequence[int]]]], evidence: Mapping[str, Evidence], words: int = _WORDS
) -> list[ShownPassage]:
    return [
        ShownPassage(name, source_words(evidence[name]), excerpt(evidence[name].text, told, words))
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


# An answer as a document: its parts in order, each with a role. Clients write them in marks of their own.

Role = Literal["answer", "quotation", "passages", "not found", "advice", "guess"]
GUESS = "A guess, not an answer"
_PLACES = {
    "index ": "index", "passage ": "passage", "characters ": "span", "section ": "section", "": "url",
    "retrieved ": "retrieved_at",
}  # fmt: skip
_OF_STEP = re.compile(r"step (\d+): (.*)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Part:
    """One thing that is told of an answer. Its text comes from outside: who writes it makes it harmless.

    Most clients write a role that they do not know as lead and text.

    Attributes:
        lead: what stands before the text, such as "Not found".
        text: of an answer or quotation all of it; of passages their heading, "" where the answer quotes them.
        confidence: probability that the answer or guess is right; None if it is not known.
        passages: that are shown, or that a quotation is from.
        items: what the user can do.
    """

    role: Role
    text: str = ""
    lead: str = ""
    confidence: float | None = None
    passages: Sequence[ShownPassage] = ()
    items: Sequence[str] = ()

    @property
    def line(self) -> str:
        """Lead and text on one line, sanitised."""
        return f"{self.lead}: {sanitize_line(self.text)}"

    @property
    def source(self) -> str:
        """Where a quotation is from, sanitised."""
        return ", ".join(passage.source for passage in self.passages)


def told_answer(trace: Trace, client: Client = "remote", *, web_key: str = "F2") -> Iterator[Part]:
    """The answer with the passages that it quotes and others that are close; or why there is none, what is
    closest, what to do, and the guess.

    Args:
        client: whose advice is told.
        web_key: the key of the terminal UI that turns web search on.
    """
    heading, passages = passages_of(trace)
    if trace.status == "unknown" and trace.reason:  # earlier versions said it in the answer
        yield Part("not found", trace.reason, NOT_FOUND.capitalize())
        if passages:
            yield Part("passages", heading, passages=passages)
        if told := advice_texts(trace.advised, trace.advice, client, web_key=web_key):
            yield Part("advice", items=told)
        if guess := told_guess(trace):
            yield guess
        return
    if passages and trace.answer_kind == "quotation":
        yield Part("quotation", trace.answer, confidence=trace.confidence, passages=passages)
    else:
        yield Part("answer", trace.answer, confidence=trace.confidence)
        if passages:
            yield Part("passages", passages=passages)
    if near := also_close(trace):
        yield Part("passages", ALSO_CLOSE, passages=near)


def told_guess(trace: Trace) -> Part | None:
    """The best answer that was found all the same; None if there is none."""
    guess = trace.guess
    if guess is None or not guess.answers:
        return None
    whence = " from the model's own knowledge" if guess.basis == "model" else ""
    return Part("guess", guess.text, GUESS.replace(",", f"{whence},"), guess.confidence)


def root_of(trace: Trace) -> NodeTrace | None:
    """The node of the whole question; None where nothing was planned."""
    return next((node for node in trace.nodes if node.parent is None), None)


def pieces(trace: Trace, names: Iterable[str]) -> list[EvidenceTrace]:
    """The evidence of these ids, in their order; those that the trace does not have are left out."""
    by_id = {item.id: item for item in trace.evidence}
    return [by_id[name] for name in names if name in by_id]


def places(piece: Evidence) -> Iterator[tuple[str, str]]:
    """Where its source has found the piece: each place, which comes from outside, and the words before it."""
    for lead, name in _PLACES.items():
        value = piece.locator.get(name)
        if value not in (None, "", [], ()):
            yield lead, "–".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def gathered(warnings: Iterable[str]) -> list[str]:
    """Each warning once, in words, with all the steps that it was raised for."""
    steps: dict[str, dict[str, None]] = {}
    for warning in map(warning_text, warnings):
        of_step = _OF_STEP.fullmatch(warning)
        steps.setdefault(of_step[2] if of_step else warning, {}).update({of_step[1]: None} if of_step else {})
    return [
        f"step{'s' if len(numbers) > 1 else ''} {', '.join(numbers)}: {text}" if numbers else text
        for text, numbers in steps.items()
    ]


def departures_text(trace: Trace) -> str:
    """What was sent to other machines, on one line; "" if nothing was."""
    text = sanitize_line(left_machine(trace.left_machine))
    return f"Left the machine: {text}" if text else ""


# Markdown, which two clients write: each escapes texts in its own way.


def block(lines: Iterable[str]) -> str:
    """Lines of Markdown as a block quotation that keeps them; empty ones are left out."""
    return "  \n".join(f"> {line}" for line in lines if line.strip("* "))


def in_markdown(
    part: Part, escape: Callable[[str], str], link: Callable[[ShownPassage], str] = lambda _: ""
) -> Iterator[str]:
    """Lead and text; what the user can do as a list; passages, each with its source, what tells in bold.

    Args:
        link: what stands behind a source.
    """
    if part.lead:
        yield f"**{part.lead}.** {escape(part.text)}"
    if part.items:
        yield "\n".join(f"- {escape(item)}" for item in part.items)
    if part.passages and part.text:
        yield f"**{part.text}**"
    for passage in part.passages:
        yield f"{block(passage.marked(escape, '**', '**'))}\n>\n> {escape(passage.source)}{link(passage)}"


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


def is_found(step: StepEnd) -> bool:
    """Whether the step has an answer that stands: a guess does not."""
    return bool(step.answers) and step.outcome != "not found"


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


def remarks(step: StepEnd, *, given: bool) -> dict[str, str]:
    """What is to be known of the step's answer, by role, each on one line; only what there is to tell.

    Args:
        given: by the user.
    """
    computed = step.computation if step.method in ("symbolic", "computed") else None
    told = {
        "computed": sanitize_line(computation_text(computed or "")),
        "own": OWN if given else "",
        "memory": "from the model's own knowledge" if step.outcome == "memory" else "",
        "corrected": "" if step.corrected_from is None else correction_text(step.corrected_from),
        "won": winner_text(step),
        "doubt": check_text(step) if step.supported is False else "",
        "misfit": MISFIT if step.misfit else "",
        "failed": sanitize_line(step.error.get("message", "")) if step.error else "",
    }
    return {role: text for role, text in told.items() if text}


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
