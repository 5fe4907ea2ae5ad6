"""The answer to the whole question as every strategy hands it over: weighed in the same way."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import chain

from atomr_local.errors import AtomrError, Cancelled
from atomr_local.language.names import answer_key, names_in
from atomr_local.language.question_kind import expected_type
from atomr_local.reasoning import confidence as names
from atomr_local.reasoning.answer_selection import step_signals, tree_signals, weigh_direct
from atomr_local.reasoning.asking.writer import FilledForm, WrittenForm
from atomr_local.reasoning.candidates import Candidate, Vote, vote
from atomr_local.reasoning.confidence import MEMORY, READING
from atomr_local.reasoning.operations.compute import computed_question, evidence_of
from atomr_local.reasoning.operations.operands import alike
from atomr_local.reasoning.operators import GUESSED, compared, values_read
from atomr_local.reasoning.reading.answer_formats import VERDICTS, Reading
from atomr_local.reasoning.reading.checks import holds, mentioned_share
from atomr_local.reasoning.results import Result, distinct, product_confidence, text_values
from atomr_local.reasoning.trace.schema import Method
from atomr_local.reasoning.verdict.judge import repeats
from atomr_local.sources.protocol import Evidence, Value
from atomr_local.strategies.protocol import QuestionContext
from atomr_local.tree.nodes import ROOT_ID, Literal, Node, Operator, OperatorCall, References, Tree

# Noted where a strategy had to stop early.
CALLS_USED = "the question's model calls are used: answered from what had been found"
_DIRECT = frozenset({"direct_rag", "closed_book"})
_MEASURED = frozenset({names.READING, names.VERIFY})
_UNKNOWN = re.compile(r"unknown|none|n/?a|not (?:known|stated|mentioned|given)|no answer|", re.IGNORECASE)
_ABBREVIATION = re.compile(r"(?:\.\w+|\b[A-Z]\w?)$")  # "U.S", "Jr"


@contextmanager
def noting(notes: list[str], before: str) -> Iterator[None]:
    """Go on after a failure, which is noted behind these words; Cancelled is raised."""
    try:
        yield
    except Cancelled:
        raise
    except AtomrError as error:
        notes.append(f"{before}: {error.message}")


def closed(tools: QuestionContext, question: str, result: Result) -> Result:
    """The root's result with its confidence.

    An answer that the model read has the calibrated probability of such an answer. Any other keeps the confidence that
    its method gave it. The calibration was learnt on answers of `rag`; for other methods it is an estimate.
    """
    compared(result)
    measured = result.method in _DIRECT or not _MEASURED.isdisjoint(result.signals)
    if result.values and measured:
        weigh_direct(tools.calibration, question, result)
    return result


def closed_tree(
    tools: QuestionContext,
    tree: Tree,
    question: str,
    result: Result,
    results: Mapping[int, Result],
    *,
    natural: bool = True,
) -> Result:
    """The root's result with its confidence where it rests on the steps of a tree.

    Args:
        natural: the tree is of questions alone, without operators.
    """
    compared(result)
    if result.values:
        result.signals = tree_signals(tree, question, result, results, natural=natural)
        result.confidence = tools.calibration.tree.probability(result.signals)
    return result


def weighed_step(tools: QuestionContext, result: Result) -> Result:
    """A step's result with its confidence: the calibrated probability of what was looked up or read."""
    if result.values and not _MEASURED.isdisjoint(result.signals):
        result.signals = step_signals(result)
        result.confidence = tools.calibration.step.probability(result.signals)
    return result


def read_whole(tools: QuestionContext, node_id: int, question: str, evidence: Sequence[Evidence]) -> Reading:
    """An answer to the whole question from the evidence, best first; a guess if there is none and guesses are on."""
    if not evidence:
        return Reading()
    reading = tools.reader.whole(node_id, question, evidence)
    if not reading.answers and reading.problem is None and tools.settings.features.guess:
        reading = guessed(tools, node_id, question, evidence)
    return tools.reader.checked(node_id, reading)


def guessed(
    tools: QuestionContext, node_id: int, question: str, evidence: Sequence[Evidence], notes: Sequence[str] = ()
) -> Reading:
    """An answer where Unknown is not allowed, noted as a guess behind these notes."""
    reading = tools.reader.whole(node_id, question, evidence, guess=True)
    return replace(reading, dropped=(*notes, *reading.dropped, GUESSED))


def result_of(reading: Reading, method: Method, evidence: Sequence[Evidence]) -> Result:
    """The result of a step that was answered by this reading; `evidence`: everything found for it, best first."""
    return Result(
        values_read(reading),
        method if reading.answers else None,
        reading.confidence if reading.answers else None,
        list(evidence),
        cited=[item.id for item in reading.cited if item in evidence],
        dropped=list(reading.dropped),
        error=unreadable(reading.problem),
        signals=reading.signals | ({names.GUESS: 1.0} if GUESSED in reading.dropped else {}),
    )


def unreadable(problem: str | None) -> dict[str, str] | None:
    """The error of a step whose answer could not be read."""
    return {"title": "Answer not readable", "message": problem} if problem else None


def holding(question: str, answers: Sequence[str], evidence: Iterable[Evidence]) -> list[Evidence]:
    """The evidence that holds one of the answers, first what mentions most of the question."""
    held = [item for item in evidence if any(holds(answer, item) for answer in answers)]
    return sorted(held, key=lambda item: mentioned_share(question, [item]) or 0.0, reverse=True)


def voted(tally: Vote, draws: int, what: str, notes: Sequence[str]) -> Result:
    """The answer of most of so many draws, which are `what`, of the model's own knowledge."""
    weighed = tuple(Candidate(text_values([text]), count / draws, "model") for text, count in tally.counts.items())
    counted = f"{tally.counts[tally.answer]} of {draws} {what}"
    return Result(
        text_values([tally.answer]), "closed_book", computation=counted, dropped=list(notes), candidates=weighed
    )


def same(one: Sequence[Value], other: Sequence[Value]) -> bool:
    """Whether two answers name the same things, in any order."""
    keys = [answer_key(", ".join(value.text for value in values)) for values in (one, other)]
    if keys[0] == keys[1]:
        return True
    left = list(other)
    for value in one:
        match = next((item for item in left if alike(value, item) is True), None)
        if match is None:
            return _split(one, other)
        left.remove(match)
    return not left


def _split(one: Sequence[Value], other: Sequence[Value]) -> bool:
    """Whether one of the answers lists in one text what the other has apart."""
    alone, several = sorted((one, other), key=len)
    if len(alone) != 1 or len(several) < 2:
        return False
    parts = alone[0].text.replace(" and ", ", ").split(", ")
    return sorted(answer_key(part) for part in parts if part.strip()) == sorted(answer_key(v.text) for v in several)


def echoes(question: str, answer: str) -> bool:
    """Whether the answer is nothing but the question again."""
    return answer_key(answer) == answer_key(question)


def repeats_question(question: str, answer: str) -> bool:
    """Whether the answer is nothing but the question again, or a name from it: what models say that do not know."""
    return echoes(question, answer) or repeats(question, [answer])


def final_values(text: str) -> tuple[Value, ...]:
    """The final answer that a transcript ends with; () for Unknown. A full stop behind it is no part of it."""
    bare = text.strip().removesuffix(".")
    if not _ABBREVIATION.search(bare) or bare.casefold() in VERDICTS:
        text = bare
    return () if _UNKNOWN.fullmatch(text.strip(" .")) else text_values([text])


# The answer to the whole question from questions that were asked one after another, and from their answers.

# Noted where the model's own knowledge stands in: for a step of which nothing was found, or of which what was found
# does not tell; for all steps; or because no step was taken.
OWN = "nothing was found: this is the model's own knowledge"
UNTOLD = "what was found does not tell: this is the model's own knowledge"
ALL_OWN = "no step was answered from evidence: this is the model's own knowledge"
NO_LOOK_UP = "nothing was looked up: this is the model's own knowledge"

# How much less likely the end of a chain is right than all of its steps are: the probabilities of the steps do not
# count that a question may have been the wrong one. Fitted by likelihood on 88 answers of `self-ask` to development
# questions.
_SHARP = 3.0


def answer_from(
    tools: QuestionContext, question: str, steps: Sequence[tuple[str, Result]], final: FilledForm | None
) -> Result:
    """The final answer: the one that the model ended with, or else one that is asked for outright.

    It cites what the steps cite.
    """
    results = [result for _, result in steps]
    answered = [result for result in results if result.values]
    evidence, cited = evidence_of(results)
    if final is not None and final.text:
        result = _written(final, results)
    elif answered:
        result = _combined(tools, question, steps)
    else:
        result = result_of(tools.reader.from_memory(ROOT_ID, question), "closed_book", ())
    result.evidence = evidence
    if result.values and all(known.method == "closed_book" for known in answered):
        result.method = "closed_book"
        result.dropped.append(ALL_OWN if steps else NO_LOOK_UP)
    elif result.values:
        result.cited = cited
    return result


def following_from(question: str, steps: Sequence[tuple[str, Result]]) -> Result | None:
    """The final answer where it follows from the steps without the model; else None.

    What counts are the answers that no later question is about. The question may clearly ask for an operation over
    them: which is earlier, whether they are the same. Or there is only the last one: the end of a chain.
    """
    tree, ends = as_tree(question, steps)
    results = {number: result for number, (_, result) in enumerate(steps, 1)}
    computed = computed_question(tree, tree.root, ends, results)
    if computed is not None and computed.values:
        return computed
    if ends != [len(steps)] or not results[len(steps)].values or expected_type(question).surely("yes/no"):
        return None
    evidence, cited = evidence_of(results.values())
    last = results[len(steps)]
    # What no step has found, but the model remembered, is told as its memory.
    method = "child" if cited or last.method != "closed_book" else last.method
    return Result(
        last.values,
        method,
        product_confidence(*(one.confidence for one in results.values())),
        evidence,
        cited=cited,
    )


def from_answered(tools: QuestionContext, question: str, steps: Sequence[tuple[str, Result]]) -> Result:
    """The answer that follows from the answered steps, or that the model makes of them.

    Its confidence is a power of the probability that every step is right, see `_SHARP`. Without an answer if a step has
    none, or if one before the last has several, of which no question can be about one; and without steps.
    """
    results = {number: result for number, (_, result) in enumerate(steps, 1)}
    evidence, cited = evidence_of(results.values())
    several = any(len(result.values) > 1 for _, result in steps[:-1])
    if not steps or several or not all(result.values for result in results.values()):
        return Result(evidence=evidence)
    following = following_from(question, steps)
    if following is not None:
        result = following
    else:
        result = _combined(tools, question, steps)
        result.evidence, result.cited = evidence, cited if result.values else []
    if result.values:
        sure = math.prod(tools.calibration.step.probability(_as_asked(known)) for known in results.values())
        result.confidence = sure**_SHARP * (
            1.0 if following is not None or result.confidence is None else result.confidence
        )
        tree, _ = as_tree(question, steps)
        result.signals = tree_signals(tree, question, result, results)
    return result


def _combined(tools: QuestionContext, question: str, steps: Sequence[tuple[str, Result]]) -> Result:
    """The model's answer from the answers of the steps."""
    pairs = [(asked, result.told) for asked, result in steps]
    return result_of(tools.reader.from_steps(ROOT_ID, question, pairs), "child", ())


def _as_asked(result: Result) -> dict[str, float]:
    """The signals of a step that is a question of its own: read from what is found for it, it falls back on nothing."""
    return {name: value for name, value in step_signals(result).items() if name != names.FALLBACK}


def as_tree(question: str, steps: Sequence[tuple[str, Result]]) -> tuple[Tree, list[int]]:
    """The steps as look-ups of a tree, and which of them no later one is about."""
    nodes: list[Node] = []
    used: set[int] = set()
    for number, (asked, _) in enumerate(steps, 1):
        about = [i for i, (_, known) in enumerate(steps[: number - 1], 1) if any(text in asked for text in known.texts)]
        used.update(about)
        named = names_in([asked])
        head = References((about[-1],)) if about else Literal(max(named, key=len) if named else asked)
        nodes.append(Node(number, asked, OperatorCall(Operator.RELATE, (head, Literal(asked)))))
    return Tree(Node(ROOT_ID, question, children=tuple(nodes))), [node.id for node in nodes if node.id not in used]


def _written(final: FilledForm, results: Sequence[Result]) -> Result:
    """The answer that the model ended with, no surer than the least sure answer before it."""
    values = final_values(final.text)
    if not values:
        return Result()
    own = None if final.logprob is None else math.exp(final.logprob)
    known = [sure for sure in (own, *(result.confidence for result in results)) if sure is not None]
    return Result(values, "child", min(known, default=None) if own is not None else None)


# Answers with a score.

REASONS, ANSWER = "Reasons", "Answer"  # what a form asks for

TEXT, CHILDREN, MODEL, GRAPH, COMPUTED = "text", "children", "model", "graph", "computed"
UNKNOWN_SCORE = -math.inf
CALLS_A_WAY = 3  # samples, where the model tells no log-probabilities
REPEATED = "the model knows no answer: it only repeated the question"
AGREEMENT = f"scores are the agreement of {CALLS_A_WAY} samples: the model tells no log-probabilities"
_NUMBER = re.compile(r"\[(\d{1,3})\]")


@dataclass(frozen=True)
class ScoredAnswer:
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


def tell_problems(scored: Sequence[ScoredAnswer], result: Result) -> None:
    """Put the notes of the answers, and what could not be read, into the step's result."""
    problems = [f"{one.candidate.origin}: {one.problem}" for one in scored if one.problem is not None]
    result.dropped = list(dict.fromkeys(chain(result.dropped, *(one.notes for one in scored), problems)))
    if problems:
        result.error = unreadable("; ".join(dict.fromkeys(problems)))


def answer_score(reading: Reading) -> float | None:
    """The mean log-probability of the answers' tokens; minus infinity for Unknown, None if it is not known."""
    if not reading.answers:
        return UNKNOWN_SCORE
    shares = reading.each or ((reading.confidence,) if reading.confidence is not None else ())
    return sum(math.log(share) if share > 0 else UNKNOWN_SCORE for share in shares) / len(shares) if shares else None


def memory_signals(origin: str) -> dict[str, float]:
    return {MEMORY: 1.0} if origin == MODEL else {}


def with_reasons(origin: str, written: WrittenForm) -> ScoredAnswer:
    values = distinct(list(chain.from_iterable(map(final_values, written[ANSWER].split(";")))))
    cited = _cited(written, [value.text for value in values])
    candidate = Candidate(values, written.logprob(REASONS) if values else UNKNOWN_SCORE, origin, cited)
    sure = written.generation.mean_probability
    signals = {READING: sure} if sure is not None and values else {}
    return ScoredAnswer(candidate, written[REASONS], signals | memory_signals(origin), written.dropped, written.problem)


def _cited(written: WrittenForm, answers: Sequence[str]) -> tuple[str, ...]:
    """The passages that the reasons name by number, and for an answer that none of them has the first that has it."""
    if not answers:
        return ()
    numbers = [int(number) for number in _NUMBER.findall(written[REASONS])]
    cited = [written.shown[number - 1] for number in numbers if 1 <= number <= len(written.shown)]
    for answer in answers:
        if not any(holds(answer, item) for item in cited):
            cited += [item for item in written.shown if holds(answer, item)][:1]
    return tuple(dict.fromkeys(item.id for item in cited))


def agreed(samples: Sequence[ScoredAnswer]) -> ScoredAnswer:
    """The answer of most samples, with the logarithm of their share; Unknown never wins."""
    answers = [sample.candidate.answer for sample in samples]
    won = vote(answers)
    first = next(one for one, said in zip(samples, answers, strict=True) if answer_key(said) == answer_key(won.answer))
    share = len(samples) * won.share / CALLS_A_WAY
    candidate = replace(first.candidate, score=math.log(share))
    return replace(first, candidate=candidate, notes=(*first.notes, AGREEMENT))


# Lists of answers that prompts and votes see as one text.


class AnswerLists:
    """Tells a list of answers as one text, and takes the text apart again: a name may have a comma in it."""

    def __init__(self) -> None:
        self._lists: dict[str, tuple[str, ...]] = {}

    def text(self, answers: Sequence[str]) -> str:
        """The answers on one line."""
        told = ", ".join(answers)
        if len(answers) > 1:
            self._lists[told] = tuple(answers)
        return told

    def values(self, text: str) -> tuple[Value, ...]:
        """The answers that the text tells; it is one answer if it was not made by :meth:`text`."""
        return text_values(self._lists.get(text, (text,)))

    def __contains__(self, text: str) -> bool:
        return text in self._lists
