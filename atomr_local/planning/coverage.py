"""Plan coverage: names and numbers of the question, and words that pick one of several, that no step contains.

The spelling of the question decides which words matter, not a list of words: numbers, and words with a capital letter
inside a sentence. A plan that leaves one out is still run, with a warning.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from difflib import get_close_matches

from atomr_local.language.names import words
from atomr_local.language.words import picks_out
from atomr_local.tree.nodes import Argument, Literal, Node, Tree
from atomr_local.tree.operations import Operation

_TOKEN = re.compile(r"[^\W_]+(?:[.,'’\-][^\W_]+)*")
_POSSESSIVE = re.compile(r"['’]s$")
_GROUPED = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_NUMBER = re.compile(r"\d+(?:\.\d+)?")
# Single digits may be list numbers or words in the plan; a decade may be two years there.
_TELLING_NUMBER = re.compile(r"(?<![\d.])(?:\d{2,}(?:\.\d+)?|\d\.\d+)(?![\d.]*s\b)(?!\d)")
_SENTENCE_ENDS = ".!?:;"
# If a larger share of the words is capitalised, capitals do not identify names.
_TITLE_CASE = 0.8
# From this similarity on (Ratcliff and Obershelp) a word counts as a misspelling that the plan has corrected.
_MISSPELT = 0.75
_ABBREVIATION = re.compile(r"\b[A-Z][a-z]?\.$")
# Operations that choose among several.
_PICKING = frozenset({Operation.COMPARE, Operation.TOP, Operation.SORT, Operation.SELECT})
_CONTRACTION = re.compile(r"[^\W_]['’][a-z]+")


def left_out(tree: Tree, question: str) -> tuple[str, ...]:
    """Names and numbers of `question` that no step of the plan contains, as written, in order.

    Args:
        tree: a plan; if it has no steps, the question as understood counts.
        question: as the user typed it.
    """
    steps = [node for node in tree.nodes() if node is not tree.root or not node.children]
    said = " ".join(text for node in steps for text in _texts(node))
    known = set(words(said)) | {_POSSESSIVE.sub("", token.casefold()) for token in _TOKEN.findall(said)}
    numbers = set(_NUMBER.findall(_GROUPED.sub("", said)))
    missing = [
        name
        for name in _names(question)
        if not set(words(name)) <= known and not get_close_matches(name.casefold(), known, 1, _MISSPELT)
    ]
    asked = _TELLING_NUMBER.findall(_GROUPED.sub("", question))
    missing += [number for number in asked if not any(_same_number(number, other) for other in numbers)]
    return tuple(dict.fromkeys(missing))


def unpicked(tree: Tree, question: str) -> tuple[str, ...]:
    """Words of `question` that pick one of several ("last", "largest") and that no step of the plan contains, in order.

    None where a step compares, sorts or selects, which is how a plan says it. Read inside a name ("First World War")
    such a word is no wish; capitals show that.

    Args:
        question: as the user typed it.
    """
    steps = [node for node in tree.nodes() if node is not tree.root]
    if not steps or any(node.operation is not None and node.operation.operation in _PICKING for node in steps):
        return ()
    said = set(words(" ".join(text for node in steps for text in _texts(node))))
    asked = [token for token in _TOKEN.findall(question) if token[0].islower()]
    missing = picks_out(asked) - said
    return tuple(dict.fromkeys(word for word in asked if word in missing))


def _same_number(one: str, other: str) -> bool:
    """Whether one number may stand for the other: 6 (million) and 6000000, (from) 2008 and (after) 2007."""
    if one.isdecimal() and other.isdecimal() and len(one) == len(other) == 4:
        return abs(int(one) - int(other)) <= 1
    small, large = sorted((one, other), key=len)
    return small == large or (large.endswith("000") and large.rstrip("0") == small)


def _texts(node: Node) -> Iterator[str]:
    yield node.question
    yield node.instruction
    arguments: tuple[Argument, ...] = ()
    if node.call is not None:
        arguments = node.call.arguments
    elif node.operation is not None:
        arguments = node.operation.operands
    for argument in arguments:
        if isinstance(argument, Literal):
            yield argument.text


def _names(question: str) -> list[str]:
    """Words with a capital letter that does not only mark the beginning of a sentence."""
    found = list(_TOKEN.finditer(question))
    large = [match for match in found if match[0][0].isupper()]
    if len(found) > 3 and sum(match[0][0].isupper() for match in found[1:]) > _TITLE_CASE * (len(found) - 1):
        return []
    names = []
    for match in large:
        before = question[: match.start()].rstrip(" \"'“‘(")
        # A single letter is an initial or a pronoun.
        begins = not before or (before[-1] in _SENTENCE_ENDS and not _ABBREVIATION.search(before))
        if not begins and len(match[0]) > 1 and not _CONTRACTION.fullmatch(match[0]):
            names.append(_POSSESSIVE.sub("", match[0]))
    return names
