"""Runs of strategies that take plans, on fakes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from atomr_local.reasoning.ranking import Ranking
from atomr_local.reasoning.results import Result
from atomr_local.reasoning.revision import Revision
from atomr_local.reasoning.trace.schema import PlanOrigin, Trace
from atomr_local.strategies.protocol import QuestionContext
from atomr_local.strategies.registry import find_strategy
from atomr_local.tree.compact import parse_compact
from atomr_local.tree.nodes import Tree
from support.fake_parts import FakeBackbone, FakeSource, toolbox

Planned = tuple[Result, Trace, QuestionContext, FakeBackbone]


def planned_runs(strategy: str, usual_question: str, usual_plan: str, **usual: Any) -> Callable[..., Planned]:
    """A function that answers the question by the plan, or others; `usual`: options where nothing else is given."""

    def run(
        replies: Sequence[Any],
        *sources: FakeSource,
        plan: str | Tree | None = usual_plan,
        question: str = usual_question,
        origin: PlanOrigin = "file",
        settings: dict[str, Any] | None = None,
        revision: Revision | None = None,
        earlier: QuestionContext | None = None,
        ranking: Ranking | None = None,
        **options: Any,
    ) -> Planned:
        """Answer the question by the plan; without one the model writes it. Every reply must be asked for.

        Args:
            earlier: the tools of the run whose answer `revision` corrects.
            options: of the strategy.
        """
        backbone, found = FakeBackbone(*replies), find_strategy(strategy)
        given = {"llm": {"parallel": 1}} | (settings or {})
        chosen = found.options(**usual | options)
        tools = toolbox(question, backbone, *sources, options=chosen, ranking=ranking, **given)
        tools.revision = revision
        if earlier is not None:
            tools.earlier = earlier.cache
        tree = parse_compact(plan, question) if isinstance(plan, str) else plan
        result = found.run(question, tree, origin if plan else "model", tools)
        assert not backbone.replies, "the model was asked less often than expected"
        return result, tools.recorder.trace, tools, backbone

    return run
