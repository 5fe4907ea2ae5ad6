"""The strategy `atomr`: plans an atomic reasoning tree and executes it bottom-up."""

from __future__ import annotations

from dataclasses import replace

from atomr_local.backbone.protocol import Generation, Prompt
from atomr_local.planning.coverage import left_out
from atomr_local.planning.spelling import Respelt, respelt, spelt
from atomr_local.reasoning.answer_selection.selection import AnswerSelection
from atomr_local.reasoning.asking.asking import shown_prompt
from atomr_local.reasoning.executor import Executor
from atomr_local.reasoning.result_reuse import ReusedResults
from atomr_local.reasoning.results import Result
from atomr_local.reasoning.trace.events import ModelCalled, PlanFragment, PlanReady, StageChanged, WarningRaised
from atomr_local.reasoning.trace.schema import PlanOrigin
from atomr_local.reasoning.verdict.unmentioned_years import unmentioned_years
from atomr_local.strategies.options import NoOptions, StrategyOptions
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


def make_plan(question: str, tools: Toolbox) -> PlanReady:
    """Ask the planner and emit what it writes."""
    recorder = tools.recorder
    recorder.emit(StageChanged(stage="planning"))

    def on_call(prompt: Prompt, completion: Generation) -> None:
        tools.asking.count_call()
        recorder.emit(ModelCalled(node_id=None, purpose="plan", prompt=shown_prompt(prompt), completion=completion))

    plan = tools.planner.plan(
        question,
        on_text=lambda text: recorder.emit(PlanFragment(text=text)),
        on_call=on_call,
        cancellation=tools.cancellation,
    )
    tree = rightly_spelt(plan.tree, tools)
    return PlanReady(
        tree=tree,
        compact=to_compact(tree, with_root=True),
        origin=plan.origin,
        attempts=plan.attempts,
        problems=plan.problems,
        confidence=plan.confidence,
    )


def rightly_spelt(tree: Tree, tools: Toolbox) -> Tree:
    """The tree with names as typed, unless the local sources know only the plan's spelling.

    Raises:
        Cancelled: the question was cancelled.
    """
    return spelt(tree, [name for name in respelt(tree) if not _put_right(name, tools)])


def _put_right(name: Respelt, tools: Toolbox) -> bool:
    """Whether the model corrected the name: the sources know its spelling and not the typed one."""
    return not tools.retriever.known(name.typed) and tools.retriever.known(name.written)
