"""RoHT's text executor: passages that suit a question are read; the score of an answer is p of the reading."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain

from atomr_local.errors import AtomrError, Cancelled
from atomr_local.reasoning.arguments import fill_question
from atomr_local.reasoning.candidates import Candidate, mean
from atomr_local.reasoning.combinations import Combination
from atomr_local.reasoning.confidence.signals import worst
from atomr_local.reasoning.operators import SURE, values_read
from atomr_local.reasoning.parallel import run_each
from atomr_local.reasoning.reading.reading import Reading
from atomr_local.reasoning.results import Result, add_evidence, distinct
from atomr_local.reasoning.steps import Step
from atomr_local.sources.protocol import Evidence, Request, SourceName, Value
from atomr_local.strategies.protocol import Toolbox
from atomr_local.strategies.roht.scheduler import Scheduler
from atomr_local.strategies.shared.closing import CALLS_USED
from atomr_local.strategies.shared.scored_answers import TEXT, Scored, answer_p
from atomr_local.strategies.shared.searching import searched
from atomr_local.tree.nodes import Literal, Node, Tree

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


@dataclass(frozen=True)
class TextExecutor:
    """Searches and reads for the questions of one tree.

    Attributes:
        question: the whole question, whose words may go to the web.
        passages: pieces of evidence per source for a question.
        samples: further readings where the first one is unsure.
    """

    tools: Toolbox
    tree: Tree
    scheduler: Scheduler
    question: str
    passages: int
    samples: int

    def answers(
        self, node: Node, step: Step, combined: Sequence[Combination], result: Result, *, schedule: bool
    ) -> list[list[Scored]]:
        """For each combination the answers, the score of each its p. Evidence and notes go to `result`.

        Args:
            schedule: read only what suits; else everything that is found.
        """
        names = [name for name in self.tools.retriever.permitted(node.id) if name != SourceName.GRAPH]
        if not names:
            return [[] for _ in combined]
        asked = [self._asked(node, step, one, names, result, schedule) for one in combined]
        jobs = [(place, one) for place, several in enumerate(asked) for one in several if one.evidence]
        if not jobs and result.evidence and schedule:
            by_model = bool(self.tools.settings.retrieval.reranker)
            result.dropped.append(UNSUITED_TO_RERANKER if by_model else UNSUITED)
        whole = node is self.tree.root or bool(node.children)
        left = self.tools.asking.calls_left
        together = self.tools.settings.llm.parallel if left > len(jobs) * (1 + self.samples) else 1
        if len(jobs) > left:
            jobs = jobs[:left]
            result.dropped.append(CALLS_USED)
        read = run_each(lambda job: self._read(node.id, job[1], whole, len(asked[job[0]]) == 1), jobs, together)
        found: list[list[list[Scored]]] = [[] for _ in combined]
        for (place, _), scored in zip(jobs, read, strict=True):
            found[place].append(scored)
        self._tell(list(chain.from_iterable(read)), result)
        return [_joined(several) for several in found]

    def _asked(
        self, node: Node, step: Step, combination: Combination, names: list[str], result: Result, schedule: bool
    ) -> list[_Asked]:
        made = []
        shown = [text for known in combination.results.values() for text in known.texts]
        for question, of in self._questions(node, step, combination, result):
            request = Request(question, question, top_k=self.passages)
            found = searched(self.tools, node.id, request, self.question, answers=shown, sources=names)
            add_evidence(result.evidence, found.evidence)
            result.dropped += [note for note in (*found.dropped, *found.problems) if note not in result.dropped]
            if found.problems:
                result.error = {"title": "Source failed", "message": "; ".join(found.problems)}
            kept = self.scheduler.passages(question, found.evidence) if schedule else found.evidence
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
            if not first.answers or (sure is not None and (not alone or sure >= SURE)) or not self.samples:
                return [self._scored(first, sure, asked)]
            if not self.tools.asking.spares(self.samples):
                return [self._scored(first, sure, asked)]
            drawn = reader.samples(node_id, asked.question, asked.evidence, self.samples, _TEMPERATURE, whole=whole)
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

    @staticmethod
    def _tell(scored: Sequence[Scored], result: Result) -> None:
        notes = dict.fromkeys(chain(result.dropped, *(one.notes for one in scored)))
        problems = [f"{TEXT}: {one.problem}" for one in scored if one.problem is not None]
        result.dropped = list(dict.fromkeys([*notes, *problems]))
        if problems:
            result.error = {"title": "Answer not readable", "message": "; ".join(dict.fromkeys(problems))}


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
