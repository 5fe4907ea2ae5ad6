"""Plans as RoHT has them: a hierarchical tree of questions, with how surely the planner wrote it (p_g)."""

from __future__ import annotations

from atomr_local.reasoning.trace.events import PlanReady
from atomr_local.reasoning.trace.schema import PlanOrigin
from atomr_local.strategies.protocol import Toolbox
from atomr_local.strategies.shared.plans import ask_planner, ready, rightly_spelt
from atomr_local.tree.compact import to_compact
from atomr_local.tree.hierarchy import flattened, with_parents, without_searches
from atomr_local.tree.nodes import ROOT_ID, Tree
from atomr_local.tree.renumbering import renumbered
from atomr_local.tree.validation import validate


def hierarchical_plan(question: str, tools: Toolbox, *, flat: bool) -> PlanReady:
    """The planner's plan as a hierarchical tree; `flat`: its leaves alone."""
    made = ask_planner(question, tools)
    tree = rightly_spelt(without_searches(made.outline or made.tree), made.tree, tools)
    tree = renumbered(_arranged(tree, tools, flat))
    return ready(made, tree, _sureness(tree, made.confidence if made.origin == "model" else 1.0))


def given_hierarchy(plan: Tree, origin: PlanOrigin, tools: Toolbox, *, flat: bool) -> PlanReady:
    """A plan of the user's, or the one of an answer that is corrected; steps keep their numbers."""
    corrections = tools.revision
    tree = without_searches(plan, corrections.named if corrections is not None else ())
    tree = _arranged(tree, tools, flat)
    compact = to_compact(tree, with_root=True)
    base = corrections.base if corrections is not None else None
    sure: float | None = 1.0
    if base is not None and base.plan.compact == compact:
        sure = next((node.plan_confidence for node in base.nodes if node.id != ROOT_ID), None)
    return PlanReady(tree=tree, compact=compact, origin=origin, attempts=0, confidences=_sureness(tree, sure))


def _arranged(tree: Tree, tools: Toolbox, flat: bool) -> Tree:
    if flat:
        return flattened(tree)
    whole = with_parents(tree)
    return tree if any(problem.fatal for problem in validate(whole, tools.planner.limits)) else whole


def _sureness(tree: Tree, sure: float | None) -> dict[int, float]:
    """p_g by node: certain for the question itself; the decomposition's for every other (its wording is given)."""
    if sure is None:
        return {ROOT_ID: 1.0}
    return {node.id: 1.0 if node.id == ROOT_ID else sure for node in tree.nodes()}
