"""Answer selection: how sure the answers are, and whether the tree's answer or a direct one stands.

Each answer is as likely to be right as its calibration says (see `confidence.py`). The likelier one stands;
two that agree strengthen each other (RoHT and ProbTree combine the answers of several ways similarly).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace

from atomr_local.errors import AtomrError, Cancelled
from atomr_local.language.literals import number_words, parse_date, parse_quantity
from atomr_local.language.names import base_key
from atomr_local.language.question_kind import expected_type
from atomr_local.reasoning import confidence as names
from atomr_local.reasoning.confidence import Calibration, LogisticModel, worst
from atomr_local.reasoning.operators import Operators, compared
from atomr_local.reasoning.reading.answer_formats import VERDICTS
from atomr_local.reasoning.reading.checks import supported
from atomr_local.reasoning.reading.reader import Reader
from atomr_local.reasoning.results import Result, add_evidence, asked_about, distinct, product_confidence, text_values
from atomr_local.reasoning.trace.events import SourcesSelected
from atomr_local.reasoning.verdict.judge import repeats
from atomr_local.sources.protocol import SourceName, Value
from atomr_local.tree.calls import NO_QUESTION, AnswerType
from atomr_local.tree.nodes import Node, Tree
from atomr_local.tree.operations import ResultKind

# Collects the signals of an answer over the steps that it depends on.


# The factor of a step without an answer in the product of confidences.
UNKNOWN = 0.05
_MATCH = (names.LINK, names.RELATION)


def agree(one: Iterable[str], other: Iterable[str]) -> bool:
    """Whether two answers name the same things."""
    return {base_key(text) for text in one} == {base_key(text) for text in other}


def raw_confidence(result: Result) -> float | None:
    """The confidence of a step's reading, or else of the graph; None if it is unknown."""
    signals = result.signals
    if names.READING in signals:
        return signals[names.READING]
    matched = [signals[name] for name in _MATCH if name in signals]
    return math.prod(matched) if matched else result.confidence


def step_signals(result: Result) -> dict[str, float]:
    """A step's signals with the result of its citation check. A reading does not depend on the graph's match."""
    read = names.READING in result.signals
    signals = {name: value for name, value in result.signals.items() if not (read and name in _MATCH)}
    held = None if result.computed else supported(result.texts, result.cited_evidence)
    if held is not None and (result.cited or read):
        signals[names.SUPPORT] = float(held)
    if result.method == "direct_rag":
        signals[names.FALLBACK] = 1.0
    if result.method == "closed_book":
        signals[names.MEMORY] = 1.0
    return signals


def whole_signals(question: str, result: Result) -> dict[str, float]:
    """The signals of an answer that was read for the whole question at once."""
    signals = step_signals(result)
    signals.pop(names.FALLBACK, None)
    signals[names.NAMED] = float(not result.computed and repeats(question, result.texts))
    signals[names.ANSWERS] = float(len(result.values))
    signals[names.LEAVES] = signals.get(names.READING, 0.0)
    return signals


def weigh_direct(calibration: Calibration, question: str, result: Result) -> None:
    """Give an answer that was read for the whole question at once its signals and its confidence."""
    result.signals = whole_signals(question, result)
    result.confidence = calibration.of_whole(result.signals)


def tree_signals(
    tree: Tree, question: str, root: Result, results: Mapping[int, Result], *, natural: bool = False
) -> dict[str, float]:
    """The signals of an answer that depends on the steps of a tree.

    Args:
        root: the root's result from its steps.
        natural: the tree is of questions, without operators: every leaf was looked up.
    """
    leaves = {node.id for node in tree.nodes() if natural and not node.children} - {tree.root.id}
    steps = list(_steps(tree, root, results, leaves))
    looked_up = [
        result for node, result in steps if node.call is not None or node.id in leaves or result.method == "direct_rag"
    ]
    answered = [result for _, result in steps if result.values]
    each = [step_signals(result) for result in answered]
    signals = worst([*each, {name: value for name, value in step_signals(root).items() if name == names.SUPPORT}])
    signals.pop(names.FALLBACK, None)
    signals[names.LEAVES] = 1.0
    for _, result in steps:
        own = raw_confidence(result)
        signals[names.LEAVES] *= UNKNOWN if not result.values else 1.0 if own is None else own
    verified = [one[names.VERIFY] for one in each if names.VERIFY in one]
    if verified:
        signals[names.VERIFIED] = math.prod(verified)
    if looked_up:
        signals[names.FALLBACK] = sum(result.method == "direct_rag" for result in looked_up) / len(looked_up)
        signals[names.UNFINISHED] = sum(not result.values for result in looked_up) / len(looked_up)
    signals[names.STEPS] = float(len(looked_up))
    signals[names.COMPUTED] = float(root.computed)
    signals[names.NAMED] = float(not root.computed and repeats(question, root.texts))
    signals[names.ANSWERS] = float(len(root.values))
    return signals


def _steps(
    tree: Tree, root: Result, results: Mapping[int, Result], leaves: Collection[int]
) -> Iterator[tuple[Node, Result]]:
    """The steps that were looked up or read; computed and passed-on results add nothing."""
    for node in tree.nodes():
        result = root if node.id == tree.root.id else results.get(node.id)
        if result is None:
            continue
        if node.call is not None or node.id in leaves or names.READING in result.signals:
            yield node, result


# An unsure step is looked up in the other local source as well.
#
# The same answer is then surer; of two answers the surer one stands.


# A step with this probability is not looked up again.
_SETTLED = 0.75
# The most model calls of a reading: of the page and of all passages, with alternatives, a vote and verification.
_MOST_CALLS = 12
_OTHER = {SourceName.GRAPH: SourceName.TEXT, SourceName.TEXT: SourceName.GRAPH}


def beside_other_source(
    operators: Operators,
    calibrated: LogisticModel,
    node: Node,
    question: str,
    arguments: tuple[Value, ...],
    result: Result,
) -> Result:
    """The answer of a step that one source gave, weighed against what the other one has.

    Args:
        calibrated: the probability of a step.
        arguments: of the step's one run.

    Raises:
        Cancelled: the question was cancelled.
    """
    source = _only_source(result)
    if node.call is None or source is None:
        return result
    sure = _probability(calibrated, result)
    other_source = _OTHER[source]
    if sure is None or sure >= _SETTLED or other_source not in operators.retriever.permitted(node.id):
        return result
    if other_source is SourceName.TEXT and not operators.reader.asking.spares(_MOST_CALLS):
        return _noted(result, "not looked up in the text as well: the question's model calls are used")
    try:
        other = operators.from_source(node.id, node.call.operator, question, arguments, other_source)
    except Cancelled:
        raise
    except AtomrError as error:  # the answer that there is stands
        return _noted(result, f"not looked up in the {other_source} as well: {error.message}")
    both = SourcesSelected(node_id=node.id, sources=(source, other_source), reason=f"the {source} was not sure")
    operators.retriever.recorder.emit(both)
    if not other.values:
        add_evidence(result.evidence, other.evidence)
        return result
    return _surer(calibrated, result, sure, other)


def _surer(calibrated: LogisticModel, result: Result, sure: float, other: Result) -> Result:
    """The surer of two answers; of the same answer the form in which the graph has it."""
    same = agree(result.texts, other.texts)
    surer = _probability(calibrated, other) or 0.0
    note = f"{result.answer} ({sure:.2f}); the other source: {other.answer} ({surer:.2f})"
    evidence = list(result.evidence)
    add_evidence(evidence, other.evidence)
    stands = other if surer > sure else result
    values = stands.values
    if same:
        values = max((result.values, other.values), key=lambda found: sum(value.iri is not None for value in found))
    cited = list(dict.fromkeys([*result.cited, *other.cited])) if same else stands.cited
    weighed = replace(
        result,
        values=values,
        method=stands.method,
        confidence=stands.confidence,
        evidence=evidence,
        cited=cited,
        quotes=stands.quotes,
        others=stands.others,
        signals=stands.signals | {names.RIVAL: float(same)},
        dropped=[*result.dropped, *other.dropped, note],
    )
    compared(weighed)
    return weighed


def _only_source(result: Result) -> SourceName | None:
    """The local source that the answer rests on alone; None if the model read both, or if it is neither."""
    cited = {item.source for item in result.evidence if item.id in result.cited}
    read = {item.source for item in result.evidence} if names.READING in result.signals else cited
    [source, *more] = cited or {""}
    return SourceName(source) if not more and read == cited and source in _OTHER else None


def _probability(calibrated: LogisticModel, result: Result) -> float | None:
    """How probable the step's answer is; None without one, and for the title of a page, which nothing was read in."""
    cited = {item.source for item in result.evidence if item.id in result.cited}
    if not result.values or (names.READING not in result.signals and cited != {SourceName.GRAPH}):
        return None
    return calibrated.probability(step_signals(result))


def _noted(result: Result, note: str) -> Result:
    result.dropped.append(note)
    return result


# An answer with this probability is not asked for by follow-up questions as well.
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
        pointed: the answer read in the passages nearest to the question, if that has been done; it is the first direct
            one to compete.
        checked: takes away an answer that may not be one, if it is read here.
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
    pointed: Result | None = None
    checked: Callable[[str, Result], Result] | None = None
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
            weigh_direct(calibration, question, result)
            return self._beside_pointed(result)
        # Of a question alone: a topic's own page, quoted, or what is counted over all documents.
        if self.corrected or (tree.is_direct and result.method in ("operator", "computed")):
            return result
        result.signals = tree_signals(tree, question, result, results)
        result.confidence = calibration.tree.probability(result.signals)
        # No passage tells what is computed, however sure its reading is.
        read = 0.0 if self.pointed is None or result.computed else self.pointed.confidence or 0.0
        if not self.direct or not tree.root.children or result.confidence >= max(calibration.sure, read):
            return result
        direct = self._direct_answer(tree, asked)
        if not direct.values or (direct.signals.get(names.SUBJECT) == 0.0 and not agree(result.texts, direct.texts)):
            return result
        return likelier(calibration, result, direct)

    def _beside_pointed(self, direct: Result) -> Result:
        """The surer of two direct answers: this one, or that read in the passages nearest to the question."""
        read = self.pointed
        if read is None or not read.values or (read.confidence or 0.0) <= (direct.confidence or 0.0):
            return direct
        _share_evidence(direct, read)
        return _instead(direct, read, True, ("direct", "pointed"))

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
        """An answer to the whole question at once: in the passages nearest to it, else by direct RAG."""
        direct = self.whole_answer(tree.root.id, asked)
        if direct.values and not direct.signals.get(names.QUOTED) and _computes_number(tree):
            direct = _only_number(direct)
        if not direct.values:
            read, direct = (
                direct,
                self.operators.direct_rag(tree.root.id, asked, everywhere=True, names=asked_about(tree)),
            )
            add_evidence(direct.evidence, read.evidence)
        if direct.values:
            direct.signals = whole_signals(asked, direct)
        return direct

    def whole_answer(self, node_id: int, asked: str) -> Result:
        """The answer in the passages nearest to the question, read once; empty if the model cannot point."""
        if self.pointed is None:
            self.pointed = self.operators.pointed(node_id, asked) if self.reader.points else Result()
            if self.pointed.values and self.calibration is not None:
                compared(self.pointed)
                weigh_direct(self.calibration, asked, self.pointed)
            if self.checked is not None:
                self.pointed = self.checked(asked, self.pointed)
        return self.pointed

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
            result.cited, result.quotes = [], ()
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
    return result.without_answer("neither yes nor no")


def _computes_number(tree: Tree) -> bool:
    kinds = [node.operation.signature.gives for node in tree.nodes() if node.operation is not None]
    return ResultKind.NUMBER in kinds or ResultKind.AMOUNT in kinds


def _only_number(result: Result) -> Result:
    """The result, without its answer if that is not one number or quantity."""
    if len(result.values) == 1 and parse_quantity(number_words(result.answer)) is not None:
        return result
    return result.without_answer("not one number")


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
