"""The answer to the whole question as every strategy hands it over: weighed in the same way."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from atomr_local.language.answer_key import answer_key
from atomr_local.reasoning.answer_selection.answer_signals import step_signals, tree_signals, whole_signals
from atomr_local.reasoning.confidence import signals as names
from atomr_local.reasoning.operators import GUESSED, compared, values_read
from atomr_local.reasoning.reading.answer_formats import VERDICTS
from atomr_local.reasoning.reading.reading import Reading
from atomr_local.reasoning.results import Result, text_values
from atomr_local.reasoning.trace.schema import Method
from atomr_local.reasoning.verdict.repetition import repeats
from atomr_local.sources.protocol import Evidence, Value
from atomr_local.strategies.protocol import Toolbox
from atomr_local.tree.nodes import Tree

# Noted where a strategy had to stop early.
CALLS_USED = "the question's model calls are used: answered from what had been found"
_DIRECT = frozenset({"direct_rag", "closed_book"})
_MEASURED = frozenset({names.READING, names.VERIFY})
_UNKNOWN = re.compile(r"unknown|none|n/?a|not (?:known|stated|mentioned|given)|no answer|", re.IGNORECASE)
_ABBREVIATION = re.compile(r"(?:\.\w+|\b[A-Z]\w?)$")  # "U.S", "Jr"


def closed(tools: Toolbox, question: str, result: Result) -> Result:
    """The root's result with its confidence.

    An answer that the model read has the calibrated probability of such an answer. Any other keeps the confidence that
    its method gave it. The calibration was learnt on answers of `rag`; for other methods it is an estimate.
    """
    compared(result)
    measured = result.method in _DIRECT or not _MEASURED.isdisjoint(result.signals)
    if result.values and measured:
        result.signals = whole_signals(question, result)
        result.confidence = tools.calibration.of_whole(result.signals)
    return result


def at_root(tools: Toolbox, question: str, conclude: Callable[[], Result], notes: Sequence[str] = ()) -> Result:
    """The result of the root's own step, :func:`closed`. A few calls over the limit are left for it.

    Args:
        conclude: makes the answer from what was found.
        notes: of the way to it; they may grow meanwhile, and come first.
    """
    with tools.steps.root(question) as root, tools.asking.concluding():
        result = closed(tools, question, conclude())
        result.dropped = [*notes, *result.dropped]
        root.result = result
    return root.result


def closed_tree(
    tools: Toolbox, tree: Tree, question: str, result: Result, results: Mapping[int, Result], *, natural: bool = True
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


def weighed_step(tools: Toolbox, result: Result) -> Result:
    """A step's result with its confidence: the calibrated probability of what was looked up or read."""
    if result.values and not _MEASURED.isdisjoint(result.signals):
        result.signals = step_signals(result)
        result.confidence = tools.calibration.step.probability(result.signals)
    return result


def read_whole(tools: Toolbox, node_id: int, question: str, evidence: Sequence[Evidence]) -> Reading:
    """An answer to the whole question from the evidence, best first; a guess if there is none and guesses are on.

    Raises:
        ModelError: the model failed.
        Cancelled: the question was cancelled.
    """
    if not evidence:
        return Reading()
    reading = tools.reader.whole(node_id, question, evidence)
    if not reading.answers and reading.problem is None and tools.settings.features.guess:
        guessed = tools.reader.whole(node_id, question, evidence, guess=True)
        reading = replace(guessed, dropped=(*guessed.dropped, GUESSED))
    return tools.reader.checked(node_id, reading)


def result_of(reading: Reading, method: Method, evidence: Sequence[Evidence]) -> Result:
    """The result of a step that was answered by this reading; `evidence`: everything found for it, best first."""
    return Result(
        values_read(reading),
        method if reading.answers else None,
        reading.confidence if reading.answers else None,
        list(evidence),
        [item.id for item in reading.cited if item in evidence],
        dropped=list(reading.dropped),
        error={"title": "Answer not readable", "message": reading.problem} if reading.problem else None,
        signals=reading.signals | ({names.GUESS: 1.0} if GUESSED in reading.dropped else {}),
    )


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
