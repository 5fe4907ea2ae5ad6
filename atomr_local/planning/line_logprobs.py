"""How surely the model wrote each line of a plan."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping

from atomr_local.backbone.protocol import Generation
from atomr_local.tree.escaping import unescape
from atomr_local.tree.nodes import REFERENCE, Tree

_LINE = re.compile(r" *[0-9]{1,4}\. +(?P<question>\S.*?)(?: = [A-Za-z]\w*\(.*)?")


def line_logprobs(made: Generation, tree: Tree) -> dict[int, tuple[float, ...]]:
    """By node of the tree, the log-probabilities of the tokens of the line that the model wrote for it.

    Nodes are found by their words, for a corrected plan may have other numbers; one that the model did not write is
    missing. Empty if the model gives no log-probabilities.
    """
    if any(math.isnan(token.logprob) for token in made.tokens):
        return {}
    if "".join(token.text for token in made.tokens) != made.text:
        return {}
    written: dict[str, list[tuple[int, int]]] = {}
    at = 0
    for line in made.text.split("\n"):
        if match := _LINE.fullmatch(line.rstrip()):
            written.setdefault(_words(unescape(match["question"].strip())), []).append((at, at + len(line)))
        at += len(line) + 1
    found = {}
    for node in tree.nodes():
        if places := written.get(_words(node.question)):
            found[node.id] = _between(made, *places.pop(0))
    return found


def decompositions(tree: Tree, lines: Mapping[int, Iterable[float]]) -> dict[int, float]:
    """By node with children, the mean log-probability of the tokens of its children's lines, as far as they are known.

    This is ProbTree's measure of how surely a question was decomposed (section 3.1).
    """
    means = {}
    for node in tree.nodes():
        tokens = [token for child in node.children for token in lines.get(child.id, ())]
        if tokens:
            means[node.id] = sum(tokens) / len(tokens)
    return means


def _words(question: str) -> str:
    return REFERENCE.sub("[]", " ".join(question.split()))


def _between(made: Generation, begin: int, end: int) -> tuple[float, ...]:
    """Log-probabilities of the tokens that overlap this part of the text."""
    inside = []
    at = 0
    for token in made.tokens:
        if at < end and at + len(token.text) > begin:
            inside.append(token.logprob)
        at += len(token.text)
    return tuple(inside)
