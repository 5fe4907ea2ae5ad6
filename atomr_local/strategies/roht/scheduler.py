"""RoHT's text executor: passages that suit a question are read; the score of an answer is p of the reading."""

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
from atomr_local.reasoning.candidates import Candidate, mean
from atomr_local.reasoning.confidence import worst
from atomr_local.reasoning.operators import SURE, overlap_coefficient, values_read
from atomr_local.reasoning.parallel import run_each
from atomr_local.reasoning.reading.answer_formats import Reading
from atomr_local.reasoning.results import Combination, Result, add_evidence, distinct, fill_question
from atomr_local.reasoning.steps import Step
from atomr_local.sources.protocol import Evidence, Request, SourceName, Value
from atomr_local.strategies.options import StrategyOptions
from atomr_local.strategies.shared.closing import CALLS_USED, TEXT, Scored, answer_score, tell_problems
from atomr_local.strategies.shared.plans import TreeWalk
from atomr_local.strategies.shared.tools import searched
from atomr_local.system import paths
from atomr_local.system.files import read_text
from atomr_local.tree.nodes import Literal, Node

# RoHT's scheduler: which of graph, text and sub-questions suit a question (Zhang et al., 2023, section 3.2).

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


@dataclass(frozen=True)
class GraphFit:
    """Whether a question suits the graph.

    Attributes:
        asked: whether to ask at all.
        sure: whether only a sure answer counts.
        note: why it is not asked, or ""."""

    asked: bool
    sure: bool = False
    note: str = ""


class RoHTOptions(StrategyOptions):
    """What suits a question, and how many answers are kept."""

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


class Scheduling(TreeWalk[RoHTOptions]):
    """Decides which of graph and text suit a question."""

    @cached_property
    def _table(self) -> SkeletonTable:
        """That of the model: the user's own before the one that ships."""
        key = (self.tools.asking.info.name, self.tools.asking.info.adapter)
        own = own_tables(paths.skeletons_file())
        return own[key] if key in own else shipped_tables().get(key, SkeletonTable())

    def suits_graph(self, skeleton: str) -> GraphFit:
        """Whether questions of this skeleton suit the graph: by the table made for this model, else by the answer.

        Raises:
            InputError: the user's table cannot be used.
        """
        if not self.options.scheduler:
            return GraphFit(True)
        precision = self._table.precision(skeleton)
        if precision is None:
            return GraphFit(True, sure=True)
        if precision > self.options.gamma:
            return GraphFit(True)
        return GraphFit(False, note=f"the graph was not asked: {skeleton} was right {precision:.2f} of the time")

    def suiting(self, question: str, evidence: Sequence[Evidence]) -> list[Evidence]:
        """The passages that suit the question: by the reranker, or else those that have enough of its words."""
        if not self.options.scheduler:
            return list(evidence)
        scores = self.tools.ranking.relevance(question, evidence, self.tools.cancellation)
        if scores is not None:
            return [item for item, score in zip(evidence, scores, strict=True) if score >= self.options.relevant]
        least = self.tools.settings.filter_overlap
        return [item for item in evidence if overlap_coefficient(question, f"{item.title} {item.text}") >= least]


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


class TextReading(Scheduling):
    """Searches and reads for the questions of a tree."""

    @property
    def _samples(self) -> int:
        """Further readings where the first one is unsure."""
        return self.options.samples if self.options.k > 1 else 0

    def text_answers(
        self, node: Node, step: Step, combined: Sequence[Combination], result: Result, *, schedule: bool
    ) -> list[list[Scored]]:
        """For each combination the answers, the score of each its p. Evidence and notes go to `result`.

        Args:
            schedule: read only what suits; else everything that is found.
        """
        names = [name for name in self.tools.retriever.permitted(node.id) if name != SourceName.GRAPH]
        if not names:
            return [[] for _ in combined]
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
        found: list[list[list[Scored]]] = [[] for _ in combined]
        for (place, _), scored in zip(jobs, read, strict=True):
            found[place].append(scored)
        tell_problems(list(chain.from_iterable(read)), result)
        return [_joined(several) for several in found]

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
            kept = self.suiting(question, found.evidence) if schedule else found.evidence
            made.append(_Asked(question, of, tuple(kept)))
        return made

    def _questions(
        self, node: Node, step: Step, combination: Combination, result: Result
    ) -> list[tuple[str, tuple[Value, ...]]]:
        """The question about each value of the steps that it refers to, and what its answer is a value of."""
        if node is self.tree.root:
            return [(step.question, ())]
        results, steps = combination.results, node.references
        head = node.call.arguments[0] if node.call is not None else None
        named = (Value(head.text),) if isinstance(head, Literal) and not head.references else ()
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

    def _read(self, node_id: int, asked: _Asked, whole: bool, alone: bool) -> list[Scored]:
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
            return [Scored(Candidate((), None, TEXT), problem=error.message)]
        if sure is not None:
            return [self._scored(one, answer_p(one), asked) for one in (first, *drawn) if one.answers or one is first]
        return self._agreed([first, *drawn], asked)

    def _agreed(self, readings: Sequence[Reading], asked: _Asked) -> list[Scored]:
        """Each answer once, with the share of the readings that give it."""
        made: dict[str, list[Scored]] = {}
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
    def _scored(reading: Reading, sure: float | None, asked: _Asked) -> Scored:
        values = tuple(replace(value, of=asked.of) for value in values_read(reading))
        cited = tuple(item.id for item in reading.cited)
        return Scored(
            Candidate(values, sure, TEXT, cited), "", reading.signals, reading.dropped, reading.problem, reading
        )


def _joined(several: list[list[Scored]]) -> list[Scored]:
    """The answers to one question; those to questions about several values as one answer with their mean score."""
    if len(several) <= 1:
        return several[0] if several else []
    best = [scored[0] for scored in several if scored and scored[0].found]
    if not best:
        return []
    values = distinct(list(chain.from_iterable(one.candidate.values for one in best)))
    cited = tuple(dict.fromkeys(chain.from_iterable(one.candidate.evidence for one in best)))
    candidate = Candidate(values, mean(one.candidate.score for one in best), TEXT, cited)
    return [Scored(candidate, signals=worst(one.signals for one in best))]


def answer_p(reading: Reading) -> float | None:
    """exp of :func:`answer_score`: 0 for Unknown, None if it is not known."""
    score = answer_score(reading)
    return math.exp(score) if score is not None else None
