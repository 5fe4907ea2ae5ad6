"""RoHT: a tree of questions, each asked of graph, text and its parts as they suit it (Zhang et al., 2023)."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from itertools import chain
from pathlib import Path
from typing import Any

from pydantic import Field

from atomr_local.errors import AtomrError, Cancelled, InputError
from atomr_local.reasoning import confidence as names
from atomr_local.reasoning.answer_selection import step_signals
from atomr_local.reasoning.candidates import Candidate, mean, top
from atomr_local.reasoning.confidence import worst
from atomr_local.reasoning.graph_program import GraphProgram
from atomr_local.reasoning.operations.compute import computed_node, computed_question, evidence_of
from atomr_local.reasoning.operators import SURE, overlap_coefficient, values_read
from atomr_local.reasoning.parallel import run_each
from atomr_local.reasoning.reading.answer_formats import Reading
from atomr_local.reasoning.results import (
    Combination,
    Result,
    add_evidence,
    combinations,
    distinct,
    fill_question,
    product_confidence,
)
from atomr_local.reasoning.retrieval import SourceResults
from atomr_local.reasoning.steps import Step
from atomr_local.reasoning.trace.events import PlanReady
from atomr_local.reasoning.trace.schema import PlanOrigin
from atomr_local.sources.protocol import Evidence, Request, SourceName, Value
from atomr_local.strategies.options import StrategyOptions
from atomr_local.strategies.protocol import QuestionContext
from atomr_local.strategies.shared.closing import (
    CALLS_USED,
    CHILDREN,
    COMPUTED,
    GRAPH,
    MODEL,
    TEXT,
    ScoredAnswer,
    answer_score,
    closed,
    closed_tree,
    guessed,
    noting,
    result_of,
    tell_problems,
    unreadable,
    weighed_step,
)
from atomr_local.strategies.shared.plans import TreeStrategy, TreeWalk, hierarchical_plan
from atomr_local.strategies.shared.tools import searched, tell_sources
from atomr_local.system import paths
from atomr_local.system.files import read_text
from atomr_local.tree.calls import given_text
from atomr_local.tree.natural import ends_in_last, outer_references, skeleton
from atomr_local.tree.nodes import Node, Tree

# How well the graph answers questions of an operator skeleton (section 3.2).

_FILE = Path(__file__).with_name("skeletons.json")
_FILE_BYTES = 4 << 20
_LEAST_ANSWERED = 5  # questions from which a precision is one
_REMEDY = "Make it again with scripts/make_skeletons.py, or remove it: then the table that ships is used."


@dataclass(frozen=True)
class SkeletonTable:
    """How often the graph's answer to questions of an operator skeleton was right.

    Attributes:
        counts: by skeleton, the questions that the graph answered, and those of them that it answered rightly.
    """

    counts: Mapping[str, tuple[int, int]] = field(default_factory=dict)

    def precision(self, skeleton: str) -> float | None:
        """The share of right answers; None where too few are known."""
        answered, right = self.counts.get(skeleton, (0, 0))
        return right / answered if answered >= _LEAST_ANSWERED else None


Tables = Mapping[tuple[str, str | None], SkeletonTable]
"""By model and adapter. `scripts/make_skeletons.py` makes them."""


@cache
def shipped_tables() -> Tables:
    return _read(_FILE.read_text("utf-8"))


def own_tables(file: Path) -> Tables:
    """The user's tables; none if there is no such file.

    Raises:
        InputError: the file cannot be read, or holds no tables.
    """
    try:
        return _read(read_text(file, _FILE_BYTES))
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise InputError(f"{file} cannot be read: {error.strerror or error}", hint=_REMEDY) from error
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise InputError(f"{file} holds no tables of operator skeletons", hint=_REMEDY) from error


def _read(text: str) -> Tables:
    given: list[dict[str, Any]] = json.loads(text)["tables"]
    return {
        (one["model"], one["adapter"]): SkeletonTable(
            {name: (int(counts["answered"]), int(counts["right"])) for name, counts in one["skeletons"].items()}
        )
        for one in given
    }


class RoHTOptions(StrategyOptions):
    """Bounds for what suits a question, and the number of answers kept."""

    k: int = Field(5, ge=1, le=20, description="Answers kept for a question; published: 5.")
    gamma: float = Field(
        0.7, ge=0, le=1, description="Precision above which an operator skeleton suits the graph; published: 0.7."
    )
    relevant: float = Field(
        0.0,
        description="Score of the reranker (retrieval.reranker) from which a passage suits a question; 0 is even odds "
        "for the usual cross-encoder. Without a reranker shared words decide (filter_overlap).",
    )
    cap: int = Field(16, ge=1, le=256, description="Combinations of earlier answers that a question is asked for.")
    passages: int = Field(
        5,
        ge=1,
        le=20,
        description="Pieces of evidence per source from which those that suit are chosen; published: 10.",
    )
    samples: int = Field(3, ge=0, le=10, description="Further readings where the first one is not sure.")
    scheduler: bool = Field(True, description="Ask only what suits a question, not everything; published: true.")
    flat: bool = Field(False, description="Ask the leaves of the tree alone, one after the other; published: false.")
    children_only: bool = Field(
        False, description="Answer a question that has sub-questions from them alone; published: false."
    )


Found = list[tuple[int, ScoredAnswer]]
"""Answers, each with the place of the combination that it was found for."""

_CORRECTED = "a step below has the user's answer: only the steps below may answer this one"
_NOTHING_SUITS = "neither graph nor text suited the question: what was found was read anyway"
UNSUITED = "the text was not read: no passage has enough of the question's words"
UNSUITED_TO_RERANKER = "the text was not read: no passage suits the question by the reranker"
_TEMPERATURE = 1.0
_BY_AGREEMENT = "ratings are the agreement of samples: the model tells no log-probabilities"


@dataclass(frozen=True)
class _Asked:
    """A question about one value of each step that it refers to, and the passages that suit it."""

    question: str
    of: tuple[Value, ...]
    evidence: tuple[Evidence, ...]


@dataclass(eq=False)
class _Walk(TreeWalk[RoHTOptions]):
    """Asks every question of graph, text and its parts, and brings the answers together, each with its score."""

    _told: dict[int, dict[str, None]] = field(default_factory=dict, init=False)  # by node, the sources that it asked

    # -- which of graph and text suit a question

    @cached_property
    def _table(self) -> SkeletonTable:
        """That of the model: the user's own before the one that ships."""
        key = (self.tools.asking.info.name, self.tools.asking.info.adapter)
        own = own_tables(paths.skeletons_file())
        return own[key] if key in own else shipped_tables().get(key, SkeletonTable())

    def _suiting(self, question: str, evidence: Sequence[Evidence]) -> list[Evidence]:
        """The passages that suit the question: by the reranker, or else those that have enough of its words."""
        if not self.options.scheduler:
            return list(evidence)
        scores = self.tools.ranking.relevance(question, evidence, self.tools.cancellation)
        if scores is not None:
            return [item for item, score in zip(evidence, scores, strict=True) if score >= self.options.relevant]
        least = self.tools.settings.filter_overlap
        return [item for item in evidence if overlap_coefficient(question, f"{item.title} {item.text}") >= least]

    # -- the answers of passages

    @property
    def _samples(self) -> int:
        """Further readings where the first one is unsure."""
        return self.options.samples if self.options.k > 1 else 0

    def text(self, node: Node, step: Step, combined: Sequence[Combination], result: Result, *, schedule: bool) -> Found:
        """The answers of passages, the score of each its p (p_extract). Evidence and notes go to `result`.

        Args:
            schedule: read only what suits; else everything that is found.
        """
        names = [name for name in self.tools.retriever.permitted(node.id) if name != SourceName.GRAPH]
        self._told.setdefault(node.id, {}).update(dict.fromkeys(names))
        if not names:
            return []
        asked = [self._to_ask(node, step, one, names, result, schedule) for one in combined]
        jobs = [(place, one) for place, several in enumerate(asked) for one in several if one.evidence]
        if not jobs and result.evidence and schedule:
            by_model = bool(self.tools.settings.retrieval.reranker)
            result.dropped.append(UNSUITED_TO_RERANKER if by_model else UNSUITED)
        whole = node is self.tree.root or bool(node.children)
        left = self.tools.asking.calls_left
        together = self.tools.settings.llm.parallel if left > len(jobs) * (1 + self._samples) else 1
        if len(jobs) > left:
            jobs = jobs[:left]
            result.dropped.append(CALLS_USED)
        read = run_each(lambda job: self._read(node.id, job[1], whole, len(asked[job[0]]) == 1), jobs, together)
        found: list[list[list[ScoredAnswer]]] = [[] for _ in combined]
        for (place, _), scored in zip(jobs, read, strict=True):
            found[place].append(scored)
        tell_problems(list(chain.from_iterable(read)), result)
        return [(place, one) for place, several in enumerate(found) for one in _joined(several) if one.found]

    def _to_ask(
        self, node: Node, step: Step, combination: Combination, names: list[str], result: Result, schedule: bool
    ) -> list[_Asked]:
        made = []
        shown = [text for known in combination.results.values() for text in known.texts]
        for question, of in self._questions(node, step, combination, result):
            request = Request(question, question, top_k=self.options.passages)
            found = searched(self.tools, node.id, request, self.question, answers=shown, sources=names)
            add_evidence(result.evidence, found.evidence)
            result.dropped += [note for note in (*found.dropped, *found.problems) if note not in result.dropped]
            if found.problems:
                result.error = {"title": "Source failed", "message": "; ".join(found.problems)}
            kept = self._suiting(question, found.evidence) if schedule else found.evidence
            made.append(_Asked(question, of, tuple(kept)))
        return made

    def _questions(
        self, node: Node, step: Step, combination: Combination, result: Result
    ) -> list[tuple[str, tuple[Value, ...]]]:
        """The question about each value of the steps that it refers to, and what its answer is a value of."""
        if node is self.tree.root:
            return [(step.question, ())]
        results, steps = combination.results, node.references
        head = given_text(node.call.arguments[0]) if node.call is not None else ""
        named = (Value(head),) if head else ()
        columns = [results[i].values if i in results and results[i].values else (None,) for i in steps]
        most = self.tools.settings.limits.references
        if (total := math.prod(map(len, columns))) > most:
            result.dropped.append(f"{total - most} of {total} combinations of values left out (limit {most})")
        made = []
        for values in itertools.islice(itertools.product(*columns), most):
            one = {**results}
            for i, value in zip(steps, values, strict=True):
                if value is not None:
                    one[i] = replace(results[i], values=(value,))
            of = tuple(value for value in values[:1] if value is not None) or named
            made.append((fill_question(self.tree, node.question, one), of))
        return made

    def _read(self, node_id: int, asked: _Asked, whole: bool, alone: bool) -> list[ScoredAnswer]:
        """The answers that the passages give; `alone`: others than the surest are of use."""
        reader = self.tools.reader
        read = reader.whole if whole else reader.from_evidence
        try:
            first = read(node_id, asked.question, asked.evidence)
            sure = answer_p(first)
            if not first.answers or (sure is not None and (not alone or sure >= SURE)) or not self._samples:
                return [self._scored(first, sure, asked)]
            if not self.tools.asking.spares(self._samples):
                return [self._scored(first, sure, asked)]
            drawn = reader.samples(node_id, asked.question, asked.evidence, self._samples, _TEMPERATURE, whole=whole)
        except Cancelled:
            raise
        except AtomrError as error:
            return [ScoredAnswer(Candidate((), None, TEXT), problem=error.message)]
        if sure is not None:
            return [self._scored(one, answer_p(one), asked) for one in (first, *drawn) if one.answers or one is first]
        return self._agreed([first, *drawn], asked)

    def _agreed(self, readings: Sequence[Reading], asked: _Asked) -> list[ScoredAnswer]:
        """Each answer once, with the share of the readings that give it."""
        made: dict[str, list[ScoredAnswer]] = {}
        for reading in readings:
            scored = self._scored(reading, None, asked)
            if scored.found:
                made.setdefault(scored.candidate.key, []).append(scored)
        return [
            replace(
                several[0],
                candidate=replace(several[0].candidate, score=len(several) / len(readings)),
                notes=(*several[0].notes, _BY_AGREEMENT),
            )
            for several in made.values()
        ]

    @staticmethod
    def _scored(reading: Reading, sure: float | None, asked: _Asked) -> ScoredAnswer:
        values = tuple(replace(value, of=asked.of) for value in values_read(reading))
        cited = tuple(item.id for item in reading.cited)
        return ScoredAnswer(
            Candidate(values, sure, TEXT, cited), "", reading.signals, reading.dropped, reading.problem, reading
        )

    # -- the answers of graph, text and parts: scores are those of the answers alone, p_parse, p_extract, or None

    def graph(self, node: Node, step: Step, combined: Sequence[Combination], result: Result) -> Found:
        """The graph's answers: p_parse is the plan's probability times how surely links and relations match.

        Whether the question suits the graph, the table made for this model says; without one only a sure answer counts.

        Raises:
            InputError: the user's table cannot be used.
        """
        if SourceName.GRAPH not in self.tools.retriever.permitted(node.id):
            return []
        kind = skeleton(self.tree, node)
        if not kind:
            return []
        precision = self._table.precision(kind) if self.options.scheduler else math.inf
        if precision is not None and precision <= self.options.gamma:
            result.dropped.append(f"the graph was not asked: {kind} was right {precision:.2f} of the time")
            return []
        self._told.setdefault(node.id, {})[SourceName.GRAPH] = None

        def ask(request: Request) -> SourceResults:
            return searched(self.tools, node.id, request, self.question, sources=[SourceName.GRAPH])

        settings = self.tools.settings
        program = GraphProgram(self.tree, ask, settings.limits.references, settings.top_k)
        written = (share for node_id, share in self.planned.confidences.items() if node_id)
        parsed = next(written, self.planned.confidence)  # how surely the planner wrote the operators
        found: Found = []
        for place, one in enumerate(combined):
            at_root = node is self.tree.root
            asked = step.question if at_root else fill_question(self.tree, node.question, one.results)
            answer = program.answer(node, one.results, asked)
            add_evidence(result.evidence, answer.evidence)
            result.dropped += [note for note in answer.notes if note not in result.dropped]
            if answer.problem:
                continue
            if precision is None and not answer.sure:
                result.dropped.append("the graph's answer was not used: it does not surely link name and relation")
                continue
            p = product_confidence(parsed, answer.matched)
            candidate = Candidate(answer.values, p, GRAPH, tuple(answer.cited))
            found.append((place, ScoredAnswer(candidate, signals=answer.signals, computation=answer.computation)))
        return found

    def _passed_up(self, node: Node) -> list[ScoredAnswer] | None:
        """The last child's answers with their scores, if it rests on all others; else None."""
        if not ends_in_last(self.tree, node):
            return None
        last = node.children[-1]
        known = self.results.get(last.id, Result())
        if not known.values:
            return []
        below = worst([self.results[child.id].signals for child in node.children if self.results[child.id].values])
        told = f"answer of [{last.id}]"
        own = Candidate(known.values, known.confidence, CHILDREN, tuple(known.cited))
        first, *others = known.candidates or (own,)
        candidates = (replace(first, values=known.values), *others)
        return [
            ScoredAnswer(
                replace(one, origin=CHILDREN),
                signals=below if place == 0 else {},
                computation=told if known.computed and place == 0 else "",
            )
            for place, one in enumerate(candidates)
        ]

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
        reading = None
        with noting(result.dropped, CHILDREN):
            reading = self.tools.reader.from_steps(node.id, step.question, steps)
        if reading is None:
            return []
        result.dropped += [note for note in reading.dropped if note not in result.dropped]
        if reading.problem is not None:
            result.error = unreadable(reading.problem)
        _, cited = evidence_of(known.values())
        candidate = Candidate(values_read(reading), answer_p(reading), CHILDREN, tuple(cited))
        signals = worst([reading.signals, *(one.signals for one in known.values() if one.values)])
        return [(0, ScoredAnswer(candidate, signals=signals, reading=None))] if reading.answers else []

    def _computed(self, made: Sequence[Result], result: Result) -> Found:
        found: Found = []
        for place, one in enumerate(made):
            add_evidence(result.evidence, one.evidence)
            result.dropped += [note for note in one.dropped if note not in result.dropped]
            if one.values:
                candidate = Candidate(one.values, None, COMPUTED, tuple(one.cited))
                told = one.computation or "computed"
                found.append((place, ScoredAnswer(candidate, signals=one.signals, computation=told)))
        if not found and made:
            result.reason, result.none, result.computed = made[0].reason, made[0].none, True
        return found

    # -- the answers together

    def step_result(self, node: Node, step: Step) -> Result:
        known = self.asked_before(node)
        return known if known is not None else self._weighed(*self._ask(node, step))

    def root_result(self, node: Node, step: Step) -> Result:
        return self._final(node, step, *self._ask(node, step))

    def _ask(self, node: Node, step: Step) -> tuple[Result, ScoredAnswer | None]:
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
            earlier = [self.results.get(i, Result()) for i in node.references]
            for known in [*(self.results[child.id] for child in node.children), *earlier]:
                add_evidence(result.evidence, [item for item in known.evidence if item.id in best.candidate.evidence])
        result.values, result.method, result.thought = best.candidate.values, "aggregate", best.reasons
        result.cited, result.signals, result.error = list(best.candidate.evidence), dict(best.signals), None
        result.computation, result.computed = best.computation or None, bool(best.computation)
        result.reason = ""
        return result, best

    def _symbolic(self, node: Node, step: Step, result: Result) -> list[ScoredAnswer] | None:
        """The computed answers to a symbolic question; None where the question is to be asked of the sources."""
        if node.children or node is self.tree.root or not node.references or node.call is not None:
            return None
        combined, ids = self._combined(node.references, result), list(node.references)
        made: list[Result | None]
        if node.operation is not None:
            made = [computed_node(self.tree, node, one.results) for one in combined]
        else:
            made = [computed_question(self.tree, node, ids, one.results) for one in combined]
        if node.operation is not None or any(one is not None for one in made):
            found = self._computed([one or Result() for one in made], result)
        elif node.instruction:
            found = self.together(node, step, ids, combined, result)
        else:
            return None
        return self._over(found, combined, self.planned.confidences.get(node.id))

    def _asked(self, node: Node, step: Step, result: Result) -> list[ScoredAnswer]:
        """The answers of everything that suits the question."""
        combined = self._combined(() if node is self.tree.root else outer_references(node), result)
        inner = bool(node.children)
        scored: list[ScoredAnswer] = []
        if inner:
            scored += self._from_children(node, step, result)
        if inner and ((self.options.children_only or self.options.flat) or self.corrected(node)):
            return scored
        p = self.planned.confidences.get(node.id)
        suited: list[tuple[int, ScoredAnswer]] = self.graph(node, step, combined, result)
        suited += self.text(node, step, combined, result, schedule=True)
        unread = [note for note in result.dropped if note in (UNSUITED, UNSUITED_TO_RERANKER)]
        if not suited and not any(one.found for one in scored) and unread:
            result.dropped.remove(unread[0])
            result.dropped.append(_NOTHING_SUITS)
            suited = self.text(node, step, combined, result, schedule=False)
        if len(told := self._told.get(node.id, {})) > 1:
            tell_sources(self.tools, node.id, told)
        for place, one in suited:
            own = _times(p, one.candidate.score)
            score = mean((own, *combined[place].scores)) if combined[place].scores else own
            scored.append(_rated(one, score))
        return scored

    def _from_children(self, node: Node, step: Step, result: Result) -> list[ScoredAnswer]:
        """The last child's answers where it rests on the others; else what is said of all together."""
        passed = self._passed_up(node)
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
    def _over(
        found: Sequence[tuple[int, ScoredAnswer]], combined: Sequence[Combination], p: float | None
    ) -> list[ScoredAnswer]:
        """The answers over combinations: the mean of p_g, of p where the model read, and the scores that were used."""
        return [
            _rated(one, mean((_times(p, one.candidate.score), *combined[place].scores)))
            for place, one in found
            if one.found
        ]

    # -- the step's result

    def _weighed(self, result: Result, best: ScoredAnswer | None) -> Result:
        if best is None:
            return result
        result.confidence = best.candidate.score
        if best.candidate.origin == GRAPH:
            result.signals = step_signals(result)
            result.confidence = self.tools.calibration.step.probability(result.signals)
        return weighed_step(self.tools, result)

    def _final(self, node: Node, step: Step, result: Result, best: ScoredAnswer | None) -> Result:
        """The root's result: verified, or a guess where there is no answer and guesses are on, or the model's own."""
        tools, question = self.tools, step.question
        if best is None:
            return closed(tools, question, self._last_resort(node, step, result))
        result.confidence = best.candidate.score
        if best.candidate.origin in (CHILDREN, COMPUTED):
            if self.corrected(node):
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


class RoHT(TreeStrategy):
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


def _rated(one: ScoredAnswer, score: float | None) -> ScoredAnswer:
    return replace(one, candidate=replace(one.candidate, score=score))


def _joined(several: list[list[ScoredAnswer]]) -> list[ScoredAnswer]:
    """The answers to one question; those to questions about several values as one answer with their mean score."""
    if len(several) <= 1:
        return several[0] if several else []
    best = [scored[0] for scored in several if scored and scored[0].found]
    if not best:
        return []
    values = distinct(list(chain.from_iterable(one.candidate.values for one in best)))
    cited = tuple(dict.fromkeys(chain.from_iterable(one.candidate.evidence for one in best)))
    candidate = Candidate(values, mean(one.candidate.score for one in best), TEXT, cited)
    return [ScoredAnswer(candidate, signals=worst(one.signals for one in best))]


def answer_p(reading: Reading) -> float | None:
    """exp of :func:`answer_score`: 0 for Unknown, None if it is not known."""
    score = answer_score(reading)
    return math.exp(score) if score is not None else None
