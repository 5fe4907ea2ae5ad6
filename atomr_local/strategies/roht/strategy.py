"""RoHT: a tree of questions, each asked of graph, text and its parts as they suit it (Zhang et al., 2023)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from atomr_local.errors import AtomrError, Cancelled
from atomr_local.reasoning import confidence as names
from atomr_local.reasoning.answer_selection import step_signals
from atomr_local.reasoning.candidates import Candidate, mean, top
from atomr_local.reasoning.confidence import worst
from atomr_local.reasoning.graph_program import GraphProgram
from atomr_local.reasoning.operations.compute import computed_node, computed_question, evidence_of
from atomr_local.reasoning.operators import values_read
from atomr_local.reasoning.results import (
    Combination,
    Result,
    add_evidence,
    combinations,
    fill_question,
    product_confidence,
)
from atomr_local.reasoning.retrieval import SourceResults
from atomr_local.reasoning.steps import Step
from atomr_local.reasoning.trace.events import PlanReady
from atomr_local.reasoning.trace.schema import PlanOrigin
from atomr_local.sources.protocol import Request, SourceName
from atomr_local.strategies.protocol import QuestionContext
from atomr_local.strategies.roht.scheduler import UNSUITED, UNSUITED_TO_RERANKER, RoHTOptions, TextReading, answer_p
from atomr_local.strategies.shared.closing import (
    CHILDREN,
    COMPUTED,
    GRAPH,
    MODEL,
    TEXT,
    Scored,
    closed,
    closed_tree,
    guessed,
    result_of,
    unreadable,
    weighed_step,
)
from atomr_local.strategies.shared.plans import Planned, below, hierarchical_plan
from atomr_local.strategies.shared.tools import searched, tell_sources
from atomr_local.tree.natural import ends_in_last, outer_references, skeleton
from atomr_local.tree.nodes import Node, Tree

# RoHT's executors: what graph, text and sub-questions answer, each with its p (Zhang et al., 2023).

Found = list[tuple[int, Scored]]
"""Answers, each with the place of the combination that it was found for."""


_CORRECTED = "a step below has the user's answer: only the steps below may answer this one"
_NOTHING_SUITS = "neither graph nor text suited the question: what was found was read anyway"


@dataclass(eq=False)
class _Executors(TextReading):
    """Answers single questions. Scores are those of the answers alone: p_parse, p_extract, or None.

    Attributes:
        told: by node, the sources that it asked.
    """

    told: dict[int, dict[str, None]] = field(default_factory=dict, init=False)

    @cached_property
    def _parse(self) -> float | None:
        """How surely the planner wrote the operators; None if that is not known."""
        return next((share for node_id, share in self.planned.confidences.items() if node_id), self.planned.confidence)

    def known(self, node_id: int) -> Result:
        return self.results.get(node_id, Result())

    def graph(self, node: Node, step: Step, combined: Sequence[Combination], result: Result) -> Found:
        """The graph's answers: p_parse is the plan's probability times how surely links and relations match."""
        if SourceName.GRAPH not in self.tools.retriever.permitted(node.id):
            return []
        kind = skeleton(self.tree, node)
        if not kind:
            return []
        fit = self.suits_graph(kind)
        if not fit.asked:
            result.dropped.append(fit.note)
            return []

        self.told.setdefault(node.id, {})[SourceName.GRAPH] = None

        def ask(request: Request) -> SourceResults:
            return searched(self.tools, node.id, request, self.question, sources=[SourceName.GRAPH])

        settings = self.tools.settings
        program = GraphProgram(self.tree, ask, settings.limits.references, settings.top_k)
        found: Found = []
        for place, one in enumerate(combined):
            asked = self._filled(node, step, one)
            answer = program.answer(node, one.results, asked)
            add_evidence(result.evidence, answer.evidence)
            result.dropped += [note for note in answer.notes if note not in result.dropped]
            if answer.problem:
                continue
            if fit.sure and not answer.sure:
                result.dropped.append("the graph's answer was not used: it does not surely link name and relation")
                continue
            p = product_confidence(self._parse, answer.matched)
            candidate = Candidate(answer.values, p, GRAPH, tuple(answer.cited))
            found.append((place, Scored(candidate, signals=answer.signals, computation=answer.computation)))
        return found

    def text(self, node: Node, step: Step, combined: Sequence[Combination], result: Result, *, schedule: bool) -> Found:
        """The answers of passages: p_extract is that of the reading."""
        others = (name for name in self.tools.retriever.permitted(node.id) if name != SourceName.GRAPH)
        self.told.setdefault(node.id, {}).update(dict.fromkeys(others))
        each = self.text_answers(node, step, combined, result, schedule=schedule)
        return [(place, one) for place, scored in enumerate(each) for one in scored if one.found]

    def passed_up(self, node: Node) -> list[Scored] | None:
        """The last child's answers with their scores, if it rests on all others; else None."""
        if not ends_in_last(self.tree, node):
            return None
        last = node.children[-1]
        known = self.known(last.id)
        if not known.values:
            return []
        below = worst([self.results[child.id].signals for child in node.children if self.results[child.id].values])
        told = f"answer of [{last.id}]"
        own = Candidate(known.values, known.confidence, CHILDREN, tuple(known.cited))
        first, *others = known.candidates or (own,)
        candidates = (replace(first, values=known.values), *others)
        return [
            Scored(
                replace(one, origin=CHILDREN),
                signals=below if place == 0 else {},
                computation=told if known.computed and place == 0 else "",
            )
            for place, one in enumerate(candidates)
        ]

    def symbolic(self, node: Node, step: Step, combined: Sequence[Combination], result: Result) -> Found | None:
        """The computed answers to a symbolic question; None where the question is to be asked of the sources."""
        if node.operation is not None:
            return self._computed([computed_node(self.tree, node, one.results) for one in combined], result)
        made = [computed_question(self.tree, node, list(node.references), one.results) for one in combined]
        if any(one is not None for one in made):
            return self._computed([one or Result() for one in made], result)
        if node.instruction:
            return self.together(node, step, list(node.references), combined, result)
        return None

    def together(
        self, node: Node, step: Step, ids: Sequence[int], combined: Sequence[Combination], result: Result
    ) -> Found:
        """The answer over these steps: computed where the question clearly asks for that; else the model combines the
        best answers."""
        made = [computed_question(self.tree, node, ids, one.results) for one in combined]
        if any(one is not None and one.values for one in made):
            return self._computed([one or Result() for one in made], result)
        known = {i: combined[0].results[i] for i in ids if i in combined[0].results}
        if not any(one.values for one in known.values()):
            return []
        steps = [
            (fill_question(self.tree, self.tree.node(i).question, combined[0].results), one.told)
            for i, one in known.items()
        ]
        try:
            reading = self.tools.reader.from_steps(node.id, step.question, steps)
        except Cancelled:
            raise
        except AtomrError as error:
            result.dropped.append(f"{CHILDREN}: {error.message}")
            return []
        result.dropped += [note for note in reading.dropped if note not in result.dropped]
        if reading.problem is not None:
            result.error = unreadable(reading.problem)
        _, cited = evidence_of(known.values())
        candidate = Candidate(values_read(reading), answer_p(reading), CHILDREN, tuple(cited))
        signals = worst([reading.signals, *(one.signals for one in known.values() if one.values)])
        return [(0, Scored(candidate, signals=signals, reading=None))] if reading.answers else []

    def _computed(self, made: Sequence[Result], result: Result) -> Found:
        found: Found = []
        for place, one in enumerate(made):
            add_evidence(result.evidence, one.evidence)
            result.dropped += [note for note in one.dropped if note not in result.dropped]
            if one.values:
                candidate = Candidate(one.values, None, COMPUTED, tuple(one.cited))
                told = one.computation or "computed"
                found.append((place, Scored(candidate, signals=one.signals, computation=told)))
        if not found and made:
            result.reason, result.none, result.computed = made[0].reason, made[0].none, True
        return found

    def _filled(self, node: Node, step: Step, one: Combination) -> str:
        if node is self.tree.root:
            return step.question
        return fill_question(self.tree, node.question, one.results)


class _Walk(_Executors):
    """Brings the answers to a question together, each with its score."""

    def step_result(self, node: Node, step: Step) -> Result:
        known = self.asked_before(node)
        return known if known is not None else self._weighed(*self._ask(node, step))

    def root_result(self, node: Node, step: Step) -> Result:
        return self._final(node, step, *self._ask(node, step))

    def _ask(self, node: Node, step: Step) -> tuple[Result, Scored | None]:
        """f(q): every answer with its score; the k best stay, and the best is the answer."""
        result = Result()
        scored = self._symbolic(node, step, result)
        if scored is None:
            scored = self._asked(node, step, result)
        kept = top([one.candidate for one in scored if one.found], self.options.k)
        by_candidate = {id(one.candidate): one for one in scored}
        ranked = [by_candidate[id(candidate)] for candidate in kept]
        if ranked and self.corrected(node):
            result.dropped.append(_CORRECTED)
        result.candidates = tuple(kept)
        if not ranked:
            return result, None
        best = ranked[0]
        origin = best.candidate.origin
        if origin in (CHILDREN, COMPUTED):
            for known in [*(self.results[child.id] for child in node.children), *map(self.known, node.references)]:
                add_evidence(result.evidence, [item for item in known.evidence if item.id in best.candidate.evidence])
        result.values, result.method, result.thought = best.candidate.values, "aggregate", best.reasons
        result.cited, result.signals, result.error = list(best.candidate.evidence), dict(best.signals), None
        result.computation, result.computed = best.computation or None, bool(best.computation)
        result.reason = ""
        return result, best

    def _symbolic(self, node: Node, step: Step, result: Result) -> list[Scored] | None:
        """The answers to a symbolic question; None for another."""
        if node.children or node is self.tree.root or not node.references or node.call is not None:
            return None
        combined = self._combined(node.references, result)
        found = self.symbolic(node, step, combined, result)
        return None if found is None else self._over(found, combined, self.planned.confidences.get(node.id))

    def _asked(self, node: Node, step: Step, result: Result) -> list[Scored]:
        """The answers of everything that suits the question."""
        combined = self._combined(() if node is self.tree.root else outer_references(node), result)
        inner = bool(node.children)
        scored: list[Scored] = []
        if inner:
            scored += self._from_children(node, step, result)
        if inner and ((self.options.children_only or self.options.flat) or self.corrected(node)):
            return scored
        p = self.planned.confidences.get(node.id)
        suited: list[tuple[int, Scored]] = self.graph(node, step, combined, result)
        suited += self.text(node, step, combined, result, schedule=True)
        unread = [note for note in result.dropped if note in (UNSUITED, UNSUITED_TO_RERANKER)]
        if not suited and not any(one.found for one in scored) and unread:
            result.dropped.remove(unread[0])
            result.dropped.append(_NOTHING_SUITS)
            suited = self.text(node, step, combined, result, schedule=False)
        if len(told := self.told.get(node.id, {})) > 1:
            tell_sources(self.tools, node.id, told)
        for place, one in suited:
            own = _times(p, one.candidate.score)
            score = mean((own, *combined[place].scores)) if combined[place].scores else own
            scored.append(_rated(one, score))
        return scored

    def _from_children(self, node: Node, step: Step, result: Result) -> list[Scored]:
        """The last child's answers where it rests on the others; else what is said of all together."""
        passed = self.passed_up(node)
        if passed is not None:
            return passed
        children = [child.id for child in node.children]
        combined = self._combined(children, result)
        found = self.together(node, step, children, combined, result)
        return self._over(found, combined, self.planned.confidences.get(node.id))

    def _combined(self, steps: Sequence[int], result: Result) -> list[Combination]:
        made, left = combinations(self.results, steps, self.options.cap)
        if left:
            told = f"{left} of {left + len(made)} combinations of earlier answers left out (limit {self.options.cap})"
            result.dropped.append(told)
        return made

    @staticmethod
    def _over(found: Sequence[tuple[int, Scored]], combined: Sequence[Combination], p: float | None) -> list[Scored]:
        """The answers over combinations: the mean of p_g, of p where the model read, and the scores that were used."""
        return [
            _rated(one, mean((_times(p, one.candidate.score), *combined[place].scores)))
            for place, one in found
            if one.found
        ]

    # -- the step's result

    def _weighed(self, result: Result, best: Scored | None) -> Result:
        if best is None:
            return result
        result.confidence = best.candidate.score
        if best.candidate.origin == GRAPH:
            result.signals = step_signals(result)
            result.confidence = self.tools.calibration.step.probability(result.signals)
        return weighed_step(self.tools, result)

    def _final(self, node: Node, step: Step, result: Result, best: Scored | None) -> Result:
        """The root's result: verified, or a guess where there is no answer and guesses are on, or the model's own."""
        tools, question = self.tools, step.question
        if best is None:
            return closed(tools, question, self._last_resort(node, step, result))
        result.confidence = best.candidate.score
        if best.candidate.origin in (CHILDREN, COMPUTED):
            if any(self.by_user(one) for one in below(node)):
                return result  # the calibration knows of no user
            natural = all(one.call is None and one.operation is None for one in self.tree.nodes())
            return closed_tree(tools, self.tree, question, result, self.results, natural=natural)
        if best.candidate.origin == TEXT and best.reading is not None:
            checked = tools.reader.checked(node.id, best.reading)
            result.values, result.signals = values_read(checked), result.signals | checked.signals
        return closed(tools, question, result)

    def _last_resort(self, node: Node, step: Step, result: Result) -> Result:
        reader = self.tools.reader
        if result.none:
            return result
        if result.evidence and self.tools.settings.features.guess:
            guess = guessed(self.tools, node.id, step.question, result.evidence, result.dropped)
            if guess.answers:
                return result_of(reader.checked(node.id, guess), "direct_rag", result.evidence)
        told = reader.from_memory(node.id, step.question)
        if told.answers:
            made = result_of(told, "closed_book", result.evidence)
            made.dropped = list(dict.fromkeys([*result.dropped, *made.dropped]))
            made.candidates = (Candidate(made.values, told.confidence, MODEL),)
            made.signals[names.MEMORY] = 1.0
            return made
        return result


class RoHT(Planned):
    name = "roht"
    summary = "ask every question of a tree of graph, text and its parts, as they suit it; answers carry probabilities"
    paper = (
        "Zhang et al.: Reasoning over Hierarchical Question Decomposition Tree for Explainable Question Answering, "
        "ACL 2023"
    )
    options = RoHTOptions
    walk = _Walk

    def planned(self, question: str, plan: Tree | None, origin: PlanOrigin, tools: QuestionContext) -> PlanReady:
        return hierarchical_plan(question, plan, origin, tools, flat=RoHTOptions.of(tools.options).flat)


def _times(p: float | None, score: float | None) -> float | None:
    """p_g times the executor's own; what is not known counts nothing."""
    known = [share for share in (p, score) if share is not None]
    return known[0] * (known[1] if len(known) > 1 else 1.0) if known else None


def _rated(one: Scored, score: float | None) -> Scored:
    return replace(one, candidate=replace(one.candidate, score=score))
