"""ProbTree: a tree of sub-questions, each answered in several ways; the surest answer wins (Cao et al., 2023)."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import chain

from pydantic import Field, model_validator

from atomr_local.errors import AtomrError, Cancelled
from atomr_local.reasoning import confidence as names
from atomr_local.reasoning.candidates import Candidate, mean
from atomr_local.reasoning.operators import values_read
from atomr_local.reasoning.parallel import run_each
from atomr_local.reasoning.results import Result, add_evidence
from atomr_local.reasoning.steps import Step
from atomr_local.reasoning.trace.events import PlanReady
from atomr_local.reasoning.trace.schema import PlanOrigin
from atomr_local.sources.protocol import Evidence, Request
from atomr_local.strategies.options import StrategyOptions
from atomr_local.strategies.protocol import QuestionContext
from atomr_local.strategies.shared.closing import (
    CALLS_A_WAY,
    CALLS_USED,
    CHILDREN,
    MODEL,
    TEXT,
    UNKNOWN_SCORE,
    ScoredAnswer,
    closed,
    closed_tree,
    guessed,
    result_of,
    tell_problems,
    weighed_step,
)
from atomr_local.strategies.shared.plans import TreeStrategy, TreeWalk, natural_plan
from atomr_local.strategies.shared.tasks import Tasks
from atomr_local.strategies.shared.tools import searched
from atomr_local.strategies.shared.trained import tasks_of
from atomr_local.tree.nodes import Node, Tree

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


@dataclass(eq=False)
class _Walk(TreeWalk[ProbTreeOptions]):
    _found: dict[int, list[Evidence]] = field(default_factory=dict, init=False)  # by question

    @cached_property
    def _tasks(self) -> Tasks:
        return tasks_of(self.question, self.tools)

    def step_result(self, node: Node, step: Step) -> Result:
        if not self.tools.asking.calls_left:
            return Result(dropped=["not answered: the question's model calls are used"])
        if (known := self.asked_before(node)) is not None:
            return known
        result, best = self._weigh(node, step)
        if _is_from(best, CHILDREN):
            parts = (self.results[child.id] for child in node.children)
            result.signals = names.worst([result.signals, *(known.signals for known in parts if known.values)])
        return weighed_step(self.tools, result)

    def root_result(self, node: Node, step: Step) -> Result:
        result, best = self._weigh(node, step)
        if self.corrected(node) and _is_from(best, CHILDREN):
            result.confidence = result.signals.get(names.READING)  # the calibration knows of no user
            return result
        if _is_from(best, CHILDREN):
            return closed_tree(self.tools, self.tree, step.question, result, self.results)
        return closed(self.tools, step.question, self._concluded(result, best, step))

    def _weigh(self, node: Node, step: Step) -> tuple[Result, ScoredAnswer | None]:
        """The surest answer, and how it came about; None if there is none. Unknown never wins."""
        result = Result()
        if self.options.open_book:
            self._collect(node, step, result)
        each = self._each_way(node, step, result)
        scored = [self._rated(node, one) if _is_from(one, CHILDREN) else one for one in each]
        scored.sort(key=_rank, reverse=True)
        if self.corrected(node):
            scored.sort(key=lambda one: one.found and _is_from(one, CHILDREN), reverse=True)
            result.dropped.append(_CORRECTED)
        result.candidates = tuple(one.candidate for one in scored)
        if not scored or not scored[0].found:
            return result, None
        best = scored[0]
        for child in node.children if _is_from(best, CHILDREN) else ():
            known = self.results[child.id]
            add_evidence(result.evidence, [item for item in known.evidence if item.id in known.cited])
        result.values, result.method, result.thought = best.candidate.values, "aggregate", best.reasons
        result.cited, result.signals, result.error = list(best.candidate.evidence), dict(best.signals), None
        return result, best

    def _collect(self, node: Node, step: Step, into: Result) -> None:
        """Add evidence for the step's question, then what the questions below have found, best first each."""
        shown = [text for known in self.results.values() for text in known.texts]
        request = Request(step.question, step.question, top_k=self.options.k)
        found = searched(self.tools, step.id, request, self.question, answers=shown)
        into.evidence, into.dropped = found.evidence, [*found.dropped, *found.problems]
        self._found[step.id] = list(into.evidence)
        for below in [one for one in node.bottom_up() if one is not node]:
            known = self._found.get(below.id, self.results[below.id].evidence)
            for source in dict.fromkeys(item.source for item in known):
                best = [item for item in known if item.source == source][: self.options.k_descendants]
                add_evidence(into.evidence, best)
        if found.problems and not into.evidence:
            into.error = {"title": "Source failed", "message": "; ".join(found.problems)}

    def _each_way(self, node: Node, step: Step, result: Result) -> list[ScoredAnswer]:
        """An answer each way, side by side; one that fails leaves the others. The first way wins a tie."""
        ways: dict[str, Callable[[], ScoredAnswer]] = {}
        whole = node is self.tree.root or bool(node.children)
        if result.evidence:
            evidence = tuple(result.evidence)
            ways[TEXT] = partial(self._tasks.from_evidence, node.id, step.question, evidence, whole=whole)
        if self.options.children and any(self.results[child.id].values for child in node.children):
            told = [(self.asked[child.id], self.results[child.id].told) for child in node.children]
            ways[CHILDREN] = partial(self._tasks.from_children, node.id, step.question, told)
        if self.options.closed_book:
            ways[MODEL] = partial(self._tasks.from_memory, node.id, step.question)
        left = self.tools.asking.calls_left
        if len(ways) > left:
            result.dropped.append(CALLS_USED)

        def one(origin: str) -> ScoredAnswer:
            try:
                return ways[origin]()
            except Cancelled:
                raise
            except AtomrError as error:
                return ScoredAnswer(Candidate((), UNKNOWN_SCORE, origin), problem=error.message)

        # Where calls are short, the first ways have them.
        asked = list(ways)[:left]
        together = self.tools.settings.llm.parallel if left >= CALLS_A_WAY * len(asked) else 1
        scored = run_each(one, asked, together)
        tell_problems(scored, result)
        return scored

    def _rated(self, node: Node, found: ScoredAnswer) -> ScoredAnswer:
        """The answer from the children with its score, and what they cite."""
        if not found.found:
            return found
        parts = [self.results[child.id] for child in node.children]
        cited = tuple(dict.fromkeys(chain.from_iterable(result.cited for result in parts)))
        score = mean((found.candidate.score, self._decomposed(node), *map(self._score, node.children)))
        return replace(found, candidate=replace(found.candidate, score=score, evidence=cited))

    def _decomposed(self, node: Node) -> float | None:
        """The mean log-probability of the tokens of the node's sub-questions; 0 for a plan that no model wrote."""
        sure = self.planned.confidences.get(node.id)
        if sure is not None:
            return math.log(sure) if sure > 0 else UNKNOWN_SCORE
        return None if self.planned.origin == "model" else 0.0

    def _score(self, child: Node) -> float | None:
        result = self.results[child.id]
        if not result.values:
            return UNKNOWN_SCORE
        return result.candidates[0].score if result.candidates else 0.0 if self.by_user(child) else None

    def _concluded(self, result: Result, best: ScoredAnswer | None, step: Step) -> Result:
        """The root's result: its answer verified, or a guess where there is none and guesses are on."""
        reader = self.tools.reader
        if best is not None and best.reading is not None and best.candidate.origin == TEXT:
            checked = reader.checked(step.id, best.reading)
            result.values, result.signals = values_read(checked), result.signals | checked.signals
        if result.values or not result.evidence or not self.tools.settings.features.guess:
            return result
        reading = guessed(self.tools, step.id, step.question, result.evidence, result.dropped)
        guess = result_of(reader.checked(step.id, reading), "direct_rag", result.evidence)
        guess.candidates = result.candidates
        return guess


class ProbTree(TreeStrategy):
    name = "probtree"
    summary = "answer every question of a tree from memory, from evidence and from its parts; the surest answer wins"
    paper = (
        "Cao et al.: Probabilistic Tree-of-thought Reasoning for Answering Knowledge-intensive Complex Questions, "
        "Findings of EMNLP 2023"
    )
    options = ProbTreeOptions
    walk = _Walk

    def planned(self, question: str, plan: Tree | None, origin: PlanOrigin, tools: QuestionContext) -> PlanReady:
        return natural_plan(question, plan, origin, tools)


def _is_from(scored: ScoredAnswer | None, origin: str) -> bool:
    return scored is not None and scored.candidate.origin == origin


def _rank(scored: ScoredAnswer) -> tuple[bool, float]:
    score = scored.candidate.score
    return scored.found, UNKNOWN_SCORE if score is None else score
