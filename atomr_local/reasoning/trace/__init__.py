"""Events of a question and their sum, the trace. What both tell of a step is declared here, each field once.

A field of :class:`StepNotes` is one of a `Result`, of the event `NodeFinished` and of a trace's node. It passes from
each to the next by its name, also to the screen, into JSON and back from a file.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Literal, TypeVar

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
Outcome = Literal["found", "computed", "memory", "not found"]
# Steps in JSON have their fields in this order; those that are not here come last.
_ORDER = (
    "id", "parent", "question", "kind", "resolved_question", "arguments", "refs", "sources", "answer", "answers",
    "method", "confidence", "evidence", "cited", "supported", "computation", "dropped", "error", "seconds", "llm",
    "kept", "outcome", "reason", "signals", "operation", "operands", "words", "linked", "near", "of", "scores",
    "entities", "label", "plan_confidence", "thought", "action", "observation", "candidates", "corrected_from",
    "quotes",
)  # fmt: skip
_Class = TypeVar("_Class", bound=type)


@dataclass
class PlannedStep:
    """A node of the plan, or a step of a method without a plan, before it has run.

    Attributes:
        id: number of the node in the plan; the root is 0.
        parent: id of the parent; None for the root.
        question: the node's question as the plan has it.
        kind: "root", "parent", "search", "relate", "filter", "operation", "direct", or "step" for one that no plan has.
        resolved_question: the question with references replaced by answers.
        arguments: of the operator, as the plan has them: texts, and lists of node ids for references.
        refs: ids of the nodes that it refers to.
        sources: names of the sources that were chosen.
        operation: name of the typed operation that computes the node, such as "Compare"; None if there is none.
        operands: of the operation, in the form of `arguments`.
        words: of the operation, such as the direction "earlier".
        label: what the step is to its method, such as "follow-up" or "hop 2"; "" for a step of a plan.
        plan_confidence: how surely the model wrote this part of the plan, 0 to 1; None if that is not known.
    """

    id: int
    parent: int | None
    question: str
    kind: str
    resolved_question: str = ""
    arguments: list[Any] = field(default_factory=list)
    refs: list[int] = field(default_factory=list)
    sources: list[str] = field(default_factory=list)
    operation: str | None = None
    operands: list[Any] = field(default_factory=list)
    words: list[str] = field(default_factory=list)
    label: str = ""
    plan_confidence: float | None = None


@dataclass(kw_only=True)
class StepAnswer:
    """The answer of a step as it is told: with ids for evidence, and in JSON's types.

    Attributes:
        answer: the answers as text.
        answers: the bare answers; empty if nothing was found.
        method: how the answer came about.
        confidence: probability that the answer is right; None if it is not known.
        evidence: ids of the evidence that was retrieved.
        supported: whether the cited evidence contains the answer, and does not tell it clearly of another; None if that
            was not checked.
        seconds: how long the node took.
        outcome: how the step ended; None if it did not end, failed, or the trace is of an earlier version.
        of: for each answer what it is a value of, such as the rivers of a length; empty if that is not known.
        scores: for each of several answers how sure it is by itself, 0 to 1; empty if that is not known.
        entities: for each answer the graph entity that it names, or None; empty if the graph gave none.
        action: {"name", "input"} of the tool that the step used; None if it used none.
        candidates: the answers that were weighed: {"answer", "score", "origin", "evidence"}, best first.
        quotes: where the answer stands, or the sentences that tell a short answer: {"evidence", "span"}, with the
            characters [start, end) of the evidence's text.
    """

    answer: str = ""
    answers: list[str] = field(default_factory=list)
    method: Method | None = None
    confidence: float | None = None
    evidence: list[str] = field(default_factory=list)
    supported: bool | None = None
    seconds: float = 0.0
    outcome: Outcome | None = None
    of: list[list[str]] = field(default_factory=list)
    scores: list[float] = field(default_factory=list)
    entities: list[str | None] = field(default_factory=list)
    action: dict[str, str] | None = None
    candidates: list[dict[str, Any]] = field(default_factory=list)
    quotes: list[dict[str, Any]] = field(default_factory=list)


@dataclass(kw_only=True)
class StepNotes:
    """What a method notes of a step beside its answer, in the same form everywhere.

    Attributes:
        cited: ids of the evidence that the answer rests on.
        computation: what was computed, such as "2010-10-19 > 2000-01-01"; of a question about all documents together
            the whole answer with its rule.
        dropped: what a limit left out, in words.
        error: {"title", "message"} of what failed.
        reason: for "not found": what was looked for and where, in a sentence.
        signals: what speaks for and against the answer, by name, such as "link", "relation" or "verify"; 0 to 1.
        linked: labels of the entities that the graph took the operator's first arguments for.
        near: if the graph has the entity but not what was asked: labels of its properties, the nearest first.
        thought: what the model wrote before it acted or answered. Untrusted.
        observation: what the tool returned, as the model saw it. Untrusted.
        corrected_from: what the model had written before evidence corrected it, "" if it had marked the step as
            unsolved; None if nothing was corrected. Untrusted.
    """

    cited: list[str] = field(default_factory=list)
    computation: str | None = None
    dropped: list[str] = field(default_factory=list)
    error: dict[str, str] | None = None
    reason: str = ""
    signals: dict[str, float] = field(default_factory=dict)
    linked: list[str] = field(default_factory=list)
    near: list[str] = field(default_factory=list)
    thought: str = ""
    observation: str = ""
    corrected_from: str | None = None


@dataclass(kw_only=True)
class StepEnd(StepNotes, StepAnswer):
    """How a step ended."""

    @property
    def by_user(self) -> bool:
        """Whether the answer is one that the user gave: the program has found it in no way."""
        return self.method is None and bool(self.answers)

    @property
    def misfit(self) -> bool:
        """Whether the answer is surely of another kind than the question asks for, such as a length for a count."""
        return bool(self.answers) and self.signals.get("type_fit") == 0.0

    @property
    def off_subject(self) -> bool:
        """Whether the cited evidence tells the answer clearly of another than the one asked about."""
        return bool(self.answers) and self.signals.get("subject") == 0.0


def told(value: Any) -> Any:
    """A value as events and traces hold it, in JSON's types and changed by nobody else: sequences as new lists."""
    if hasattr(value, "to_dict"):
        return value.to_dict()
    if isinstance(value, list | tuple):
        return [told(item) for item in value]
    return dict(value) if isinstance(value, Mapping) else value


def take_over(source: object, target: Any, kind: type | None = None) -> None:
    """Copy the fields that both have by their names; with `kind`, those of that class alone."""
    for item in fields(kind or target):
        if hasattr(source, item.name):
            setattr(target, item.name, told(getattr(source, item.name)))


def in_order(step: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a step in the order in which JSON has them."""
    return {name: step[name] for name in dict.fromkeys((*_ORDER, *step)) if name in step}


def documented(found: _Class) -> _Class:
    """The class with the attributes of its bases in its docstring, where the reference reads what each field holds."""
    docs = [inspect.cleandoc(base.__doc__ or "").partition("Attributes:") for base in reversed(found.__mro__[:-1])]
    attributes = "".join(listed for _, _, listed in docs)
    found.__doc__ = f"{docs[-1][0].rstrip()}\n\nAttributes:{attributes}"
    return found
