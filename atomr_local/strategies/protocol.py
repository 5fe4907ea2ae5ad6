"""The protocol of strategies: answer a question with the given tools and emit events."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from atomr_local.backbone.protocol import Backbone
from atomr_local.backbone.templates import Style
from atomr_local.cancellation import Cancellation
from atomr_local.planning.planner import Planner
from atomr_local.reasoning.confidence.calibration import Calibration
from atomr_local.reasoning.conversation import Conversation
from atomr_local.reasoning.operators import Operators
from atomr_local.reasoning.reading.reader import Reader, SpanJudge
from atomr_local.reasoning.result_reuse import ResultCache
from atomr_local.reasoning.results import Result
from atomr_local.reasoning.retrieval import Retriever
from atomr_local.reasoning.revision import Revision
from atomr_local.reasoning.steps import Steps
from atomr_local.reasoning.trace.recorder import Recorder
from atomr_local.reasoning.trace.schema import PlanOrigin
from atomr_local.settings.schema import Settings
from atomr_local.sources.protocol import KnowledgeSource
from atomr_local.tree.nodes import Tree


@dataclass
class Toolbox:
    """Everything a strategy may use for one question.

    Attributes:
        revision: the user's corrections of an earlier answer, for a strategy that `revises`.
        earlier: the cache of the run that gave that answer; empty if it is not available.
        cache: receives the results of this run.
        conversation: the turns before this question.
        verifies: whether the model can verify its answers.
        span_reader: judges what the model reads; None if there is none.
    """

    backbone: Backbone
    sources: Mapping[str, KnowledgeSource]
    planner: Planner
    recorder: Recorder
    cancellation: Cancellation
    settings: Settings
    style: Style = "full"
    calibration: Calibration = field(default_factory=Calibration)
    revision: Revision | None = None
    earlier: ResultCache = field(default_factory=ResultCache)
    cache: ResultCache = field(default_factory=ResultCache)
    verifies: bool = False
    span_reader: SpanJudge | None = None
    conversation: Conversation = field(default_factory=Conversation)

    def __post_init__(self) -> None:
        features = self.settings.features
        self.reader = Reader(
            self.backbone,
            self.recorder,
            self.cancellation,
            self.settings,
            style=self.style,
            verify=features.verify and self.verifies,
            span_reader=self.span_reader if features.span_reader else None,
        )
        if self.revision is not None:
            self.cache.allowed = {
                node_id: frozenset(map(str, self.sources)).intersection(names)
                for node_id, names in self.revision.sources.items()
            }
        self.steps = Steps(self.recorder, self.cancellation)
        self.retriever = Retriever(
            self.sources,
            self.reader,
            self.recorder,
            self.cancellation,
            self.settings,
            dict(self.cache.allowed),
        )
        entity = self.conversation.entity if self.conversation.turns else None
        self.operators = Operators(self.retriever, self.reader, self.settings, entity)


class Strategy(Protocol):
    """A reasoning method. `summary` is one line for `atomr strategies`; `uses_sources` says whether it retrieves.

    `revises` says whether it executes plans and can keep the results that a revision does not affect.
    """

    name: str
    summary: str
    uses_sources: bool
    revises: bool

    def run(self, question: str, plan: Tree | None, origin: PlanOrigin, tools: Toolbox) -> Result:
        """Answer the question, emitting `PlanReady` first and events for every step.

        Args:
            plan: a plan to execute; strategies that do not plan refuse it.

        Raises:
            Cancelled: the question was cancelled.
            AtomrError: the whole question failed.
        """
        ...
