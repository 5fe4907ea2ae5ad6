"""The state of one question on the screen: the sum of its events. Widgets hold none of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache
from typing import TYPE_CHECKING

from atomr_local.errors import AtomrError
from atomr_local.reasoning.trace.schema import NodeTrace, Trace
from atomr_local.sources.protocol import Evidence
from atomr_local.system.sanitize import sanitize_line
from atomr_local.tree.nodes import Node, Tree

if TYPE_CHECKING:
    from atomr_local.reasoning.trace.events import Event, ModelCalled


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
        node: as the plan has it.
        step: as the record has it.
        parent: id of the node that it stands below; None for the root.
        label: what a step that no plan has is to its method.
        ended: whether the step has a result, or none of its own.
        kept: whether the result was kept from an earlier answer.
        declined: whether the whole question was declined with this step's answer, however sure the step is.
    """

    node: Node
    step: NodeTrace
    parent: int | None = None
    label: str = ""
    state: NodeState = NodeState.WAITING
    source_reason: str = ""
    ended: bool = False
    kept: bool = False
    declined: bool = False
    by_user: bool = False  # the user gave the answer, to this step or to the one that it is taken from as it is
    calls: list[ModelCalled] = field(default_factory=list)

    @property
    def result(self) -> NodeTrace | None:
        """The record of the step once it has ended."""
        return self.step if self.ended else None

    @property
    def is_stage(self) -> bool:
        """Whether the step has ended as it should without an answer of its own."""
        from atomr_local.reasoning.trace.telling import is_stage

        return self.ended and is_stage(self.step, self.label, self.node.question)


@dataclass
class QuestionState:
    """One question from asking to its end: its record, and what the screen knows beside it.

    Attributes:
        record: what its events add up to so far.
        trace: the record of the recorder, once the question has ended.
        tree: the plan; `nodes` may hold steps that it has not.
        meant: the question as the conversation or the user says that it is meant, before a plan was read from it.
        answered: whether the record has the answer, or why there is none.
        draft: what the model writes of the answer; unchecked.
        guess_key: the key that shows the guess.
        guess_shown: whether the user asked for the guess of a question that was declined.
        web_key: the key that turns web search on.
        replayed: whether the question was opened from the history: prompts were not kept.
    """

    record: Trace = field(default_factory=lambda: Trace("", "", {}))
    trace: Trace | None = None
    tree: Tree | None = None
    meant: str = ""
    nodes: dict[int, NodeView] = field(default_factory=dict)
    answered: bool = False
    running: bool = False
    stage: str = ""
    plan_text: str = ""
    draft: str = ""
    generation_seconds: float = 0.0
    seconds: float | None = None
    guess_key: str = "g"
    guess_shown: bool = False
    web_key: str = "f2"
    planning: list[ModelCalled] = field(default_factory=list)
    replayed: bool = False
    _answer_ended: bool = False  # what the next call writes takes the place of the draft: it is another text
    _draft_ended: bool = False  # a plan that is started again takes the place of the rejected one

    @property
    def answer(self) -> Trace | None:
        """The record once it has the answer."""
        return self.record if self.answered else None

    @property
    def evidence(self) -> dict[str, Evidence]:
        """The pieces that were found, by their ids."""
        return {item.id: item for item in self.record.evidence}

    @property
    def web(self) -> bool:
        """Whether the web may be searched."""
        return bool(self.record.settings.get("web"))

    @property
    def plan_failed(self) -> bool:
        """Whether no plan could be used; a strategy that makes no plan tries none."""
        return self.record.plan.origin == "fallback" and self.record.plan.attempts > 0

    @property
    def can_correct(self) -> bool:
        """Whether the question has ended with a plan whose steps can be edited and run again."""
        planned = self.trace is not None and self.tree is not None and self.record.plan.origin != "steps"
        return planned and revises(self.record.strategy)

    @property
    def tokens_per_second(self) -> float | None:
        """What the model wrote, over the time that its calls took; None before the first call has ended."""
        written = self.record.totals.generated_tokens
        return written / self.generation_seconds if self.generation_seconds > 0 else None

    @property
    def citations(self) -> list[str]:
        """The ids of the pieces that the answer cites, or the guess where that is shown."""
        root = self.nodes.get(0)
        if root is None or root.result is None or self.answer is None:
            return []
        if self.answer.status != "answered" and not self.guess_shown:
            return []
        known = self.evidence
        return [item for item in root.result.cited if item in known]

    @property
    def has_guess(self) -> bool:
        """Whether the question was declined and there is a guess all the same."""
        answer = self.answer
        return answer is not None and answer.status == "unknown" and answer.guess is not None

    def rank_of(self, evidence_id: str) -> int:
        """The place of a piece among all that its source found for the same query, from 1."""
        known = self.evidence
        item = known[evidence_id]
        alike = (one for one in known.values() if (one.source, one.query) == (item.source, item.query))
        return 1 + sum(one.score > item.score for one in alike)

    @property
    def users(self) -> dict[str, list[int]]:
        """For each piece the nodes whose evidence holds it, in the order of their numbers."""
        users = {name: list[int]() for name in self.evidence}
        for number, view in sorted(self.nodes.items()):
            for name in dict.fromkeys(view.step.evidence):
                users.setdefault(name, []).append(number)
        return users

    def apply(self, event: Event) -> None:
        from atomr_local.reasoning.trace import events, recorder  # there by then; the first frame does not wait for it

        view = self.nodes.get(getattr(event, "node_id", -1))
        if not self._fits(event, view):
            return
        recorder.apply(self.record, event)
        if view is not None:
            self._show(view, event)
            return
        match event:
            case events.QuestionAsked():
                self.running = True
            case events.StageChanged():
                self.stage = event.stage
            case events.PlanFragment():
                self.plan_text = event.text if self._draft_ended else self.plan_text + event.text
                self._draft_ended = False
            case events.QuestionUnderstood():
                self.meant = event.understood_as
            case events.PlanReady():
                self.tree, self.nodes = event.tree, {}
                for node, step in zip(event.tree.nodes(), self.record.nodes, strict=True):
                    self.add(node, step.parent, step)
            case events.NodeAdded():
                self.add(Node(event.node_id, event.question), event.parent, self.record.nodes[-1], event.label)
            case events.ModelCalled():
                self._called(event, self.planning)
            case events.AnswerReady():
                self.take_answer()
            case events.Finished():
                self.finish(event.trace)

    def _fits(self, event: Event, view: NodeView | None) -> bool:
        """Whether it is about the whole question, or about a step that is shown or that comes below one."""
        from atomr_local.reasoning.trace import events

        if isinstance(event, events.NodeAdded):
            return view is None and event.parent in self.nodes
        of_step = getattr(event, "node_id", None) is not None and not isinstance(event, events.ModelCalled)
        return view is not None or not of_step

    def _show(self, view: NodeView, event: Event) -> None:
        """Show what an event tells of a step."""
        from atomr_local.reasoning.trace import events

        match event:
            case events.ModelCalled():
                self._called(event, view.calls)
            case events.NodeStarted() | events.EvidenceFound():
                view.state = NodeState.REASONING
            case events.SourcesSelected():
                view.source_reason = event.reason
            case events.RetrievalStarted():
                view.state = NodeState.RETRIEVING
            case events.TextGenerated():
                view.state = NodeState.REASONING
                if event.node_id == 0:
                    self.draft = event.text if self._answer_ended else self.draft + event.text
                    self._answer_ended = False
            case events.NodeFinished():
                view.kept = event.kept
                self.end(view)
            case events.NodeJudged() if view.ended:
                self.end(view)

    def _called(self, event: ModelCalled, calls: list[ModelCalled]) -> None:
        self._draft_ended = True
        self._answer_ended = self._answer_ended or event.node_id == 0
        self.generation_seconds += event.completion.seconds
        calls.append(event)

    def add(self, node: Node, parent: int | None, step: NodeTrace, label: str = "") -> None:
        """Show a node of the plan, or a step that no plan has."""
        self.nodes[node.id] = NodeView(node, step, parent, label)

    def end(self, view: NodeView) -> None:
        """Show the step as ended, as its record has it."""
        view.ended, view.by_user = True, self.record.is_given(view.step)
        view.state = _ended(view)

    def take_answer(self) -> None:
        """Show the record's answer; mark the steps that give the answer with which the question was declined."""
        self.answered = True
        for view in self.nodes.values():
            view.declined = self.record.status == "unknown" and self._answers_as_the_root(view)

    def finish(self, trace: Trace) -> None:
        """Show that the question has ended with this trace; steps without a result have got none."""
        self.trace, self.running, self.stage, self.seconds = trace, False, "", trace.totals.seconds
        for view in self.nodes.values():
            if not view.ended:
                view.state = NodeState.STOPPED

    def _answers_as_the_root(self, view: NodeView) -> bool:
        """Whether the step, which is not the root, gives the answers that the root gives, as answers are compared."""
        from atomr_local.language.names import answer_key

        root = self.nodes.get(0)
        if root is None or root.result is None or view is root or view.result is None:
            return False
        keys = [sorted(map(answer_key, result.answers)) for result in (root.result, view.result)]
        return bool(keys[0]) and keys[0] == keys[1]


def _ended(view: NodeView) -> NodeState:
    step = view.step
    if step.error:
        return NodeState.DONE if step.answers else NodeState.FAILED
    if view.is_stage:
        return NodeState.DONE
    if step.outcome == "not found" or not (step.answers or step.outcome):
        return NodeState.UNKNOWN
    if view.by_user:
        return NodeState.GIVEN
    if view.kept:
        return NodeState.CACHED
    return {"computed": NodeState.COMPUTED, "memory": NodeState.MEMORY}.get(step.outcome or "", NodeState.DONE)


# What the screen must know of the strategies: which there are, and whose answers can be corrected.

# Whose steps can be kept as a worked process.
LEAVE_A_PROCESS = frozenset({"humaniq", "react"})
_LONGEST_NAME = 40  # characters; a trace from elsewhere may hold any


def offered() -> dict[str, str]:
    """What every strategy that can be used does. It may load other packages: call it from a worker."""
    from atomr_local.strategies.registry import all_strategies

    return {name: strategy.summary for name, strategy in all_strategies().items()}


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
