"""Answer selection: how sure the answers are, and whether the tree's answer or a direct one stands.

Each answer is as likely to be right as its calibration says (see `confidence/calibration.py`). The likelier one stands;
two that agree strengthen each other (RoHT and ProbTree combine the answers of several ways similarly).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace

from atomr_local.language.answer_type import expected_type
from atomr_local.language.literals import parse_date
from atomr_local.reasoning.answer_selection.answer_signals import (
    agree,
    raw_confidence,
    step_signals,
    tree_signals,
    whole_signals,
)
from atomr_local.reasoning.answer_selection.other_source import beside_other_source
from atomr_local.reasoning.confidence import signals as names
from atomr_local.reasoning.confidence.calibration import Calibration
from atomr_local.reasoning.operators import Operators
from atomr_local.reasoning.reading.answer_formats import VERDICTS
from atomr_local.reasoning.reading.reader import Reader
from atomr_local.reasoning.results import Result, add_evidence, distinct, product_confidence, text_values
from atomr_local.sources.protocol import Value
from atomr_local.tree.answer_types import NO_QUESTION, AnswerType
from atomr_local.tree.nodes import Node, Tree

# An answer with this probability is not asked for by follow-up questions as well.
_SETTLED = 0.75
_EVEN = 0.5
# The methods of answers that were read for the whole question at once.
_WHOLE = frozenset({"direct_rag", "closed_book"})
_MEASURED = frozenset({names.READING, names.LINK, names.RELATION})


@dataclass
class AnswerSelection:
    """Gives the results of one question their confidence, and chooses the answer of the whole question.

    Attributes:
        calibration: None: results keep the figures of the model and of the graph, and no direct answer competes with
            the tree's.
        direct: whether a direct answer may compete with the tree's.
        ask_on: answers the whole question by questions that are written one after another; its answer competes with one
            that is not sure. None: there is no such answer.
        guess: whether a question that stays Unknown is answered with the most likely words of its evidence.
        corrected: whether a step's answer is the user's own. It is neither weighed nor outvoted by a direct answer.
        unpicked: whether the question asks for one of several ("last", "largest") and no step of the plan does. Which
            of several answers is meant is then not known: they are no surer than one of them drawn at random.
    """

    operators: Operators
    reader: Reader
    calibration: Calibration | None
    _: KW_ONLY
    direct: bool = True
    ask_on: Callable[[str], Result] | None = None
    guess: bool = True
    corrected: bool = False
    unpicked: bool = False

    def weigh_step(self, result: Result) -> None:
        """Set the confidence of a step that was looked up or read; without a measured signal it has none."""
        if self.calibration is not None and result.values and not _MEASURED.isdisjoint(result.signals):
            result.signals = step_signals(result)
            result.confidence = self.calibration.step.probability(result.signals)

    def beside_other_source(self, node: Node, question: str, arguments: tuple[Value, ...], result: Result) -> Result:
        """A step's answer beside that of the other local source; see :func:`beside_other_source`."""
        if self.calibration is None:
            return result
        return beside_other_source(self.operators, self.calibration.step, node, question, arguments, result)

    def final(self, tree: Tree, question: str, asked: str, result: Result, results: Mapping[int, Result]) -> Result:
        """The answer to the whole question, given the tree's `result`.

        Args:
            asked: the question in the user's own words; a follow-up question as it was understood.
        """
        unasked = tree.expects is not None and tree.expects.type in NO_QUESTION
        open_question = not result.none and not unasked
        if open_question and not result.values:
            result = self._direct_instead(tree, asked, result)
        result = self.weigh_whole(tree, question, asked, result, results)
        if open_question:
            result = self._beside_asked_on(tree, asked, result)
            if not result.values:
                result = self._last_resort(tree.root.id, question, result)
                result = self.weigh_whole(tree, question, asked, result, results)
        shorten(question, result)
        if self.unpicked and not self.corrected and len(result.values) > 1 and result.confidence is not None:
            result.confidence = min(result.confidence, 1 / len(result.values))
        return result

    def weigh_whole(
        self, tree: Tree, question: str, asked: str, result: Result, results: Mapping[int, Result]
    ) -> Result:
        """The root's answer with its confidence, or a direct answer that is more likely right. The trace holds both."""
        calibration = self.calibration
        if calibration is None or not result.values:
            return result
        if result.method in _WHOLE:  # a direct answer already
            result.signals = whole_signals(question, result)
            result.confidence = calibration.of_whole(result.signals)
            return result
        if self.corrected or (tree.is_direct and result.method == "operator"):  # the latter: a topic's own page, quoted
            return result
        result.signals = tree_signals(tree, question, result, results)
        result.confidence = calibration.tree.probability(result.signals)
        if not self.direct or not tree.root.children or result.confidence >= calibration.sure:
            return result
        direct = self._direct_answer(tree, asked)
        return likelier(calibration, result, direct) if direct.values else result

    def _direct_instead(self, tree: Tree, asked: str, result: Result) -> Result:
        """A direct answer to the whole question if the tree found none."""
        if not self.direct or self.corrected or self.calibration is None or not tree.root.children:
            return result
        direct = self._direct_answer(tree, asked)
        _share_evidence(result, direct)
        if not direct.values:
            return result
        direct.dropped = [*result.dropped, *direct.dropped]
        return direct

    def _direct_answer(self, tree: Tree, asked: str) -> Result:
        """An answer to the whole question by direct RAG."""
        direct = self.operators.direct_rag(tree.root.id, asked, everywhere=True)
        if direct.values:
            direct.signals = whole_signals(asked, direct)
        return direct

    def _beside_asked_on(self, tree: Tree, asked: str, result: Result) -> Result:
        """The answer beside the one that asking on gives, unless it is sure, the user's own, or a quoted page."""
        if self.ask_on is None or self.corrected or self.calibration is None:
            return result
        if result.values and not (result.signals and (result.confidence or 0.0) < _SETTLED):
            return result
        other = _in_form(tree, self.ask_on(asked))
        if not other.values:
            result.dropped.extend(other.dropped)
            add_evidence(result.evidence, other.evidence)
            return result
        _share_evidence(result, other)
        if not result.values:
            other.dropped = [*result.dropped, *other.dropped]
            return other
        surer = (other.confidence or 0.0) > (result.confidence or 0.0)
        if not (agree(result.texts, other.texts) or _within(result.texts, other.texts)):
            return _instead(result, other, surer and not other.signals.get(names.NAMED), ("found", "asked on"))
        if surer:  # the same answer, as surely as the follow-up questions tell it, in the form that the plan gave it
            other.values, other.dropped = result.values, [*result.dropped, *other.dropped]
        stands = other if surer else result
        stands.signals = stands.signals | {names.RIVAL: 1.0}
        return stands

    def _last_resort(self, node_id: int, question: str, result: Result) -> Result:
        """The most likely answer in the evidence; without evidence the model's own knowledge."""
        if result.evidence and self.guess:
            guessed = self.operators.guess(node_id, question, result.evidence)
            guessed.dropped = [*result.dropped, *guessed.dropped]
            result = guessed
        if not result.values:
            self._from_memory(question, result)
        return result

    def _from_memory(self, question: str, result: Result) -> None:
        reading = self.reader.from_memory(0, question)
        if reading.answers:
            result.values = text_values(reading.answers)
            result.confidence = reading.confidence
            result.method = "closed_book"
            result.cited = []
            result.signals = {names.READING: reading.confidence} if reading.confidence is not None else {}


def likelier(calibration: Calibration, tree: Result, direct: Result) -> Result:
    """The more likely of two answers, with its confidence given the other."""
    same = agree(tree.texts, direct.texts)
    compared = compare(calibration, tree.signals, direct.signals, same)
    tree.confidence, direct.confidence = compared.tree, compared.direct
    tree.signals, direct.signals = (
        _beside(tree.signals, direct.signals, same),
        _beside(direct.signals, tree.signals, same),
    )
    _share_evidence(tree, direct)
    if same:
        return tree
    # Of two possible answers, one that is more likely wrong than right speaks for the other.
    for_the_tree = _opposite(tree.texts, direct.texts) and compared.direct <= _EVEN
    return _instead(tree, direct, compared.direct_stands and not for_the_tree, ("tree", "direct"))


def _instead(first: Result, second: Result, second_stands: bool, called: tuple[str, str]) -> Result:
    """The second of two answers if it stands, else the first; the trace holds both, `called` so."""
    one, other = called
    sure, surer = first.confidence or 0.0, second.confidence or 0.0
    both = f"{one}: {first.answer} ({sure:.2f}); {other}: {second.answer} ({surer:.2f})"
    if not second_stands:
        first.dropped.append(both)
        return first
    second.computation = both
    second.dropped = [*first.dropped, *second.dropped]
    return second


def _in_form(tree: Tree, result: Result) -> Result:
    """The result, without its answer if that is neither yes nor no where one of these is asked for."""
    if tree.expects is None or tree.expects.type is not AnswerType.YES_NO:
        return result
    if all(text.casefold() in VERDICTS for text in result.texts):
        return result
    return Result(evidence=result.evidence, dropped=[*result.dropped, f"neither yes nor no: {result.answer}"])


def _share_evidence(one: Result, other: Result) -> None:
    """Give both answers the evidence of both."""
    evidence = list(one.evidence)
    add_evidence(evidence, other.evidence)
    one.evidence = other.evidence = evidence


def _beside(own: Mapping[str, float], others: Mapping[str, float], same: bool) -> dict[str, float]:
    """The signals of one answer, whether the other candidate agrees, and the other's signals."""
    return {**own, names.RIVAL: float(same), **{names.OTHER + name: value for name, value in others.items()}}


@dataclass(frozen=True, slots=True)
class Compared:
    """The probability that each of two answers is right, given the other, and whether the direct one stands."""

    tree: float
    direct: float
    direct_stands: bool


def compare(calibration: Calibration, tree: Mapping[str, float], direct: Mapping[str, float], same: bool) -> Compared:
    """Compare the tree's answer with a direct one, by their signals; `same`: they agree."""
    one = calibration.tree.probability({**tree, names.RIVAL: float(same)})
    other = calibration.of_whole({**direct, names.RIVAL: float(same)})
    if not same:
        return Compared(one, other, other > one and not direct.get(names.NAMED))
    if tree.get(names.NAMED):  # two repetitions of the question do not strengthen each other
        return Compared(calibration.tree.probability(tree), other, False)
    if calibration.tree.uses(names.RIVAL):
        both = (one + other) / 2
    else:
        both = _joined(calibration.tree.probability(tree), calibration.of_whole(direct))
    return Compared(both, both, False)


def _opposite(one: Sequence[str], other: Sequence[str]) -> bool:
    """Whether one answer is yes and the other no."""
    return {text.casefold() for text in (*one, *other)} == set(VERDICTS) and len(one) == len(other) == 1


def _within(one: Sequence[str], other: Sequence[str]) -> bool:
    """Whether two single answers are dates of which one lies in the other, such as a day in its year."""
    dates = [parse_date(texts[0]) if len(texts) == 1 else None for texts in (one, other)]
    if None in dates:
        return False
    first, second = sorted((date for date in dates if date is not None), key=lambda date: date.first)
    return second.last <= first.last or first.first == second.first


def _joined(one: float, other: float) -> float:
    """Probability of an answer that two independent ways have found."""
    return 1.0 - (1.0 - one) * (1.0 - other)


def year_asked_for(question: str, answer: str) -> str:
    """The year of a date if the question clearly asks for a year; any other answer unchanged.

    Only for the final answer: steps that use the date need all of it.
    """
    date = parse_date(answer, bare_year=False)
    if date is None or date.year <= 0 or not expected_type(question).surely("year"):
        return answer
    return f"{date.year}"


def shorten(question: str, result: Result) -> None:
    """Reduce dates to the year if a year is asked for; the computation keeps the full dates."""
    short = tuple(replace(value, text=year_asked_for(question, value.text)) for value in result.values)
    if short != result.values:
        in_full = f"in full: {'; '.join(result.texts)}"
        result.computation = f"{result.computation}; {in_full}" if result.computation else in_full
        result.values = distinct(short)


def surest_pair(earlier: Result, result: Result, answer_after: Callable[[Result], Result]) -> tuple[Result, Result]:
    """Beam search over an unsure step: try its alternatives and keep the best pair of results.

    Args:
        earlier: the result of an unsure step, with alternatives.
        result: the dependent step's result after `earlier`; it receives the evidence of every trial.
        answer_after: runs the dependent step after another result of the earlier one.
    """
    best_earlier, best = earlier, result
    best_confidence = _together(raw_confidence(earlier), result)
    for value, confidence in earlier.others:
        trial = replace(earlier, values=(value,), confidence=confidence, others=(), signals={names.READING: confidence})
        found = answer_after(trial)
        together = _together(confidence, found)
        if together > best_confidence:
            best_earlier, best, best_confidence = trial, found, together
        add_evidence(result.evidence, found.evidence)
    if best_earlier is not earlier:
        best.evidence = result.evidence
    return best_earlier, best


def _together(earlier: float | None, result: Result) -> float:
    """Confidence of two steps together; 0 if the operator of the second gave no answer."""
    if not result.values or result.method != "operator":
        return 0.0
    return product_confidence(earlier, raw_confidence(result)) or 0.0
