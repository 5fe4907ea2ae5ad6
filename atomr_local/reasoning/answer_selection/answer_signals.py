"""Collects the signals of an answer over the steps that it depends on."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping

from atomr_local.language.names import base_key
from atomr_local.reasoning.confidence import signals as names
from atomr_local.reasoning.confidence.signals import worst
from atomr_local.reasoning.reading.citation_verification import supported
from atomr_local.reasoning.results import Result
from atomr_local.reasoning.verdict.repetition import repeats
from atomr_local.tree.nodes import Node, Tree

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
    held = None if result.computed else supported(result.texts, [e for e in result.evidence if e.id in result.cited])
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
