"""Asks the planner for a plan, for the strategies that run plans."""

from __future__ import annotations

from atomr_local.backbone.protocol import Generation, Prompt
from atomr_local.language.definitions import defined_topic
from atomr_local.planning.planner import PlanningResult
from atomr_local.planning.spelling import Respelt, respelt, spelt
from atomr_local.reasoning.asking.asking import shown_prompt
from atomr_local.reasoning.trace.events import ModelCalled, PlanFragment, PlanReady, StageChanged, WarningRaised
from atomr_local.strategies.protocol import Toolbox
from atomr_local.tree.answer_types import AnswerType, Expects
from atomr_local.tree.compact import to_compact
from atomr_local.tree.nodes import ROOT_ID, Node, Tree

_WITHHELD = "The plan that you kept for this question is not used: it may quote a private index that is not asked"


def ask_planner(question: str, tools: Toolbox) -> PlanningResult:
    """Have the question decomposed, and emit what the planner writes."""
    recorder = tools.recorder
    recorder.emit(StageChanged(stage="planning"))
    if tools.planner.examples.withholds(question):
        recorder.emit(WarningRaised(message=_WITHHELD))

    def on_call(prompt: Prompt, completion: Generation) -> None:
        tools.asking.count_call()
        recorder.emit(ModelCalled(node_id=None, purpose="plan", prompt=shown_prompt(prompt), completion=completion))

    return tools.planner.plan(
        question,
        on_text=lambda text: recorder.emit(PlanFragment(text=text)),
        on_call=on_call,
        cancellation=tools.cancellation,
    )


def make_plan(question: str, tools: Toolbox) -> PlanReady:
    """The plan of :func:`ask_planner` with its names rightly spelt.

    Who or what something is needs no steps, and no model, where a local source has a page of that name: the page's
    opening answers it.
    """
    topic = defined_topic(question)
    if topic and tools.planner.examples.kept(question) is None and tools.retriever.has_page(topic):
        tree = Tree(Node(ROOT_ID, question, expects=Expects(AnswerType.SUMMARY)))
        return PlanReady(tree=tree, compact=to_compact(tree, with_root=True), origin="rule", attempts=0)
    plan = ask_planner(question, tools)
    tree = rightly_spelt(plan.tree, plan.tree, tools)
    return ready(plan, tree)


def ready(plan: PlanningResult, tree: Tree, confidences: dict[int, float] | None = None) -> PlanReady:
    """The event for the plan, with this tree made of it.

    Args:
        confidences: by node, how surely the model wrote what is below it, 0 to 1.
    """
    return PlanReady(
        tree=tree,
        compact=to_compact(tree, with_root=True),
        origin=plan.origin,
        attempts=plan.attempts,
        problems=plan.problems,
        confidence=plan.confidence,
        confidences=confidences or {},
    )


def rightly_spelt(tree: Tree, plan: Tree, tools: Toolbox) -> Tree:
    """The tree with the names that the plan looks up as typed, unless the local sources know only the plan's spelling.

    Raises:
        Cancelled: the question was cancelled.
    """
    return spelt(tree, [name for name in respelt(plan) if not _put_right(name, tools)])


def _put_right(name: Respelt, tools: Toolbox) -> bool:
    """Whether the model corrected the name: the sources know its spelling and not the typed one."""
    return not tools.retriever.known(name.typed) and tools.retriever.known(name.written)
