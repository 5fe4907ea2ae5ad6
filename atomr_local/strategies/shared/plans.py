"""Asks the planner for a plan, for the strategies that run plans."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace

from atomr_local.backbone.protocol import Generation, Prompt
from atomr_local.language.names import name_key
from atomr_local.language.question_kind import defined_topic
from atomr_local.planning.coverage import Respelt, respelt, spelt
from atomr_local.planning.planner import PlanningResult, decompositions
from atomr_local.reasoning.asking.asking import shown_prompt
from atomr_local.reasoning.conversation import answering_both, two_questions
from atomr_local.reasoning.results import Result, fill_question
from atomr_local.reasoning.revision import ReusedResults
from atomr_local.reasoning.steps import Step
from atomr_local.reasoning.trace.events import ModelCalled, PlanFragment, PlanReady, StageChanged, WarningRaised
from atomr_local.reasoning.trace.schema import PlanOrigin
from atomr_local.strategies.protocol import QuestionContext
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
    tree = _by_rule(question, tools) if tools.planner.examples.kept(question) is None else None
    if tree is not None:
        return PlanReady(tree=tree, compact=to_compact(tree, with_root=True), origin="rule", attempts=0)
    return None


def planned(question: str, tools: QuestionContext) -> PlanReady:
    """The plan of :func:`ask_planner` with its names rightly spelt; of two questions at once, the plans of both."""
    if (both := two_questions(question)) and tools.planner.examples.kept(question) is None:
        made = [make_plan(part, tools) for part in both]
        tree = answering_both(question, [(part, one.tree) for part, one in zip(both, made, strict=True)])
        if not any(problem.fatal for problem in validate(tree, tools.planner.limits)):
            problems = tuple(problem for one in made for problem in one.problems)
            attempts = sum(one.attempts for one in made)
            compact = to_compact(tree, with_root=True)
            return PlanReady(tree=tree, compact=compact, origin="rule", attempts=attempts, problems=problems)
    plan = ask_planner(question, tools)
    tree = rightly_spelt(plan.tree, plan.tree, tools)
    return ready(plan, tree)


def _by_rule(question: str, tools: QuestionContext) -> Tree | None:
    """The question alone, where a rule answers it; None if none does."""
    if tools.collection is not None and tools.collection.takes(question):
        return Tree(Node(ROOT_ID, question))
    topic = defined_topic(question)
    if topic and tools.retriever.has_page(topic):
        return Tree(Node(ROOT_ID, question, expects=Expects(AnswerType.SUMMARY)))
    return None


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


def rightly_spelt(tree: Tree, plan: Tree, tools: QuestionContext) -> Tree:
    """The tree with the names that the plan looks up as typed, unless the local sources know only the plan's spelling.

    Raises:
        Cancelled: the question was cancelled.
    """
    return spelt(tree, [name for name in respelt(plan) if not _put_right(name, tools)])


def _put_right(name: Respelt, tools: QuestionContext) -> bool:
    """Whether the model corrected the name: the sources know its spelling and not the typed one."""
    return not tools.retriever.known(name.typed) and tools.retriever.known(name.written)


# Plans as RoHT has them: a hierarchical tree of questions, with how surely the planner wrote it (p_g).


def hierarchical_plan(question: str, tools: QuestionContext, *, flat: bool) -> PlanReady:
    """The planner's plan as a hierarchical tree; `flat`: its leaves alone."""
    made = ask_planner(question, tools)
    tree = rightly_spelt(without_searches(made.outline or made.tree), made.tree, tools)
    tree = renumbered(_arranged(tree, tools, flat))
    return ready(made, tree, _sureness(tree, made.confidence if made.origin == "model" else 1.0))


def given_hierarchy(plan: Tree, origin: PlanOrigin, tools: QuestionContext, *, flat: bool) -> PlanReady:
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


# Plans in natural questions, for the strategies that do without operators.


def natural_plan(question: str, tools: QuestionContext) -> PlanReady:
    """The planner's plan without operators, with how surely each question was decomposed."""
    made = ask_planner(question, tools)
    tree = natural(made.outline or made.tree)
    sure = decompositions(tree, made.lines)
    numbers = {node.id: number for number, node in enumerate(tree.nodes())}
    tree = renumbered(rightly_spelt(tree, made.tree, tools))
    return ready(made, tree, {numbers[node_id]: math.exp(logprob) for node_id, logprob in sure.items()})


def given_plan(plan: Tree, origin: PlanOrigin, tools: QuestionContext) -> PlanReady:
    """A plan of the user's, or the one of an answer that is corrected."""
    corrections = tools.revision
    tree = natural(plan, corrections.named if corrections is not None else ())
    compact = to_compact(tree, with_root=True)
    same = corrections is not None and corrections.base.plan.compact == compact
    known = {node.id: node.plan_confidence for node in corrections.base.nodes} if corrections and same else {}
    confidences = {node_id: share for node_id, share in known.items() if share is not None}
    return PlanReady(tree=tree, compact=compact, origin=origin, attempts=0, confidences=confidences)


# Answers the questions of a tree in post-order, with corrections and repeated questions.


class TreeWalk:
    """One walk through one tree.

    Attributes:
        results: by node, what was found so far.
        asked: by node, its question with references replaced by answers.
    """

    def __init__(self, question: str, tree: Tree, tools: QuestionContext) -> None:
        self.results: dict[int, Result] = tools.cache.results
        self.asked: dict[int, str] = {}
        self._question = question
        self._tree = tree
        self._tools = tools
        self._reused: ReusedResults | None = None
        if tools.revision is not None:
            self._reused = ReusedResults(tree, tools.revision, tools.earlier, tools.retriever.names)

    def run(self, answer: Callable[[Node, Step], Result]) -> Result:
        """The root's result; `answer` gives that of each node whose result is neither kept nor the user's."""
        tools, root = self._tools, self._tree.root
        if self._reused is not None:
            self._reused.report(self._tree, tools.cache, tools.recorder, tools.steps)
        for node in self._tree.bottom_up():
            asked = self._question if node is root else fill_question(self._tree, node.question, self.results)
            self.asked[node.id] = asked
            if node.id in self.results:
                continue
            with tools.steps.planned(node.id, asked) as step:
                step.result = self._given(node) or answer(node, step)
            self.results[node.id] = step.result
        return self.results[root.id]

    def _given(self, node: Node) -> Result | None:
        return self._reused.given(node.id) if self._reused is not None else None

    def asked_before(self, node: Node) -> Result | None:
        """The result of an earlier step that asked the same, unless the step itself is corrected."""
        if self._tools.revision is not None and node.id in self._tools.revision.named:
            return None
        key = name_key(self.asked[node.id])
        for node_id, result in self.results.items():
            if name_key(self.asked.get(node_id, "")) == key:
                return replace(result, dropped=[*result.dropped, f"step {node_id} asked the same"])
        return None

    def corrected(self, node: Node) -> bool:
        """Whether an answer below is the user's."""
        return any(self.by_user(one) for one in below(node))

    def by_user(self, node: Node) -> bool:
        return self._tools.recorder.trace.node(node.id).by_user


def below(node: Node) -> Iterator[Node]:
    """The questions below the node, each after those below it."""
    for child in node.children:
        yield from below(child)
        yield child
