"""Names that a plan misspells: a small model may write Hertley for Hartley.

The names that steps look up are copied from the question; the questions of the steps are the model's own words.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from rapidfuzz import fuzz

from atomr_local.language.countries import country_named
from atomr_local.language.names import name_key
from atomr_local.tree.nodes import Literal, Node, Operator, Tree

# Words that are at least this similar, in %, may be misspellings of one another.
_ALIKE = 70
_TOKEN = re.compile(r"[^\W_]+(?:[.,'’\-]+[^\W_]+)*")
_POSSESSIVE = re.compile(r"['’]s$")


@dataclass(frozen=True, slots=True)
class Respelt:
    """A name as the plan writes it, and as the user typed it, with the plan's capitals."""

    written: str
    typed: str


def respelt(tree: Tree) -> Iterator[Respelt]:
    """The names that steps look up and line 0 spells differently, each once."""
    found = list(_TOKEN.finditer(tree.question))
    tokens = [_POSSESSIVE.sub("", match[0]) for match in found]
    keys = [name_key(token) for token in tokens]
    for name in dict.fromkeys(_looked_up(tree)):
        words = _TOKEN.findall(name)
        wanted = [name_key(_POSSESSIVE.sub("", word)) for word in words]
        size = len(words)
        windows = range(len(keys) - size + 1)
        if not words or any(keys[at : at + size] == wanted for at in windows):
            continue
        for at in windows:
            if all(_may_be(one, two) for one, two in zip(keys[at:], wanted, strict=False)):
                begin, end = found[at].start(), found[at + size - 1].start() + len(tokens[at + size - 1])
                shown = [
                    word[:1].upper() + word[1:] if token[:1].isupper() else word
                    for word, token in zip(words, tokens[at:], strict=False)
                ]
                yield Respelt(tree.question[begin:end], _POSSESSIVE.sub("", " ".join(shown)))
                break


def spelt(tree: Tree, names: list[Respelt]) -> Tree:
    """The tree with these names spelt as typed in all its questions."""

    def again(node: Node) -> Node:
        question, instruction = node.question, node.instruction
        for name in names:
            whole = re.compile(rf"(?<!\w){re.escape(name.written)}(?!\w)")
            typed = name.typed.replace("\\", r"\\")
            question, instruction = whole.sub(typed, question), whole.sub(typed, instruction)
        return replace(node, question=question, instruction=instruction, children=tuple(map(again, node.children)))

    return Tree(again(tree.root)) if names else tree


def _may_be(one: str, other: str) -> bool:
    """Whether the words are equal or one is a misspelling; forms of a word ("India", "Indian") are not."""
    if one == other:
        return True
    if one.startswith(other) or other.startswith(one) or fuzz.ratio(one, other) < _ALIKE:
        return False
    country = country_named(one)
    return country is None or country != country_named(other)


def _looked_up(tree: Tree) -> Iterator[str]:
    for node in tree.nodes():
        if node.call is None or node.call.operator is not Operator.SEARCH:
            continue
        name = node.call.arguments[0]
        if isinstance(name, Literal) and not name.references:
            yield name.text
