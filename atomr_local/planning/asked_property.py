"""Gives a plan without steps its look-up, where the question is for a known property of a thing that it names.

"What is the motto of Belgium?" reads as one value, and a small model sometimes plans no step for it. Read out of
passages or facts, it then gets one answer where several are stated. A Relate finds them all.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from functools import cache

from atomr_local.language.names import name_key
from atomr_local.language.properties import property_table
from atomr_local.planning.shorthand import is_name
from atomr_local.tree.answer_types import NO_QUESTION, AnswerType
from atomr_local.tree.nodes import Literal, Node, Operator, OperatorCall, Tree

_OF = re.compile(r"(?:what|who|which)\s+(?:is|are|was|were)\s+the\s+(?P<asked>\S[^?]*?)\s*\?*", re.IGNORECASE)
_OWNED = re.compile(
    r"(?:what|who|which)\s+(?:is|are|was|were)\s+(?P<name>\S[^?]*?)['’]s\s+(?P<relation>\S[^?]*?)\s*\?*", re.IGNORECASE
)
# Several things, or what more is said of one.
_MORE_THAN_A_NAME = re.compile(r",|\band\b|\bor\b")
_OTHER_FORMS = {AnswerType.YES_NO, AnswerType.SUMMARY, *NO_QUESTION}


def with_asked_property(tree: Tree) -> Tree:
    """The tree with the look-up that its question asks for, if it has no step at all."""
    if tree.root.children or tree.expects is None or tree.expects.type in _OTHER_FORMS:
        return tree
    for relation, name in _relations(tree.question.strip()):
        if name_key(relation) in _wordings() and is_name(name) and not _MORE_THAN_A_NAME.search(name):
            call = OperatorCall(Operator.RELATE, (Literal(name), Literal(relation)))
            return Tree(replace(tree.root, children=(Node(1, tree.question, call),)))
    return tree


def _relations(question: str) -> Iterator[tuple[str, str]]:
    """What may be the relation that is asked for, and the name of what it is asked of."""
    if found := _OWNED.fullmatch(question):
        yield found["relation"], found["name"]
    if found := _OF.fullmatch(question):
        parts = found["asked"].split(" of ")
        for place in range(1, len(parts)):
            yield " of ".join(parts[:place]), " of ".join(parts[place:])


@cache
def _wordings() -> frozenset[str]:
    """Keys of all that a known property is called."""
    known = property_table().by_iri.values()
    return frozenset(name_key(wording) for one in known for wording in (one.label, *one.names))
