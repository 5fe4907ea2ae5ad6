"""The trace, `atomr.trace/1`: everything that led to an answer. A public format."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any, Literal

from atomr_local.reasoning.trace import Method as Method  # noqa: PLC0414  (strategies have it from here)
from atomr_local.reasoning.trace import PlannedStep, StepEnd, documented, in_order
from atomr_local.sanitize import sanitize_line
from atomr_local.sources.protocol import Evidence

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


def rating_text(score: float | None) -> str:
    """A rating as a figure: "-0.21"; "–" if it is not known."""
    return "–" if score is None else f"{score:z.2f}"  # z: no minus before a zero


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


def taken_from_step(computation: str | None) -> int | None:
    """The number of the step that an answer was taken from as it is."""
    found = _TAKEN.fullmatch(computation or "")
    return int(found[1]) if found is not None else None


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
SCHEMA = "atomr.trace/1"
# "interrupted": the program died while it answered; only the history writes it.
Status = Literal["answered", "unknown", "cancelled", "failed", "interrupted"]
Basis = Literal["evidence", "model"]
# "steps": there is no plan; each step follows from the ones before it.
PlanOrigin = Literal["model", "user", "file", "fallback", "example", "steps", "rule"]
AnswerKind = Literal["value", "quotation", ""]


@dataclass
class LlmUse:
    """How much a node used the model.

    Attributes:
        calls: calls of the model.
        prompt_tokens: tokens submitted.
        evaluated_tokens: of these the ones that the model had to read; the others came from the prefix cache.
        generated_tokens: tokens that the model wrote.
    """

    calls: int = 0
    prompt_tokens: int = 0
    evaluated_tokens: int = 0
    generated_tokens: int = 0

    def add(self, other: LlmUse) -> None:
        for part in fields(LlmUse):
            setattr(self, part.name, getattr(self, part.name) + getattr(other, part.name))


@dataclass
class PlanTrace:
    """The plan that was executed.

    Attributes:
        compact: the plan in compact notation.
        origin: who made it; "fallback" is the question alone, after no plan could be used; "example" is a plan
            that the user kept for this question; with "steps" the steps followed one from the other without a plan;
            "rule": the question asks who or what something is, and a page of that name answers it; or it asks about
            all documents together, and code counts and lists them.
        attempts: how often the model was asked for a plan.
        problems: what was wrong with rejected plans, in words.
    """

    compact: str = ""
    origin: PlanOrigin = "model"
    attempts: int = 0
    problems: list[str] = field(default_factory=list)


@dataclass
class Guess:
    """The best answer to a question that the program declines to answer.

    Attributes:
        answers: the bare answers.
        confidence: probability that it is right; None if it is not known.
        basis: whether it comes from evidence or from the model's own knowledge.
    """

    answers: list[str] = field(default_factory=list)
    confidence: float | None = None
    basis: Basis = "evidence"

    @property
    def text(self) -> str:
        return ", ".join(self.answers)


@documented
@dataclass
class NodeTrace(StepEnd, PlannedStep):
    """One node of the plan, or one step of a method without a plan, and its result.

    Attributes:
        llm: how much it used the model.
    """

    llm: LlmUse = field(default_factory=LlmUse, kw_only=True)


@documented
@dataclass(frozen=True, init=False)
class EvidenceTrace(Evidence):
    """One piece of evidence."""

    id: str

    def __init__(
        self, id: str, source: str, title: str, text: str, score: float, query: str, locator: Mapping[str, Any]
    ) -> None:
        super().__init__(source, title, text, score, query, locator, id)


def traced(item: Evidence) -> EvidenceTrace:
    """The piece as a trace holds it."""
    return EvidenceTrace(**{part.name: getattr(item, part.name) for part in fields(item)})


@dataclass
class Departure:
    """Something that was sent to another machine.

    Attributes:
        what: "question", "question, evidence" or "web query".
        to: the host, with its port where that is not the usual one.
        when: the first time, ISO 8601, UTC.
        query: the words of a web query; None for anything else.
    """

    what: str
    to: str
    when: str
    query: str | None = None


@dataclass
class Totals:
    """Sums over the whole question.

    Attributes:
        seconds: from the question to the answer.
        llm_calls: calls of the model.
        prompt_tokens: tokens submitted.
        evaluated_tokens: of these the ones that the model had to read.
        generated_tokens: tokens that the model wrote.
        retrievals: how often each source was asked.
    """

    seconds: float = 0.0
    llm_calls: int = 0
    prompt_tokens: int = 0
    evaluated_tokens: int = 0
    generated_tokens: int = 0
    retrievals: dict[str, int] = field(default_factory=lambda: {"text": 0, "graph": 0, "web": 0})


@dataclass
class Trace:
    """Everything that led to an answer.

    Attributes:
        strategy: name of the reasoning method.
        settings: the settings that matter for the answer: model, adapter, indexes, sources, web, top_k, seed; in, the
            part of the text index that was asked.
        status: how the question ended; "interrupted" where the program was killed.
        answer: the answer as a sentence.
        answers: the bare answers; of a quotation the quoted texts, with their line breaks.
        answer_kind: "value" for names, numbers and the like, "quotation" for sentences of the evidence as they stand
            there; "" where there is no answer.
        confidence: probability that the answer is right; None if it is not known.
        basis: "model" where the answer comes from the model's own knowledge and not from evidence.
        plan: the plan that was executed.
        nodes: the nodes of the plan, with their results.
        evidence: all evidence that was retrieved.
        totals: sums over the whole question.
        warnings: what the user was warned of.
        left_machine: what was sent to other machines; empty if nothing was.
        reason: for status "unknown": why there is no answer, in a sentence; `answer` and `answers` are empty then.
        advice: what a user of the command line can do about it, one sentence each.
        advised: the same for other clients to word: {"kind", "names", "options"}, with options of `atomr ask`; empty in
            traces of earlier versions.
        guess: the best answer that was found all the same; None if there is none.
        closest: for a question without an answer the passages nearest to it, best first, at most three:
            {"evidence", "spans"}, with the characters [start, end) of the sentences that tell most.
        question: what the user typed.
        understood_as: the question as the plan understood it; "" where there was no plan.
        id: a random name of this trace, by which a later one refers to it; "" in traces of earlier versions.
        conversation: id of the first trace of the conversation that this one continues with; "" for a first question.
        took_from: ids of the earlier traces that gave what the question left out, oldest first.
        expects: {"type", "several"} of the answer that the plan expects; None if it does not say.
    """

    question: str
    strategy: str
    settings: dict[str, Any]
    status: Status = "failed"
    answer: str = ""
    answers: list[str] = field(default_factory=list)
    confidence: float | None = None
    basis: Basis = "evidence"
    plan: PlanTrace = field(default_factory=PlanTrace)
    nodes: list[NodeTrace] = field(default_factory=list)
    evidence: list[EvidenceTrace] = field(default_factory=list)
    totals: Totals = field(default_factory=Totals)
    warnings: list[str] = field(default_factory=list)
    left_machine: list[Departure] = field(default_factory=list)
    reason: str = ""
    advice: list[str] = field(default_factory=list)
    guess: Guess | None = None
    understood_as: str = ""
    expects: dict[str, Any] | None = None
    id: str = ""
    conversation: str = ""
    took_from: list[str] = field(default_factory=list)
    answer_kind: AnswerKind = ""
    closest: list[dict[str, Any]] = field(default_factory=list)
    advised: list[dict[str, Any]] = field(default_factory=list)

    def node(self, node_id: int) -> NodeTrace:
        """The node with this id.

        Raises:
            KeyError: no node has it.
        """
        for node in self.nodes:
            if node.id == node_id:
                return node
        raise KeyError(node_id)

    @property
    def by_user(self) -> bool:
        """Whether the answer to the question is one that the user gave."""
        root = next((node for node in self.nodes if node.parent is None), None)
        return root is not None and self.is_given(root)

    def is_given(self, node: NodeTrace) -> bool:
        """Whether the user gave this answer: to the step, or to the one that it is taken from as it is."""
        for _ in self.nodes:  # a file from elsewhere may go in circles
            step = taken_from_step(node.computation)
            if node.by_user or step is None or node.cited or not node.answers:
                return node.by_user
            source = next((other for other in self.nodes if other.id == step), None)
            if source is None:
                return False
            node = source
        return False

    def to_dict(self) -> dict[str, Any]:
        """The trace as the contract writes it."""
        plain = replace(self, evidence=[replace(item, locator=dict(item.locator)) for item in self.evidence])
        written = {"schema": SCHEMA} | asdict(plain)
        written["nodes"] = [in_order(node) for node in written["nodes"]]
        written["evidence"] = [{"id": item["id"]} | item for item in written["evidence"]]
        return written


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
