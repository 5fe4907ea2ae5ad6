"""ProbTree: a tree of sub-questions, each answered in several ways; the surest answer wins (Cao et al., 2023)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain

from pydantic import Field, model_validator

from atomr_local.reasoning import confidence as names
from atomr_local.reasoning.operators import GUESSED, values_read
from atomr_local.reasoning.results import Result, add_evidence
from atomr_local.reasoning.steps import Step
from atomr_local.reasoning.trace.events import PlanReady
from atomr_local.reasoning.trace.schema import PlanOrigin
from atomr_local.sources.protocol import Evidence, Request
from atomr_local.strategies.options import StrategyOptions
from atomr_local.strategies.protocol import Need, QuestionContext
from atomr_local.strategies.shared.closing import (
    CALLS_USED,
    CHILDREN,
    MODEL,
    TEXT,
    UNKNOWN_SCORE,
    Scored,
    ScoredAnswers,
    Way,
    answers_each_way,
    children_score,
    closed,
    closed_tree,
    result_of,
    weighed_step,
)
from atomr_local.strategies.shared.plans import TreeWalk, below, given_plan, natural_plan
from atomr_local.strategies.shared.tools import searched
from atomr_local.tree.nodes import Node, Tree

# Evidence for the questions of a tree: for a question itself, and for the ones below it.


class QuestionEvidence:
    """Asks all sources, and knows what each question has found."""

    def __init__(self, tools: QuestionContext, question: str, k: int, k_below: int) -> None:
        """Begin.

        Args:
            question: the whole question, whose words may go to the web.
            k: pieces of evidence per source for a question.
            k_below: the most of them that it lends to each question above it.
        """
        self._tools = tools
        self._question = question
        self._k = k
        self._k_below = k_below
        self._found: dict[int, list[Evidence]] = {}

    def collect(self, step: Step, below: Sequence[int], results: Mapping[int, Result], into: Result) -> None:
        """Add evidence for the step's question, then what the questions below have found, best first each."""
        problems = self._ask(step, results, into)
        self._found[step.id] = list(into.evidence)
        for node_id in below:
            known = self._found.get(node_id, results[node_id].evidence)
            for source in dict.fromkeys(item.source for item in known):
                add_evidence(into.evidence, [item for item in known if item.source == source][: self._k_below])
        if problems and not into.evidence:
            into.error = {"title": "Source failed", "message": "; ".join(problems)}

    def _ask(self, step: Step, results: Mapping[int, Result], into: Result) -> list[str]:
        """What failed, in words."""
        shown = [text for known in results.values() for text in known.texts]
        request = Request(step.question, step.question, top_k=self._k)
        found = searched(self._tools, step.id, request, self._question, answers=shown)
        add_evidence(into.evidence, found.evidence)
        into.dropped.extend([*found.dropped, *found.problems])
        return found.problems


_CORRECTED = "a sub-question's answer is the user's: only the sub-questions may answer this one"


class ProbTreeOptions(StrategyOptions):
    """In which ways a question is answered, and how much is retrieved."""

    k: int = Field(5, ge=1, le=20, description="Pieces of evidence per source for a question; published: 5.")
    k_descendants: int = Field(
        3, ge=0, le=20, description="Pieces of evidence per source for each question below it; published: 3."
    )
    closed_book: bool = Field(True, description="Answer from the model's own knowledge; published: true.")
    open_book: bool = Field(True, description="Answer from evidence; published: true.")
    children: bool = Field(True, description="Answer from the answers to sub-questions; published: true.")

    @model_validator(mode="after")
    def _some_way(self) -> ProbTreeOptions:
        if not (self.closed_book or self.open_book):
            raise ValueError("closed_book or open_book must be on: a question without sub-questions needs one of them")
        return self


class ProbTree:
    name = "probtree"
    summary = "answer every question of a tree from memory, from evidence and from its parts; the surest answer wins"
    paper = (
        "Cao et al.: Probabilistic Tree-of-thought Reasoning for Answering Knowledge-intensive Complex Questions, "
        "Findings of EMNLP 2023"
    )
    needs: frozenset[Need] = frozenset()
    options: type[StrategyOptions] = ProbTreeOptions
    uses_sources = True
    revises = True
    takes_plans = True

    def run(self, question: str, plan: Tree | None, origin: PlanOrigin, tools: QuestionContext) -> Result:
        planned = natural_plan(question, tools) if plan is None else given_plan(plan, origin, tools)
        tools.steps.begin_tree(planned)
        return _Walk(question, planned, tools).result()


class _Walk:
    """Answers the questions of the tree in post-order."""

    def __init__(self, question: str, planned: PlanReady, tools: QuestionContext) -> None:
        self._tree = planned.tree
        self._planned = planned
        self._tools = tools
        self._options = ProbTreeOptions.of(tools.options)
        self._answers = ScoredAnswers(tools)
        self._walk = TreeWalk(question, planned.tree, tools)
        self._results = self._walk.results
        self._asked = self._walk.asked
        self._evidence = QuestionEvidence(tools, question, self._options.k, self._options.k_descendants)

    def result(self) -> Result:
        return self._walk.run(self._answered)

    def _answered(self, node: Node, step: Step) -> Result:
        tools = self._tools
        limited = not tools.asking.calls_left
        if node is not self._tree.root:
            if limited:
                return Result(dropped=["not answered: the question's model calls are used"])
            if (known := self._walk.asked_before(node)) is not None:
                return known
            result, best = self._weigh(node, step)
            if _is_from(best, CHILDREN):
                parts = (self._results[child.id] for child in node.children)
                result.signals = names.worst([result.signals, *(known.signals for known in parts if known.values)])
            return weighed_step(tools, result)
        with tools.asking.concluding():
            result, best = self._weigh(node, step)
            if self._walk.corrected(node) and _is_from(best, CHILDREN):
                result.confidence = result.signals.get(names.READING)  # the calibration knows of no user
            elif _is_from(best, CHILDREN):
                result = closed_tree(tools, self._tree, step.question, result, self._results)
            else:
                result = closed(tools, step.question, self._concluded(result, best, step))
        if limited:
            result.dropped.insert(0, CALLS_USED)
        return result

    def _weigh(self, node: Node, step: Step) -> tuple[Result, Scored | None]:
        """The surest answer, and how it came about; None if there is none. Unknown never wins."""
        result = Result()
        if self._options.open_book:
            self._evidence.collect(step, [one.id for one in below(node)], self._results, result)
        scored = answers_each_way(self._tools, self._ways(node, step, result.evidence), result)
        scored = [self._rated(node, one) if _is_from(one, CHILDREN) else one for one in scored]
        scored.sort(key=_rank, reverse=True)
        if self._walk.corrected(node):
            scored.sort(key=lambda one: one.found and _is_from(one, CHILDREN), reverse=True)
            result.dropped.append(_CORRECTED)
        result.candidates = tuple(one.candidate for one in scored)
        if not scored or not scored[0].found:
            return result, None
        best = scored[0]
        for child in node.children if _is_from(best, CHILDREN) else ():
            known = self._results[child.id]
            add_evidence(result.evidence, [item for item in known.evidence if item.id in known.cited])
        result.values, result.method, result.thought = best.candidate.values, "aggregate", best.reasons
        result.cited, result.signals, result.error = list(best.candidate.evidence), dict(best.signals), None
        return result, best

    def _ways(self, node: Node, step: Step, evidence: Sequence[Evidence]) -> list[Way]:
        """The ways to answer the question. The first one wins a tie."""
        ways: list[Way] = []
        whole = node is self._tree.root or bool(node.children)
        if evidence:
            ways.append(
                (TEXT, partial(self._answers.from_evidence, node.id, step.question, tuple(evidence), whole=whole))
            )
        if self._options.children and any(self._results[child.id].values for child in node.children):
            told = [(self._asked[child.id], self._results[child.id].told) for child in node.children]
            ways.append((CHILDREN, partial(self._answers.from_children, node.id, step.question, told)))
        if self._options.closed_book:
            ways.append((MODEL, partial(self._answers.from_memory, node.id, step.question)))
        return ways

    def _rated(self, node: Node, found: Scored) -> Scored:
        """The answer from the children with its score, and what they cite."""
        if not found.found:
            return found
        parts = [self._results[child.id] for child in node.children]
        cited = tuple(dict.fromkeys(chain.from_iterable(result.cited for result in parts)))
        score = children_score(found.candidate.score, self._decomposed(node), map(self._score, node.children))
        return replace(found, candidate=replace(found.candidate, score=score, evidence=cited))

    def _decomposed(self, node: Node) -> float | None:
        """The mean log-probability of the tokens of the node's sub-questions; 0 for a plan that no model wrote."""
        sure = self._planned.confidences.get(node.id)
        if sure is not None:
            return math.log(sure) if sure > 0 else UNKNOWN_SCORE
        return None if self._planned.origin == "model" else 0.0

    def _score(self, child: Node) -> float | None:
        result = self._results[child.id]
        if not result.values:
            return UNKNOWN_SCORE
        return result.candidates[0].score if result.candidates else 0.0 if self._walk.by_user(child) else None

    def _concluded(self, result: Result, best: Scored | None, step: Step) -> Result:
        """The root's result: its answer verified, or a guess where there is none and guesses are on."""
        reader = self._tools.reader
        if best is not None and best.reading is not None and best.candidate.origin == TEXT:
            checked = reader.checked(step.id, best.reading)
            result.values, result.signals = values_read(checked), result.signals | checked.signals
        if result.values or not result.evidence or not self._tools.settings.features.guess:
            return result
        guessed = reader.whole(step.id, step.question, result.evidence, guess=True)
        noted = replace(guessed, dropped=(*result.dropped, *guessed.dropped, GUESSED))
        guess = result_of(reader.checked(step.id, noted), "direct_rag", result.evidence)
        guess.candidates = result.candidates
        return guess


def _is_from(scored: Scored | None, origin: str) -> bool:
    return scored is not None and scored.candidate.origin == origin


def _rank(scored: Scored) -> tuple[bool, float]:
    score = scored.candidate.score
    return scored.found, UNKNOWN_SCORE if score is None else score
