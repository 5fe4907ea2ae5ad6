"""Answers with a score: the mean log-probability of the reasons that the model gives for them (ProbTree, section 3.2).

Reasons are asked for by a form. An adapter that has learnt the closed tasks gives none: there the answer itself is
scored. Where the model tells no log-probabilities, the score is the logarithm of the share of samples that agree.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import chain

from atomr_local.errors import AtomrError, Cancelled
from atomr_local.language.answer_key import answer_key
from atomr_local.reasoning.asking.forms import Form, Line, worked_examples
from atomr_local.reasoning.asking.writer import Written
from atomr_local.reasoning.candidates import Candidate, mean, vote
from atomr_local.reasoning.confidence.signals import MEMORY, READING
from atomr_local.reasoning.operators import values_read
from atomr_local.reasoning.parallel import run_each
from atomr_local.reasoning.reading.citation_verification import holds
from atomr_local.reasoning.reading.reading import Reading
from atomr_local.reasoning.results import Result, distinct
from atomr_local.sources.protocol import Evidence
from atomr_local.strategies.protocol import Toolbox
from atomr_local.strategies.shared.closing import CALLS_USED, final_values, repeats_question

TEXT, CHILDREN, MODEL, GRAPH, COMPUTED = "text", "children", "model", "graph", "computed"
UNKNOWN_SCORE = -math.inf
_PACKAGE = "atomr_local.strategies.shared"
_REASONS, _ANSWER = "Reasons", "Answer"
_ANSWER_TOKENS = 20
_SAMPLES = 3
_TEMPERATURE = 0.7  # of the samples after the first, which is greedy
REPEATED = "the model knows no answer: it only repeated the question"
AGREEMENT = f"scores are the agreement of {_SAMPLES} samples: the model tells no log-probabilities"
_NUMBER = re.compile(r"\[(\d{1,3})\]")


@cache
def _form(name: str) -> Form:
    fields = (Line(_REASONS), Line(_ANSWER, _ANSWER_TOKENS))
    return Form(_PACKAGE, name, fields, worked_examples(_PACKAGE, f"{name}_examples"))


@dataclass(frozen=True)
class Scored:
    """An answer as one way of answering gives it.

    Attributes:
        reasons: the model's, "" where it gives none.
        problem: why its output could not be read, or None.
        reading: what was read where a closed task was asked; the model can be asked about it.
        computation: the symbolic step that gave the answer, as text; "" where none did.
    """

    candidate: Candidate
    reasons: str = ""
    signals: Mapping[str, float] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    problem: str | None = None
    reading: Reading | None = None
    computation: str = ""

    @property
    def found(self) -> bool:
        return bool(self.candidate.values)


Way = tuple[str, Callable[[], Scored]]  # an origin, and what answers from there


@dataclass(frozen=True)
class ScoredAnswers:
    """Has the model answer in one way or another, each answer with its score. Thread-safe."""

    tools: Toolbox

    def from_evidence(self, node_id: int, question: str, evidence: Sequence[Evidence], *, whole: bool) -> Scored:
        """Open book; `whole`: from what was collected for several questions, not for this look-up alone."""
        reader = self.tools.reader
        read = reader.whole if whole else reader.from_evidence
        return self._answer(
            TEXT,
            lambda: read(node_id, question, evidence),
            lambda draws, temperature: self.tools.writer.write(
                node_id,
                "open book",
                _form("evidence"),
                evidence=evidence,
                draws=draws,
                temperature=temperature,
                question=question,
            ),
        )

    def from_memory(self, node_id: int, question: str) -> Scored:
        """Closed book. An answer that only repeats the question is none."""
        found = self._answer(
            MODEL,
            lambda: self.tools.reader.from_memory(node_id, question),
            lambda draws, temperature: self.tools.writer.write(
                node_id, "closed book", _form("memory"), draws=draws, temperature=temperature, question=question
            ),
        )
        if not found.found or not all(repeats_question(question, value.text) for value in found.candidate.values):
            return found
        nothing = replace(found.candidate, values=(), score=UNKNOWN_SCORE, evidence=())
        return replace(found, candidate=nothing, signals={}, notes=(*found.notes, REPEATED))

    def from_children(self, node_id: int, question: str, steps: Sequence[tuple[str, str]]) -> Scored:
        """From sub-questions and their answers."""
        lines = [f"{number}. {asked} {answer}" for number, (asked, answer) in enumerate(steps, 1)]
        return self._answer(
            CHILDREN,
            lambda: self.tools.reader.from_steps(node_id, question, steps),
            lambda draws, temperature: self.tools.writer.write(
                node_id,
                "combine",
                _form("children"),
                draws=draws,
                temperature=temperature,
                steps=lines,
                question=question,
            ),
        )

    def _answer(self, origin: str, read: Callable[[], Reading], write: Callable[[int, float], list[Written]]) -> Scored:
        if self.tools.asking.lean:
            reading = read()
            score = answer_score(reading)
            if score is not None:
                cited = tuple(item.id for item in reading.cited)
                candidate = Candidate(values_read(reading), score, origin, cited)
                signals = reading.signals | _memory(origin)
                return Scored(candidate, "", signals, reading.dropped, reading.problem, reading)
        [written] = write(1, 0.0)
        found = _scored(origin, written)
        if not found.found or found.candidate.score is not None:
            return found
        return _agreed([found, *(_scored(origin, one) for one in write(_SAMPLES - 1, _TEMPERATURE))])


def answers_each_way(tools: Toolbox, ways: Sequence[Way], result: Result) -> list[Scored]:
    """An answer each way, side by side; one that fails leaves the others. Notes and problems go to `result`."""
    left = tools.asking.calls_left
    if len(ways) > left:
        ways = ways[:left]
        result.dropped.append(CALLS_USED)

    def one(way: Way) -> Scored:
        origin, answer = way
        try:
            return answer()
        except Cancelled:
            raise
        except AtomrError as error:
            return Scored(Candidate((), UNKNOWN_SCORE, origin), problem=error.message)

    # Where calls are short, the first ways have them.
    together = tools.settings.llm.parallel if left >= _SAMPLES * len(ways) else 1
    scored = run_each(one, ways, together)
    problems = [f"{one.candidate.origin}: {one.problem}" for one in scored if one.problem is not None]
    result.dropped = list(dict.fromkeys(chain(result.dropped, *(one.notes for one in scored), problems)))
    if problems:
        result.error = {"title": "Answer not readable", "message": "; ".join(problems)}
    return scored


def children_score(combined: float | None, decomposed: float | None, children: Iterable[float | None]) -> float | None:
    """The mean over the reasons, the decomposition and the scores of the children, as far as they are known."""
    return mean((combined, decomposed, *children))


def answer_score(reading: Reading) -> float | None:
    """The mean log-probability of the answers' tokens; minus infinity for Unknown, None if it is not known."""
    if not reading.answers:
        return UNKNOWN_SCORE
    shares = reading.each or ((reading.confidence,) if reading.confidence is not None else ())
    return sum(math.log(share) if share > 0 else UNKNOWN_SCORE for share in shares) / len(shares) if shares else None


def answer_p(reading: Reading) -> float | None:
    """exp of :func:`answer_score`: 0 for Unknown, None if it is not known."""
    score = answer_score(reading)
    return math.exp(score) if score is not None else None


def _scored(origin: str, written: Written) -> Scored:
    values = distinct(list(chain.from_iterable(map(final_values, written[_ANSWER].split(";")))))
    cited = _cited(written, [value.text for value in values])
    candidate = Candidate(values, written.logprob(_REASONS) if values else UNKNOWN_SCORE, origin, cited)
    sure = written.generation.mean_probability
    signals = {READING: sure} if sure is not None and values else {}
    return Scored(candidate, written[_REASONS], signals | _memory(origin), written.dropped, written.problem)


def _memory(origin: str) -> dict[str, float]:
    return {MEMORY: 1.0} if origin == MODEL else {}


def _cited(written: Written, answers: Sequence[str]) -> tuple[str, ...]:
    """The passages that the reasons name by number, and for an answer that none of them has the first that has it."""
    if not answers:
        return ()
    numbers = [int(number) for number in _NUMBER.findall(written[_REASONS])]
    cited = [written.shown[number - 1] for number in numbers if 1 <= number <= len(written.shown)]
    for answer in answers:
        if not any(holds(answer, item) for item in cited):
            cited += [item for item in written.shown if holds(answer, item)][:1]
    return tuple(dict.fromkeys(item.id for item in cited))


def _agreed(samples: Sequence[Scored]) -> Scored:
    """The answer of most samples, with the logarithm of their share; Unknown never wins."""
    answers = [sample.candidate.answer for sample in samples]
    won = vote(answers)
    first = next(one for one, said in zip(samples, answers, strict=True) if answer_key(said) == answer_key(won.answer))
    share = len(samples) * won.share / _SAMPLES
    candidate = replace(first.candidate, score=math.log(share))
    return replace(first, candidate=candidate, notes=(*first.notes, AGREEMENT))
