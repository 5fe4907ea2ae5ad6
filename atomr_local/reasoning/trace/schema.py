"""The trace, `atomr.trace/1`: everything that led to an answer. A public format."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any, Literal

from atomr_local.reasoning.trace.words import taken_from_step
from atomr_local.sanitize import sanitize_line

_SHOWN_QUERIES = 3
SCHEMA = "atomr.trace/1"
# "interrupted": the program died while it answered; only the history writes it.
Status = Literal["answered", "unknown", "cancelled", "failed", "interrupted"]
Basis = Literal["evidence", "model"]
Method = Literal[
    "operator",
    "child",
    "sibling",
    "symbolic",
    "computed",
    "direct_rag",
    "closed_book",
    "tool",
    "sparql",
    "vote",
    "aggregate",
]
# "steps": there is no plan; each step follows from the ones before it.
PlanOrigin = Literal["model", "user", "file", "fallback", "example", "steps", "rule"]
Outcome = Literal["found", "computed", "memory", "not found"]


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
            "rule": the question asks who or what something is, and a page of that name answers it.
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


class StepMarks:
    """What a step's answer is marked with, as it ends and in its trace."""

    __slots__ = ()
    method: Method | None
    answers: Any
    signals: Any

    @property
    def by_user(self) -> bool:
        """Whether the answer is one that the user gave: the program has found it in no way."""
        return self.method is None and bool(self.answers)

    @property
    def misfit(self) -> bool:
        """Whether the answer is surely of another kind than the question asks for, such as a length for a count."""
        return bool(self.answers) and self.signals.get("type_fit") == 0.0


@dataclass
class NodeTrace(StepMarks):
    """One node of the plan, or one step of a method without a plan, and its result.

    Attributes:
        id: number of the node in the plan; the root is 0.
        parent: id of the parent; None for the root.
        question: the node's question as the plan has it.
        kind: "root", "parent", "search", "relate", "filter", "operation", "direct", or "step" for one that no plan has.
        resolved_question: the question with references replaced by answers.
        refs: ids of the nodes that it refers to.
        sources: names of the sources that were chosen.
        answer: the answers as text.
        answers: the bare answers; empty if nothing was found.
        method: how the answer came about.
        confidence: probability that the answer is right; None if it is not known.
        evidence: ids of the evidence that was retrieved.
        cited: ids of the evidence that the answer rests on.
        supported: whether the cited evidence contains the answer; None if that was not checked.
        computation: what was computed, such as "2010-10-19 > 2000-01-01".
        dropped: what a limit left out, in words.
        error: {"title", "message"} of what failed.
        seconds: how long the node took.
        llm: how much it used the model.
        outcome: how the step ended; None if it did not end, failed, or the trace is of an earlier version.
        reason: for "not found": what was looked for and where, in a sentence.
        signals: what speaks for and against the answer, by name, such as "link", "relation" or "verify"; 0 to 1.
        arguments: of the operator, as the plan has them: texts, and lists of node ids for references.
        operation: name of the typed operation that computes the node, such as "Compare"; None if there is none.
        operands: of the operation, in the form of `arguments`.
        words: of the operation, such as the direction "earlier".
        of: for each answer what it is a value of, such as the rivers of a length; empty if that is not known.
        scores: for each of several answers how sure it is by itself, 0 to 1; empty if that is not known.
        entities: for each answer the graph entity that it names, or None; empty if the graph gave none.
        linked: labels of the entities that the graph took the operator's first arguments for.
        near: if the graph has the entity but not what was asked: labels of its properties, the nearest first.
        label: what the step is to its method, such as "follow-up" or "hop 2"; "" for a step of a plan.
        plan_confidence: how surely the model wrote this part of the plan, 0 to 1; None if that is not known.
        thought: what the model wrote before it acted or answered. Untrusted.
        action: {"name", "input"} of the tool that the step used; None if it used none.
        observation: what the tool returned, as the model saw it. Untrusted.
        candidates: the answers that were weighed: {"answer", "score", "origin", "evidence"}, best first.
        corrected_from: what the model had written before evidence corrected it, "" if it had marked the step as
            unsolved; None if nothing was corrected. Untrusted.
    """

    id: int
    parent: int | None
    question: str
    kind: str
    resolved_question: str = ""
    arguments: list[Any] = field(default_factory=list)
    refs: list[int] = field(default_factory=list)
    sources: list[str] = field(default_factory=list)
    answer: str = ""
    answers: list[str] = field(default_factory=list)
    method: Method | None = None
    confidence: float | None = None
    evidence: list[str] = field(default_factory=list)
    cited: list[str] = field(default_factory=list)
    supported: bool | None = None
    computation: str | None = None
    dropped: list[str] = field(default_factory=list)
    error: dict[str, str] | None = None
    seconds: float = 0.0
    llm: LlmUse = field(default_factory=LlmUse)
    outcome: Outcome | None = None
    reason: str = ""
    signals: dict[str, float] = field(default_factory=dict)
    operation: str | None = None
    operands: list[Any] = field(default_factory=list)
    words: list[str] = field(default_factory=list)
    linked: list[str] = field(default_factory=list)
    near: list[str] = field(default_factory=list)
    of: list[list[str]] = field(default_factory=list)
    scores: list[float] = field(default_factory=list)
    entities: list[str | None] = field(default_factory=list)
    label: str = ""
    plan_confidence: float | None = None
    thought: str = ""
    action: dict[str, str] | None = None
    observation: str = ""
    candidates: list[dict[str, Any]] = field(default_factory=list)
    corrected_from: str | None = None


@dataclass
class EvidenceTrace:
    """One piece of evidence.

    Attributes:
        id: "e1", "e2", … within the trace.
        source: "text", "graph", "web" or the name of another package's source.
        title: page title, entity label or title of the web page.
        text: the passage, the graph's rows as short sentences, or the web snippet. Untrusted.
        score: larger is better; comparable within one source and query only.
        query: what the source was asked.
        locator: where it is, such as {"passage", "span"}, {"sparql", "rows", "sketch"} or {"url", "retrieved_at"}.
    """

    id: str
    source: str
    title: str
    text: str
    score: float
    query: str
    locator: Mapping[str, Any]


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
        settings: the settings that matter for the answer: model, adapter, indexes, sources, web, top_k, seed.
        status: how the question ended; "interrupted" where the program was killed.
        answer: the answer as a sentence.
        answers: the bare answers.
        confidence: probability that the answer is right; None if it is not known.
        basis: "model" where the answer comes from the model's own knowledge and not from evidence.
        plan: the plan that was executed.
        nodes: the nodes of the plan, with their results.
        evidence: all evidence that was retrieved.
        totals: sums over the whole question.
        warnings: what the user was warned of.
        left_machine: what was sent to other machines; empty if nothing was.
        reason: for status "unknown": why there is no answer, in a sentence; `answer` and `answers` are empty then.
        advice: what a user can do about it, one sentence each.
        guess: the best answer that was found all the same; None if there is none.
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
        by_id = {other.id: other for other in self.nodes}
        for _ in self.nodes:  # a file from elsewhere may go in circles
            if node.by_user:
                return True
            step = taken_from_step(node.computation)
            if step not in by_id or node.cited or not node.answers:
                return False
            node = by_id[step]
        return False

    def to_dict(self) -> dict[str, Any]:
        """The trace as the contract writes it."""
        return {"schema": SCHEMA} | asdict(
            replace(self, evidence=[replace(e, locator=dict(e.locator)) for e in self.evidence])
        )


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
