"""Plans in natural questions, for the strategies that do without operators."""

from __future__ import annotations

import math

from atomr_local.planning.line_logprobs import decompositions
from atomr_local.reasoning.trace.events import PlanReady
from atomr_local.reasoning.trace.schema import PlanOrigin
from atomr_local.strategies.protocol import Toolbox
from atomr_local.strategies.shared.plans import ask_planner, ready, rightly_spelt
from atomr_local.tree.compact import to_compact
from atomr_local.tree.natural import natural
from atomr_local.tree.nodes import Tree
from atomr_local.tree.renumbering import renumbered


def natural_plan(question: str, tools: Toolbox) -> PlanReady:
    """The planner's plan without operators, with how surely each question was decomposed."""
    made = ask_planner(question, tools)
    tree = natural(made.outline or made.tree)
    sure = decompositions(tree, made.lines)
    numbers = {node.id: number for number, node in enumerate(tree.nodes())}
    tree = renumbered(rightly_spelt(tree, made.tree, tools))
    return ready(made, tree, {numbers[node_id]: math.exp(logprob) for node_id, logprob in sure.items()})


def given_plan(plan: Tree, origin: PlanOrigin, tools: Toolbox) -> PlanReady:
    """A plan of the user's, or the one of an answer that is corrected."""
    corrections = tools.revision
    tree = natural(plan, corrections.named if corrections is not None else ())
    compact = to_compact(tree, with_root=True)
    same = corrections is not None and corrections.base.plan.compact == compact
    known = {node.id: node.plan_confidence for node in corrections.base.nodes} if corrections and same else {}
    confidences = {node_id: share for node_id, share in known.items() if share is not None}
    return PlanReady(tree=tree, compact=compact, origin=origin, attempts=0, confidences=confidences)
