"""The typed events of a question. The trace is their sum (see `recorder.py`)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, ClassVar

from atomr_local.models.protocol import Generation
from atomr_local.reasoning.trace import Outcome, StepEnd, in_order
from atomr_local.reasoning.trace.schema import AnswerKind, Basis, Guess, LlmUse, NodeTrace, PlanOrigin, Status, Trace
from atomr_local.sources.protocol import Evidence
from atomr_local.tree.nodes import Argument, Literal, Node, Tree

# What is told of a node while it is only planned.
_PLANNED = ("id", "parent", "question", "kind", "operation")


class Event:
    """Base of all events; each is a dataclass."""

    __slots__ = ()
    __dataclass_fields__: ClassVar[dict[str, Any]]

    def to_dict(self) -> dict[str, Any]:
        """The event for JSON: its snake-case name under "event", then its fields."""
        name = re.sub(r"(?<!^)(?=[A-Z])", "_", type(self).__name__).lower()
        return {"event": name} | asdict(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionAsked(Event):
    """The first event. `settings` is the trace's settings object."""

    question: str
    strategy: str
    settings: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class StageChanged(Event):
    """What is going on before and between nodes, for a status line: "loading model", "planning", …"""

    stage: str


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionUnderstood(Event):
    """A follow-up question rewritten to stand alone; `took_from`: trace ids of the turns that supplied the rest."""

    understood_as: str
    took_from: tuple[str, ...] = ()
    conversation: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanFragment(Event):
    """A piece of the plan as the model writes it (compact notation). Unchecked model output."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanReady(Event):
    """The plan that will be executed; later events use its nodes' ids.

    Methods whose steps follow one from the other have a plan of the root alone; `NodeAdded` adds the others.

    `confidences`: by id of a node with children, how surely the model wrote what is below it, 0 to 1, where the method
    makes use of that.
    """

    tree: Tree
    compact: str
    origin: PlanOrigin
    attempts: int
    problems: tuple[str, ...] = ()
    confidence: float | None = None
    confidences: Mapping[int, float] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        nodes = [planned(self.tree, node) for node in self.tree.nodes()]
        return {
            "event": "plan_ready",
            "question": self.tree.question,
            "expects": self.tree.expects.to_dict() if self.tree.expects is not None else None,
            "compact": self.compact,
            "nodes": [{name: getattr(node, name) for name in _PLANNED} for node in nodes],
            "origin": self.origin,
            "attempts": self.attempts,
            "problems": list(self.problems),
            "confidence": self.confidence,
            "confidences": {str(node_id): share for node_id, share in self.confidences.items()},
        }


def planned(tree: Tree, node: Node) -> NodeTrace:
    """The trace of a node that has not run."""
    operation = node.operation
    return NodeTrace(
        id=node.id,
        parent=tree.parent_of(node.id),
        question=node.question,
        kind=str(node.kind),
        resolved_question=node.question,
        arguments=_written(node.call.arguments) if node.call is not None else [],
        refs=list(node.references),
        operation=str(operation.operation) if operation is not None else None,
        operands=_written(operation.operands) if operation is not None else [],
        words=list(operation.words) if operation is not None else [],
    )


def _written(arguments: Sequence[Argument]) -> list[Any]:
    """Arguments as the plan has them: texts, and lists of node ids for references."""
    return [argument.text if isinstance(argument, Literal) else list(argument.ids) for argument in arguments]


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeAdded(Event):
    """A step that no plan has, below the step that led to it. `label` says what it is to its method ("follow-up")."""

    node_id: int
    parent: int
    question: str
    label: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeStarted(Event):
    """A node begins; `resolved_question` has its references replaced by answers."""

    node_id: int
    resolved_question: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SourcesSelected(Event):
    """`reason` says who chose: "only source", "rule: …" or "model"."""

    node_id: int
    sources: tuple[str, ...]
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RetrievalStarted(Event):
    """A source is about to be asked."""

    node_id: int
    source: str
    query: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LeavesMachine(Event):
    """Something is about to be sent to another machine; emitted before the first byte.

    `what` is "question", "question, evidence" or "web query", whose words are `query`; `to` is the host.
    """

    what: str
    to: str
    query: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class EvidenceFound(Event):
    """Evidence as it is in the trace, with ids. A piece that was found before keeps its first id."""

    node_id: int
    source: str
    evidence: tuple[Evidence, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelCalled(Event):
    """One finished model call. `prompt` and `completion.text` are shown one key away in the UI.

    `node_id` is None for calls that serve the whole question, such as planning.
    """

    node_id: int | None
    purpose: str
    prompt: str
    completion: Generation


@dataclass(frozen=True, slots=True, kw_only=True)
class TextGenerated(Event):
    """A fragment of model output while a node reasons. Unchecked model output."""

    node_id: int | None
    text: str


@dataclass(kw_only=True)
class NodeFinished(StepEnd, Event):
    """A node's result; empty `answers` mean Unknown. `kept`: reused from an earlier answer without running.

    Each of `candidates` has "answer", "score" (None if unknown), "origin" and "evidence" (ids); each of `quotes` has
    "evidence" (id) and "span".
    """

    node_id: int
    llm: LlmUse = field(default_factory=LlmUse)
    kept: bool = False

    def to_dict(self) -> dict[str, Any]:
        return {"event": "node_finished", "node_id": self.node_id} | in_order(asdict(self))


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeJudged(Event):
    """The outcome of a finished node as corrected by the verdict on the whole question, with the reason."""

    node_id: int
    outcome: Outcome
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class WarningRaised(Event):
    """Something that the user should know; the question continues."""

    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerReady(Event):
    """The answer to the whole question. With status "unknown", `answer` and `answers` are empty, `reason` says why in a
    sentence, `advice` what the user can do, `guess` is the best answer that was found, and `closest` the passages
    nearest to the question. Beside an answer from the user's documents, `closest` are others of these that are near."""

    status: Status
    answer: str
    answers: tuple[str, ...] = ()
    confidence: float | None = None
    basis: Basis = "evidence"
    reason: str = ""
    advice: tuple[str, ...] = ()
    advised: tuple[Mapping[str, Any], ...] = ()
    guess: Guess | None = None
    answer_kind: AnswerKind = ""
    closest: tuple[Mapping[str, Any], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished(Event):
    """The last event, always emitted, also after cancellation and failure."""

    trace: Trace

    def to_dict(self) -> dict[str, Any]:
        return {"event": "finished", "trace": self.trace.to_dict()}
