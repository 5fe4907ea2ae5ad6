"""The steps of one question: a node's beginning, its time, its failure and its end are told here and nowhere else.

A strategy with a plan runs the plan's nodes. A strategy that finds its next step by answering the last one adds nodes
while it runs.
"""

from __future__ import annotations

import threading
import time
from types import TracebackType
from typing import Self

from atomr_local.errors import AtomrError, Cancelled
from atomr_local.reasoning.results import Result, citations_hold
from atomr_local.reasoning.trace import take_over
from atomr_local.reasoning.trace.events import NodeAdded, NodeFinished, NodeStarted, PlanReady, StageChanged
from atomr_local.reasoning.trace.recorder import Recorder
from atomr_local.reasoning.trace.schema import NodeTrace
from atomr_local.system.cancellation import Cancellation
from atomr_local.tree.nodes import ROOT_ID, Node, Tree


class Steps:
    """Runs and adds the steps of one question. Thread-safe."""

    def __init__(self, recorder: Recorder, cancellation: Cancellation) -> None:
        self.recorder = recorder
        self.cancellation = cancellation
        self._lock = threading.Lock()
        self._last = ROOT_ID

    def begin(self, question: str) -> None:
        """Begin without a plan: the tree is the root, and :meth:`open` adds to it."""
        self.begin_tree(PlanReady(tree=Tree(Node(ROOT_ID, question)), compact="", origin="steps", attempts=0))

    def begin_tree(self, ready: PlanReady) -> None:
        """Begin with this plan."""
        self._last = max(node.id for node in ready.tree.nodes())
        self.recorder.emit(ready)
        self.recorder.emit(StageChanged(stage="reasoning"))

    def open(self, question: str, parent: int = ROOT_ID, label: str = "") -> Step:
        """A new step below `parent`, to be entered once. Ids follow the order of the calls and are never used twice.

        Args:
            label: what the step is to its method, such as "follow-up".

        Raises:
            KeyError: there is no step `parent`.
        """
        with self._lock:
            self._last += 1
            node_id = self._last
        self.recorder.emit(NodeAdded(node_id=node_id, parent=parent, question=question, label=label))
        return self.planned(node_id, question)

    def planned(self, node_id: int, question: str) -> Step:
        """A node of the plan; `question` has its references replaced by answers."""
        return Step(self, node_id, question)

    def root(self, question: str) -> Step:
        """The step that gives the answer to the whole question."""
        return self.planned(ROOT_ID, question)

    def report(self, node_id: int, result: Result, seconds: float, *, as_in: NodeTrace | None = None) -> None:
        """Tell a node's result; again if it has changed afterwards.

        Args:
            seconds: the node's wall-clock time.
            as_in: the node of an earlier trace whose result is kept.
        """
        finished = NodeFinished(node_id=node_id)
        take_over(result, finished)
        finished.signals = result.signals  # shared: some methods go on measuring after a step has ended
        finished.answers = list(result.texts)
        finished.evidence = list(dict.fromkeys(item.id for item in result.evidence))
        finished.supported = as_in.supported if as_in is not None else citations_hold(result)
        finished.seconds, finished.llm = round(seconds, 3), self.recorder.use_of(node_id)
        if as_in is not None:
            finished.reason, finished.scores, finished.kept = as_in.reason, list(as_in.scores), True
        self.recorder.emit(finished)


class Step:
    """One step; a context manager. Set `result` inside it: what it holds at the end is the step's result.

    An :class:`AtomrError` inside becomes the step's error: it fails alone, and its parent may still find another way.
    The root's error is reported and raised again.

    Attributes:
        id: number of the node.
        question: with references replaced by answers.
        result: empty (Unknown) until it is set.
    """

    def __init__(self, steps: Steps, node_id: int, question: str) -> None:
        self.id = node_id
        self.question = question
        self.result = Result()
        self._steps = steps
        self._started = 0.0

    def begin(self) -> None:
        """Tell its beginning, as entering it does."""
        self._steps.cancellation.check()
        self._steps.recorder.emit(NodeStarted(node_id=self.id, resolved_question=self.question))
        self._started = time.perf_counter()

    def __enter__(self) -> Self:
        self.begin()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        if isinstance(error, Cancelled) or not (error is None or isinstance(error, AtomrError)):
            return False
        if error is not None:
            self.result = Result(
                evidence=self._steps.recorder.evidence_of(self.id),
                error={"title": error.title, "message": error.message},
                thought=self.result.thought,
                action=self.result.action,
            )
        self._steps.report(self.id, self.result, time.perf_counter() - self._started)
        return error is not None and self.id != ROOT_ID
