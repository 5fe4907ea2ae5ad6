"""The trace, `atomr.trace/1`: everything that led to an answer. A public format."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any, Literal

from atomr_local.reasoning.trace import Method as Method  # noqa: PLC0414  (strategies have it from here)
from atomr_local.reasoning.trace import PlannedStep, StepEnd, documented, in_order
from atomr_local.sources.protocol import Evidence

_TAKEN = re.compile(r"\banswer of \[(\d+)\]")
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
        closest: for a question without an answer the passages nearest to it, best first, at most three; for one that
            the user's own documents answer, others of these that are near:
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


def taken_from_step(computation: str | None) -> int | None:
    """The number of the step that an answer was taken from as it is."""
    found = _TAKEN.fullmatch(computation or "")
    return int(found[1]) if found is not None else None


def rating_text(score: float | None) -> str:
    """A rating as a figure: "-0.21"; "–" if it is not known."""
    return "–" if score is None else f"{score:z.2f}"  # z: no minus before a zero
