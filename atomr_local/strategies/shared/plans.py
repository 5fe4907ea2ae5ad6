"""Asks the planner for a plan, for the strategies that run plans."""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass, field, replace
from typing import Any, Generic, TypeVar

from atomr_local.language.names import name_key
from atomr_local.language.question_kind import defined_topic
from atomr_local.models.protocol import Generation, Prompt
from atomr_local.reasoning.asking.asking import shown_prompt
from atomr_local.reasoning.conversation import answering_both, two_questions
from atomr_local.reasoning.planning.coverage import respelt, spelt
from atomr_local.reasoning.planning.planner import PlanningResult, decompositions
from atomr_local.reasoning.results import Result, fill_question
from atomr_local.reasoning.revision import ReusedResults
from atomr_local.reasoning.steps import Step
from atomr_local.reasoning.trace.events import ModelCalled, PlanFragment, PlanReady, StageChanged, WarningRaised
from atomr_local.reasoning.trace.schema import PlanOrigin, Trace
from atomr_local.strategies.options import StrategyOptions
from atomr_local.strategies.protocol import QuestionContext, Strategy
from atomr_local.strategies.shared.closing import CALLS_USED
from atomr_local.tree.calls import AnswerType, Expects
from atomr_local.tree.compact import to_compact
from atomr_local.tree.natural import flattened, natural, with_parents, without_searches
from atomr_local.tree.nodes import ROOT_ID, Node, Tree, renumbered
from atomr_local.tree.validation import validate

_WITHHELD = "The plan that you kept for this question is not used: it may quote a private index that is not asked"


def ask_planner(question: str, tools: QuestionContext) -> PlanningResult:
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


def make_plan(question: str, tools: QuestionContext) -> PlanReady:
    """The plan by rule, else that of :func:`ask_planner` with its names rightly spelt."""
    return rule_plan(question, tools) or planned(question, tools)


def rule_plan(question: str, tools: QuestionContext) -> PlanReady | None:
    """The plan of a question that needs no steps, and no model, to be planned; None of any other.

    Who or what something is needs none where a local source has a page of that name: the page's opening answers it. Nor
    does what is asked of all documents together.
    """
    if tools.planner.examples.kept(question) is not None:
        return None
    if tools.collection is not None and tools.collection.takes(question):
        return plan_ready(Tree(Node(ROOT_ID, question)), "rule")
    topic = defined_topic(question)
    if topic and tools.retriever.has_page(topic):
        return plan_ready(Tree(Node(ROOT_ID, question, expects=Expects(AnswerType.SUMMARY))), "rule")
    return None


def planned(question: str, tools: QuestionContext) -> PlanReady:
    """The plan of :func:`ask_planner` with its names rightly spelt; of two questions at once, the plans of both."""
    if (both := two_questions(question)) and tools.planner.examples.kept(question) is None:
        made = [make_plan(part, tools) for part in both]
        tree = answering_both(question, [(part, one.tree) for part, one in zip(both, made, strict=True)])
        if not any(problem.fatal for problem in validate(tree, tools.planner.limits)):
            problems = tuple(problem for one in made for problem in one.problems)
            attempts = sum(one.attempts for one in made)
            return plan_ready(tree, "rule", attempts=attempts, problems=problems)
    plan = ask_planner(question, tools)
    tree = rightly_spelt(plan.tree, plan.tree, tools)
    return _of_planner(plan, tree)


def plan_ready(tree: Tree, origin: PlanOrigin, attempts: int = 0, **known: Any) -> PlanReady:
    """The event for a plan; `known`: its other fields."""
    return PlanReady(tree=tree, compact=to_compact(tree, with_root=True), origin=origin, attempts=attempts, **known)


def _of_planner(made: PlanningResult, tree: Tree, confidences: dict[int, float] | None = None) -> PlanReady:
    """The event for the planner's plan, with this tree made of it.

    Args:
        confidences: by node, how surely the model wrote what is below it, 0 to 1.
    """
    return plan_ready(
        tree,
        made.origin,
        attempts=made.attempts,
        problems=made.problems,
        confidence=made.confidence,
        confidences=confidences or {},
    )


def rightly_spelt(tree: Tree, plan: Tree, tools: QuestionContext) -> Tree:
    """The tree with the names that the plan looks up as typed, unless the local sources know only the plan's
    spelling."""
    known = tools.retriever.known
    return spelt(tree, [name for name in respelt(plan) if known(name.typed) or not known(name.written)])


# Trees of questions, for the strategies that walk through one.


def hierarchical_plan(
    question: str, plan: Tree | None, origin: PlanOrigin, tools: QuestionContext, *, flat: bool
) -> PlanReady:
    """A hierarchical tree of questions as RoHT has them, with how surely the planner wrote it (p_g).

    Args:
        plan: the user's, or the one of an answer that is corrected: steps keep their numbers. None: the planner's.
        flat: the tree's leaves alone.
    """
    if plan is not None:
        tree = _arranged(without_searches(plan, _named(tools)), tools, flat)
        base = _corrected(tree, tools)
        sure = 1.0 if base is None else next((one.plan_confidence for one in base.nodes if one.id != ROOT_ID), None)
        return plan_ready(tree, origin, confidences=_sureness(tree, sure))
    made = ask_planner(question, tools)
    tree = rightly_spelt(without_searches(made.outline or made.tree), made.tree, tools)
    tree = renumbered(_arranged(tree, tools, flat))
    return _of_planner(made, tree, _sureness(tree, made.confidence if made.origin == "model" else 1.0))


def _arranged(tree: Tree, tools: QuestionContext, flat: bool) -> Tree:
    if flat:
        return flattened(tree)
    whole = with_parents(tree)
    return tree if any(problem.fatal for problem in validate(whole, tools.planner.limits)) else whole


def _sureness(tree: Tree, sure: float | None) -> dict[int, float]:
    """p_g by node: certain for the question itself; the decomposition's for every other (its wording is given)."""
    if sure is None:
        return {ROOT_ID: 1.0}
    return {node.id: 1.0 if node.id == ROOT_ID else sure for node in tree.nodes()}


def natural_plan(question: str, plan: Tree | None, origin: PlanOrigin, tools: QuestionContext) -> PlanReady:
    """A tree of questions without operators, with how surely each was decomposed; `plan`: see
    :func:`hierarchical_plan`."""
    if plan is not None:
        tree = natural(plan, _named(tools))
        base = _corrected(tree, tools)
        known = {node.id: node.plan_confidence for node in base.nodes} if base is not None else {}
        confidences = {node_id: share for node_id, share in known.items() if share is not None}
        return plan_ready(tree, origin, confidences=confidences)
    made = ask_planner(question, tools)
    tree = natural(made.outline or made.tree)
    sure = decompositions(tree, made.lines)
    numbers = {node.id: number for number, node in enumerate(tree.nodes())}
    tree = renumbered(rightly_spelt(tree, made.tree, tools))
    return _of_planner(made, tree, {numbers[node_id]: math.exp(logprob) for node_id, logprob in sure.items()})


def _named(tools: QuestionContext) -> Collection[int]:
    """The steps that the user corrects."""
    return tools.revision.named if tools.revision is not None else ()


def _corrected(tree: Tree, tools: QuestionContext) -> Trace | None:
    """The trace of the answer that is corrected, if this is its plan."""
    base = tools.revision.base if tools.revision is not None else None
    return base if base is not None and base.plan.compact == to_compact(tree, with_root=True) else None


Options = TypeVar("Options", bound=StrategyOptions)


@dataclass(eq=False)
class TreeWalk(Generic[Options]):
    """Answers the questions of one tree in post-order, with corrections and repeated questions.

    Attributes:
        results: by node, what was found so far.
        asked: by node, its question with references replaced by answers.
    """

    question: str
    planned: PlanReady
    tools: QuestionContext
    options: Options
    asked: dict[int, str] = field(default_factory=dict, init=False)

    @property
    def tree(self) -> Tree:
        return self.planned.tree

    @property
    def results(self) -> dict[int, Result]:
        return self.tools.cache.results

    def step_result(self, node: Node, step: Step) -> Result:
        """The result of a step that is not kept from an earlier run and has no answer of the user's."""
        raise NotImplementedError

    def root_result(self, node: Node, step: Step) -> Result:
        """The answer to the whole question; a few calls over the limit are left for it."""
        raise NotImplementedError

    def run(self) -> Result:
        """The root's result."""
        tools, root = self.tools, self.tree.root
        reused = None
        if tools.revision is not None:
            reused = ReusedResults(self.tree, tools.revision, tools.earlier, tools.retriever.names)
            reused.report(self.tree, tools.cache, tools.recorder, tools.steps)
        for node in self.tree.bottom_up():
            asked = self.question if node is root else fill_question(self.tree, node.question, self.results)
            self.asked[node.id] = asked
            if node.id in self.results:
                continue
            with tools.steps.planned(node.id, asked) as step:
                given = reused.given(node.id) if reused is not None else None
                step.result = given or (self._root(step) if node is root else self.step_result(node, step))
            self.results[node.id] = step.result
        return self.results[root.id]

    def _root(self, step: Step) -> Result:
        limited = not self.tools.asking.calls_left
        with self.tools.asking.concluding():
            result = self.root_result(self.tree.root, step)
        if limited:
            result.dropped.insert(0, CALLS_USED)
        return result

    def asked_before(self, node: Node) -> Result | None:
        """The result of an earlier step that asked the same, unless the step itself is corrected."""
        if self.tools.revision is not None and node.id in self.tools.revision.named:
            return None
        key = name_key(self.asked[node.id])
        for node_id, result in self.results.items():
            if name_key(self.asked.get(node_id, "")) == key:
                return replace(result, dropped=[*result.dropped, f"step {node_id} asked the same"])
        return None

    def corrected(self, node: Node) -> bool:
        """Whether an answer below is the user's."""
        return any(self.by_user(one) for one in node.bottom_up() if one is not node)

    def by_user(self, node: Node) -> bool:
        return self.tools.recorder.trace.node(node.id).by_user


class TreeStrategy(Strategy):
    """A strategy that walks through a tree of questions; `walk` is what it does with one."""

    revises = True
    takes_plans = True
    walk: type[TreeWalk[Any]]

    def run(self, question: str, plan: Tree | None, origin: PlanOrigin, tools: QuestionContext) -> Result:
        planned = self.planned(question, plan, origin, tools)
        tools.steps.begin_tree(planned)
        return self.walk(question, planned, tools, self.options.of(tools.options)).run()

    def planned(self, question: str, plan: Tree | None, origin: PlanOrigin, tools: QuestionContext) -> PlanReady:
        """The tree; `plan`: see :func:`hierarchical_plan`."""
        raise NotImplementedError
