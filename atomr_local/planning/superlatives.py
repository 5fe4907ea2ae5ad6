"""Superlative filters: `Filter([1], "largest")` becomes a look-up and a Compare.

A filter looks at one thing at a time, so it cannot find the largest. If its words say what is compared ("has the most
inhabitants", "longest"), the step is rewritten as the model meant it. If they do not ("oldest": born, or founded?), the
plan is sent back to the model.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import count

from atomr_local.language.words import any_of, condition_words
from atomr_local.tree.nodes import Literal, Node, Operator, OperatorCall, References, Tree
from atomr_local.tree.operations import Operation, OperationCall
from atomr_local.tree.renumbering import renumbered

_WORDS = condition_words()
_AMOUNTS = {"most": "larger", "fewest": "smaller", "least": "smaller"}
_OPENING = re.compile(rf"^(?:{any_of((*_WORDS.pronouns, *_WORDS.auxiliaries))}\s+)*(?:the\s+)?", re.IGNORECASE)
_HAVING = re.compile(rf"(?:^|\s){any_of(_WORDS.having)}\s+(?:the\s+)?$", re.IGNORECASE)
_BY = re.compile(r"\s+by\s+(?P<measure>[\w ]+)$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class _Extreme:
    """The property that a filter compares, and the direction; each "" if its words do not say."""

    measure: str
    direction: str


_UNTOLD = _Extreme("", "")


def with_comparisons(tree: Tree) -> Tree:
    """The tree with a look-up and a Compare instead of each filter whose words say what is compared."""
    numbers = count(max(node.id for node in tree.nodes()) + 1)

    def below(node: Node) -> tuple[Node, ...]:
        children: list[Node] = []
        for child in node.children:
            found = _extreme(child)
            if found is None or not found.measure or child.call is None:
                children.append(replace(child, children=below(child)))
                continue
            things = child.call.arguments[0]
            assert isinstance(things, References)
            call = OperatorCall(Operator.RELATE, (things, Literal(found.measure)))
            looked_up = Node(next(numbers), f"What is the {found.measure} of [{things.ids[0]}]?", call)
            compare = OperationCall(Operation.COMPARE, (References((looked_up.id,)),), (found.direction,))
            children += (looked_up, replace(child, call=None, operation=compare))
        return tuple(children)

    changed = replace(tree.root, children=below(tree.root))
    return tree if changed == tree.root else renumbered(Tree(changed))


def comparing_filters(tree: Tree) -> Iterator[str]:
    """Complaints about filters that compare things without saying by what."""
    for node in tree.nodes():
        found = _extreme(node)
        if found is not None and node.call is not None:
            condition = node.call.arguments[1]
            written = condition.text if isinstance(condition, Literal) else ""
            yield (
                f"step {node.id} filters by {written!r}, which compares things with each other: look up in a step what "
                f"is compared, and use Compare on that step"
            )


def _extreme(node: Node) -> _Extreme | None:
    """What a filter over one step compares; None for other nodes and for conditions on one thing at a time."""
    call = node.call
    if call is None or call.operator is not Operator.FILTER or len(call.arguments) != 2:
        return None
    things, condition = call.arguments
    if not isinstance(things, References) or len(things.ids) != 1 or not isinstance(condition, Literal):
        return None
    if condition.references:
        return None
    text = " ".join(condition.text.split()).rstrip(" .?!")
    opening = _OPENING.match(text)
    assert opening is not None
    words, having = text[opening.end() :].casefold(), bool(_HAVING.search(text[: opening.end()]))
    return _read(words, having)


def _read(words: str, having: bool) -> _Extreme | None:
    by = _BY.search(words)
    first, _, rest = (words[: by.start()] if by else words).partition(" ")
    if first in _AMOUNTS:
        if not rest:
            return _UNTOLD
        return _Extreme(_amount(rest), _AMOUNTS[first]) if having else None  # "has the most inhabitants"
    adjective = comparative(first)
    if adjective is None:
        return _UNTOLD if first in _WORDS.superlatives and _a_kind(rest) else None
    measure: str | None = None
    if by is not None and _a_kind(rest):
        measure = by["measure"].strip()
    elif having and rest and first != adjective:
        measure = rest  # "has the largest population"
    elif _a_kind(rest):
        measure = _WORDS.measures.get(adjective, "")
    direction = "" if adjective in _WORDS.of_time else direction_of(adjective)
    return None if measure is None else _Extreme(measure, direction) if direction else _UNTOLD


def _amount(counted: str) -> str:
    """The property that counts these things."""
    return "population" if counted in _WORDS.people else f"number of {counted}"


def _a_kind(rest: str) -> bool:
    """Whether only a kind of thing follows the adjective: no "than", no clause, no "rated"."""
    return len(rest.split()) <= 1 and not rest.endswith("ed")


def comparative(word: str) -> str | None:
    """The comparative of an adjective ("larger" for "largest"); None for other words."""
    form = f"{word[:-2]}r" if word.endswith("est") else word
    signs = (_WORDS.comparisons[">"], _WORDS.comparisons["<"])
    return form if any(f"{form} than" in phrases for phrases in signs) else None


def direction_of(adjective: str) -> str:
    """ "larger" or "smaller" for a comparative; "" for other words."""
    if f"{adjective} than" in _WORDS.comparisons[">"]:
        return "larger"
    return "smaller" if f"{adjective} than" in _WORDS.comparisons["<"] else ""
