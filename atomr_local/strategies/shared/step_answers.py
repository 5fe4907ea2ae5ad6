"""The answer to the whole question from questions that were asked one after another, and from their answers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from atomr_local.language.answer_type import expected_type
from atomr_local.language.capitalised import names_in
from atomr_local.reasoning.answer_selection.answer_signals import step_signals, tree_signals
from atomr_local.reasoning.confidence import signals as names
from atomr_local.reasoning.operations.computed_nodes import computed_question, evidence_of
from atomr_local.reasoning.results import Result, product_confidence
from atomr_local.strategies.protocol import Toolbox
from atomr_local.strategies.shared.closing import final_values, result_of
from atomr_local.tree.nodes import ROOT_ID, Literal, Node, Operator, OperatorCall, References, Tree

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


@dataclass(frozen=True)
class Final:
    """The answer that the model ended with, and the mean log-probability of its tokens; None if unknown."""

    text: str
    logprob: float | None


def answer_from(tools: Toolbox, question: str, steps: Sequence[tuple[str, Result]], final: Final | None) -> Result:
    """The final answer: the one that the model ended with, or else one that is asked for outright.

    It cites what the steps cite.

    Raises:
        ModelError: the model failed.
        Cancelled: the question was cancelled.
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
    return Result(
        last.values, "child", product_confidence(*(one.confidence for one in results.values())), evidence, cited
    )


def from_answered(tools: Toolbox, question: str, steps: Sequence[tuple[str, Result]]) -> Result:
    """The answer that follows from the answered steps, or that the model makes of them.

    Its confidence is a power of the probability that every step is right, see `_SHARP`. Without an answer if a step has
    none, or if one before the last has several, of which no question can be about one; and without steps.

    Raises:
        ModelError: the model failed.
        Cancelled: the question was cancelled.
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


def _combined(tools: Toolbox, question: str, steps: Sequence[tuple[str, Result]]) -> Result:
    """What the model makes of the answers of the steps."""
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


def _written(final: Final, results: Sequence[Result]) -> Result:
    """What the model ended with: no surer than the least sure answer before it."""
    values = final_values(final.text)
    if not values:
        return Result()
    own = None if final.logprob is None else math.exp(final.logprob)
    known = [sure for sure in (own, *(result.confidence for result in results)) if sure is not None]
    return Result(values, "child", min(known, default=None) if own is not None else None)
