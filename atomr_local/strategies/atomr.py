"""The strategy `atomr`: plans an atomic reasoning tree and executes it bottom-up."""

from __future__ import annotations

from dataclasses import replace

from atomr_local.planning.coverage import left_out
from atomr_local.reasoning.answer_selection.selection import AnswerSelection
from atomr_local.reasoning.executor import Executor
from atomr_local.reasoning.result_reuse import ReusedResults
from atomr_local.reasoning.results import Result
from atomr_local.reasoning.trace.events import PlanReady, WarningRaised
from atomr_local.reasoning.trace.schema import PlanOrigin
from atomr_local.reasoning.verdict.unmentioned_years import unmentioned_years
from atomr_local.strategies.options import NoOptions, StrategyOptions
from atomr_local.strategies.plans import make_plan
from atomr_local.strategies.protocol import Need, Toolbox
from atomr_local.tree.compact import to_compact
from atomr_local.tree.nodes import Tree


class AtomR:
    name = "atomr"
    summary = "plan a tree of atomic operations and answer it bottom-up (the default)"
    paper = "AtomR: Atomic Operator-Empowered Large Language Models for Heterogeneous Knowledge Reasoning, KDD 2025"
    needs: frozenset[Need] = frozenset()
    options: type[StrategyOptions] = NoOptions
    uses_sources = True
    revises = True
    takes_plans = True

    def run(self, question: str, plan: Tree | None, origin: PlanOrigin, tools: Toolbox) -> Result:
        if plan is None:
            ready = make_plan(question, tools)
        else:
            ready = PlanReady(tree=plan, compact=to_compact(plan, with_root=True), origin=origin, attempts=0)
        features = tools.settings.features
        left = left_out(ready.tree, question) if features.judge_plans and ready.origin == "model" else ()
        if left:
            ready = replace(ready, problems=(*ready.problems, f"left out: {', '.join(left)}"))
        tools.steps.begin_tree(ready)
        if left:
            tools.recorder.emit(WarningRaised(message=f"the plan leaves out {', '.join(left)}"))
        reused = None
        if tools.revision is not None:
            reused = ReusedResults(ready.tree, tools.revision, tools.earlier, tools.retriever.names)
        selection = AnswerSelection(
            tools.operators,
            tools.reader,
            tools.calibration,
            direct=features.rival and bool(tools.retriever.names),
            guess=features.guess,
            corrected=reused is not None and reused.corrected,
        )
        executor = Executor(
            ready.tree,
            tools.operators,
            tools.reader,
            tools.recorder,
            tools.steps,
            selection,
            tools.settings,
            reused,
            tools.cache,
        )
        result = executor.execute()
        years = unmentioned_years(tools.recorder.trace) if features.judge_plans and result.values else ()
        if years:
            tools.recorder.emit(WarningRaised(message=f"the evidence does not mention {', '.join(years)}"))
        return result
