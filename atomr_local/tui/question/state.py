"""The state of one question on the screen: the sum of its events. Widgets hold none of it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cache
from typing import TYPE_CHECKING

from atomr_local.errors import AtomrError
from atomr_local.sanitize import sanitize_line

if TYPE_CHECKING:
    from atomr_local.reasoning.trace.events import (
        AnswerReady,
        Event,
        LeavesMachine,
        ModelCalled,
        NodeAdded,
        NodeFinished,
    )
    from atomr_local.reasoning.trace.schema import PlanOrigin, Trace
    from atomr_local.sources.protocol import Evidence
    from atomr_local.tree.nodes import Node, Tree


class NodeState(StrEnum):
    WAITING = "waiting"
    REASONING = "reasoning"
    RETRIEVING = "retrieving"
    DONE = "found"
    COMPUTED = "computed"
    MEMORY = "from the model's own knowledge"
    UNKNOWN = "not found"
    FAILED = "failed"
    CACHED = "cached"
    GIVEN = "your answer"
    STOPPED = "not finished"


@dataclass
class NodeView:
    """One node as shown.

    Attributes:
        parent: id of the node that it stands below; None for the root.
        label: what a step that no plan has is to its method.
        plan_confidence: how surely the model wrote this part of the plan; None while that is not known.
    """

    node: Node
    parent: int | None = None
    label: str = ""
    plan_confidence: float | None = None
    state: NodeState = NodeState.WAITING
    resolved_question: str = ""
    sources: tuple[str, ...] = ()
    source_reason: str = ""
    evidence: list[str] = field(default_factory=list)
    result: NodeFinished | None = None
    calls: list[ModelCalled] = field(default_factory=list)
    by_user: bool = False  # the user gave the answer, to this step or to the one that it is taken from as it is
    declined: bool = False  # the whole question was declined with this step's answer, however sure the step is

    @property
    def answer(self) -> str:
        return self.result.answer if self.result is not None else ""

    @property
    def is_stage(self) -> bool:
        """Whether the step has ended as it should without an answer of its own."""
        from atomr_local.reasoning.trace.telling import is_stage

        return self.result is not None and is_stage(self.result, self.label, self.node.question)


@dataclass
class QuestionState:
    """One question from asking to its end."""

    question: str = ""
    strategy: str = ""
    understood_as: str = ""  # the question so that it stands alone; "" before that is known
    meant: str = ""  # as the conversation or the user says that it is meant, before a plan was read from it
    conversation: str = ""  # of a follow-up question: the trace id of the first question of the conversation
    took_from: tuple[str, ...] = ()  # trace ids of the earlier questions that gave what this one left out
    running: bool = False
    web: bool = False
    stage: str = ""
    plan_text: str = ""
    tree: Tree | None = None  # the plan; `nodes` may hold steps that it has not
    origin: PlanOrigin = "model"
    plan_failed: bool = False  # no plan could be used; a strategy that makes no plan tries none
    nodes: dict[int, NodeView] = field(default_factory=dict)
    evidence: dict[str, Evidence] = field(default_factory=dict)
    answer: AnswerReady | None = None
    warnings: list[str] = field(default_factory=list)
    calls: int = 0
    generated_tokens: int = 0
    evaluated_tokens: int = 0
    generation_seconds: float = 0.0
    seconds: float | None = None
    guess_key: str = "g"  # that shows it
    web_key: str = "f2"  # that turns web search on
    guess_shown: bool = False  # the user asked for the guess of a question that was declined
    draft: str = ""  # what the model writes of the answer; unchecked
    planning: list[ModelCalled] = field(default_factory=list)
    leaving: dict[tuple[str, str | None], LeavesMachine] = field(default_factory=dict)
    trace: Trace | None = None
    replayed: bool = False  # opened from the history: prompts were not kept
    _users: dict[str, set[int]] = field(default_factory=dict)  # evidence to the nodes that have it
    _answer_ended: bool = False  # what the next call writes takes the place of the draft: it is another text
    _draft_ended: bool = False  # a plan that is started again takes the place of the rejected one

    @property
    def can_correct(self) -> bool:
        """Whether the question has ended with a plan whose steps can be edited and run again."""

        planned = self.trace is not None and self.tree is not None and self.origin != "steps"
        return planned and revises(self.strategy)

    @property
    def tokens_per_second(self) -> float | None:
        """What the model wrote, over the time that its calls took; None before the first call has ended."""
        return self.generated_tokens / self.generation_seconds if self.generation_seconds > 0 else None

    @property
    def unfinished(self) -> list[NodeView]:
        """The steps that have no result yet, or have got none."""
        return [view for view in self.nodes.values() if view.result is None]

    @property
    def citations(self) -> list[str]:
        """The ids of the pieces that the answer cites, or the guess where that is shown."""
        root = self.nodes.get(0)
        if root is None or root.result is None or self.answer is None:
            return []
        if self.answer.status != "answered" and not self.guess_shown:
            return []
        return [item for item in root.result.cited if item in self.evidence]

    @property
    def reworded(self) -> bool:
        """Whether the question was understood otherwise than by the letter."""
        return bool(self.understood_as) and self.understood_as.split() != self.question.split()

    @property
    def has_guess(self) -> bool:
        """Whether the question was declined and there is a guess all the same."""
        answer = self.answer
        return answer is not None and answer.status == "unknown" and answer.guess is not None

    @property
    def left_machine(self) -> str:
        """What was sent to other machines so far, on one line; empty if nothing was."""
        if not self.leaving:
            return ""
        from atomr_local.reasoning.trace.schema import Departure, left_machine

        return left_machine([Departure(item.what, item.to, "", item.query) for item in self.leaving.values()])

    @property
    def given_steps(self) -> list[int]:
        """The steps whose answers the user gave."""
        return [number for number, view in self.nodes.items() if view.result is not None and view.result.by_user]

    @property
    def declined_steps(self) -> list[int]:
        """The steps with whose answer the whole question was declined."""
        return [number for number, view in self.nodes.items() if view.declined]

    def rank_of(self, evidence_id: str) -> int:
        """The place of a piece among all that its source found for the same query, from 1."""
        item = self.evidence[evidence_id]
        alike = (one for one in self.evidence.values() if (one.source, one.query) == (item.source, item.query))
        return 1 + sum(one.score > item.score for one in alike)

    def users_of(self, evidence_id: str) -> list[int]:
        """The nodes whose evidence holds this piece, in the order of their numbers."""
        return sorted(self._users.get(evidence_id, ()))

    def apply(self, event: Event) -> None:
        from atomr_local.reasoning.trace import events  # there by then; the first frame does not wait for it

        match event:
            case events.QuestionAsked():
                self.question, self.strategy, self.running = event.question, event.strategy, True
                self.web = bool(event.settings.get("web"))
            case events.StageChanged():
                self.stage = event.stage
            case events.PlanFragment():
                self.plan_text = event.text if self._draft_ended else self.plan_text + event.text
                self._draft_ended = False
            case events.QuestionUnderstood():
                self.understood_as, self.took_from = event.understood_as, event.took_from
                self.meant = event.understood_as
                self.conversation = event.conversation
            case events.PlanReady():
                self.tree, self.origin = event.tree, event.origin
                self.plan_failed = event.origin == "fallback" and event.attempts > 0
                self.understood_as = event.tree.question
                self.nodes = {
                    node.id: NodeView(node, event.tree.parent_of(node.id), resolved_question=node.question)
                    for node in event.tree.nodes()
                }
            case events.NodeAdded():
                self._grow(event)
            case events.ModelCalled():
                self.calls += 1
                self._draft_ended = True
                self._answer_ended = self._answer_ended or event.node_id == 0
                self.generated_tokens += event.completion.generated_tokens
                self.generation_seconds += event.completion.seconds
                self.evaluated_tokens += event.completion.evaluated_tokens
                view = self.nodes.get(event.node_id) if event.node_id is not None else None
                (self.planning if view is None else view.calls).append(event)
            case events.LeavesMachine():
                self.leaving[event.to, event.query] = event
            case events.WarningRaised():
                self.warnings.append(event.message)
            case events.AnswerReady():
                self.answer = event
                self._tell_declined(event.status == "unknown")
            case events.Finished():
                self._end(event.trace)
            case _:
                self._node_event(event)

    def _node_event(self, event: Event) -> None:
        node_id = getattr(event, "node_id", None)
        view = self.nodes.get(node_id) if node_id is not None else None
        if view is None:
            return
        from atomr_local.reasoning.trace import events

        match event:
            case events.NodeStarted():
                view.state, view.resolved_question = NodeState.REASONING, event.resolved_question
            case events.SourcesSelected():
                view.sources, view.source_reason = tuple(map(str, event.sources)), event.reason
            case events.RetrievalStarted():
                view.state = NodeState.RETRIEVING
            case events.EvidenceFound():
                view.state = NodeState.REASONING
                self.evidence.update((item.id, item) for item in event.evidence)
                view.evidence.extend(item.id for item in event.evidence if item.id not in view.evidence)
                self._used(view)
            case events.TextGenerated():
                view.state = NodeState.REASONING
                if event.node_id == 0:
                    self.draft = event.text if self._answer_ended else self.draft + event.text
                    self._answer_ended = False
            case events.NodeJudged():
                if view.result is not None:
                    view.result = replace(view.result, outcome=event.outcome, reason=event.reason)
                    view.state = _ended(view)
            case events.NodeFinished():
                view.result, view.by_user = event, self._is_given(event)
                for item in view.evidence:
                    self._users[item].discard(view.node.id)
                view.evidence = list(dict.fromkeys(event.evidence))  # a file from elsewhere may name one twice
                self._used(view)
                view.state = _ended(view)

    def _end(self, trace: Trace) -> None:
        self.trace = trace
        self.running = False
        self.stage = ""
        self.seconds = trace.totals.seconds
        for view in self.unfinished:
            view.state = NodeState.STOPPED
        for node in trace.nodes:
            if node.id in self.nodes:
                self.nodes[node.id].plan_confidence = node.plan_confidence

    def _grow(self, event: NodeAdded) -> None:
        from atomr_local.tree.nodes import Node

        if event.parent in self.nodes and event.node_id not in self.nodes:
            node = Node(event.node_id, event.question)
            self.nodes[node.id] = NodeView(node, event.parent, event.label, resolved_question=node.question)

    def _tell_declined(self, declined: bool) -> None:
        for view in self.nodes.values():
            view.declined = declined and self._answers_as_the_root(view)

    def _answers_as_the_root(self, view: NodeView) -> bool:
        """Whether the step, which is not the root, gives the answers that the root gives, as answers are compared."""
        from atomr_local.language.names import answer_key

        root = self.nodes.get(0)
        if root is None or root.result is None or view is root or view.result is None:
            return False
        keys = [sorted(map(answer_key, result.answers)) for result in (root.result, view.result)]
        return bool(keys[0]) and keys[0] == keys[1]

    def _is_given(self, event: NodeFinished) -> bool:
        from atomr_local.reasoning.trace.schema import taken_from_step

        source = self.nodes.get(-1 if (step := taken_from_step(event.computation)) is None else step)
        return event.by_user or (bool(event.answers) and not event.cited and source is not None and source.by_user)

    def _used(self, view: NodeView) -> None:
        for item in view.evidence:
            self._users.setdefault(item, set()).add(view.node.id)


def _ended(view: NodeView) -> NodeState:
    event = view.result
    assert event is not None
    if event.error:
        return NodeState.DONE if event.answers else NodeState.FAILED
    if view.is_stage:
        return NodeState.DONE
    if event.outcome == "not found" or not (event.answers or event.outcome):
        return NodeState.UNKNOWN
    if view.by_user:
        return NodeState.GIVEN
    if event.kept:
        return NodeState.CACHED
    return {"computed": NodeState.COMPUTED, "memory": NodeState.MEMORY}.get(event.outcome or "", NodeState.DONE)


# What the screen must know of the strategies: which there are, and whose answers can be corrected.


# Whose steps can be kept as a worked process.
LEAVE_A_PROCESS = frozenset({"humaniq", "react"})
_LONGEST_NAME = 40  # characters; a trace from elsewhere may hold any


@dataclass(frozen=True)
class Offered:
    """A strategy that a question can be asked with."""

    name: str
    summary: str


def offered() -> list[Offered]:
    """Every strategy that can be used. It may load other packages: call it from a worker."""
    from atomr_local.strategies.registry import all_strategies

    return [Offered(item.name, item.summary) for item in all_strategies().values()]


@cache
def _revises(name: str) -> bool | None:
    from atomr_local.strategies.registry import find_strategy

    try:
        return find_strategy(name).revises
    except AtomrError:
        return None


def revises(name: str) -> bool:
    """Whether this strategy keeps what a correction does not touch; False for one that is not here."""
    return bool(_revises(name[: 2 * _LONGEST_NAME]))


def why_no_plan(name: str, *, grown: bool) -> str:
    """Why the steps of this strategy cannot be edited or run again.

    Args:
        grown: its steps follow one from the other.
    """
    said = sanitize_line(name[: 2 * _LONGEST_NAME])[:_LONGEST_NAME]
    if _revises(name[: 2 * _LONGEST_NAME]) is None:
        return f"The strategy {said} is not installed here: its steps cannot run again."
    return f"{said} answers {'step by step' if grown else 'in one step'} and has no plan to edit."
