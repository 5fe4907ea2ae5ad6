"""Completes yes/no plans that compare the wrong thing: what is confirmed is a property, not the thing itself.

"Was the director of Jaws born in Rome?" takes two look-ups and a comparison. A small model often leaves out the second
look-up, and compares the director with Rome, or the comparison, and looks up "Was [1] born in Rome?". Where the
question's words name one property that such things have ("born in", with a value that is no date: place of birth), the
step that is missing is put in.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from atomr_local.language.answer_type import expected_type
from atomr_local.language.literals import parse_date
from atomr_local.language.names import split_qualifier
from atomr_local.language.properties import KnownProperty, property_table
from atomr_local.language.words import relation_words, without_suffix
from atomr_local.planning.shorthand import find_name
from atomr_local.tree.answer_types import AnswerType
from atomr_local.tree.nodes import Literal, Node, Operator, OperatorCall, References, Tree
from atomr_local.tree.operations import Operation, OperationCall
from atomr_local.tree.renumbering import renumbered

_WORD = re.compile(r"[^\W\d_]+")
_EQUALITY = {"same", "different"}
# "Was [1] born in Rome?": the words up to a preposition, and the value.
_CONFIRMING = re.compile(
    r"(?:Is|Was|Did|Does|Are|Were) \[(?P<owner>\d+)\] (?P<predicate>(?:[a-z]+ ){0,4}?(?:in|on|at|of|from)) "
    r"(?P<value>\S[^?]*)\?"
)
_SMALL = relation_words().small
# Kinds of values before which prepositions vary: "buried at", "buried in".
_LOCAL = {"time", "place", "country", "city"}
# What the kinds of answers are called where properties say what they are of.
_OF = {
    "person": {"person"},
    "work": {"work", "film", "book", "song", "album", "painting"},
    "organisation": {"organization", "company", "band"},
    "place": {"place", "country", "city", "building"},
}


def with_confirmed_property(tree: Tree) -> Tree:
    """The tree, ending with the look-up of the property that the question asks to be confirmed, and its comparison."""
    steps = tree.root.children
    if len(steps) != len(tree) - 1 or len(steps) < 2:
        return tree
    asked = _left_out_look_up(tree.question, steps) or _left_out_comparison(tree, steps[-1])
    found = next((step for step in steps if asked is not None and step.id == asked.owner), None)
    if asked is None or found is None or found.call is None:
        return tree
    said = _stems(asked.predicate) - _stems(f"{found.question} {_words_of(found)}")
    known = _property(said, _closing(asked.predicate), asked.value, expected_type(found.question).type)
    if known is None:
        return tree
    number = max(node.id for node in tree.nodes()) + 1
    call = OperatorCall(Operator.RELATE, (References((asked.owner,)), Literal(known.label)))
    looked_up = Node(number, f"What is the {known.label} of [{asked.owner}]?", call)
    last = steps[-1]
    words = last.operation.words if last.operation is not None else ("same",)
    compared = OperationCall(Operation.IS, (References((number,)), Literal(asked.value)), words)
    told = f"Is [{number}] {asked.value}?" if f"[{asked.owner}]" in last.question else last.question
    ending = Node(last.id, told, operation=compared)
    return renumbered(Tree(replace(tree.root, children=(*steps[:-1], looked_up, ending))))


@dataclass(frozen=True, slots=True)
class _Asked:
    """What a question asks to be confirmed: "born in" of the answer of step `owner`, with its value."""

    owner: int
    predicate: str
    value: str


def _left_out_look_up(question: str, steps: Sequence[Node]) -> _Asked | None:
    """For a last step that compares what an earlier one has found with a value of the plan."""
    call = steps[-1].operation
    if call is None or call.operation is not Operation.IS or call.direction not in _EQUALITY or len(call.operands) != 2:
        return None
    owner, value = call.operands
    if not isinstance(owner, References) or len(owner.ids) != 1 or not isinstance(value, Literal) or value.references:
        return None
    begin = max(_ends_of_names(question, steps[:-1]), default=-1)
    end = find_name(value.text, question)
    return _Asked(owner.ids[0], question[begin:end], value.text) if 0 <= begin < end else None


def _left_out_comparison(tree: Tree, last: Node) -> _Asked | None:
    """For a last step that looks up "Was [1] born in Rome?"."""
    call = last.call
    if tree.expects is None or tree.expects.type is not AnswerType.YES_NO or call is None:
        return None
    owner, match = call.arguments[0], _CONFIRMING.fullmatch(last.question)
    if call.operator is not Operator.RELATE or not isinstance(owner, References) or match is None:
        return None
    return _Asked(owner.ids[0], match["predicate"], match["value"]) if owner.ids == (int(match["owner"]),) else None


def _ends_of_names(question: str, steps: Sequence[Node]) -> Iterator[int]:
    """Where the names that the steps look up end in the question."""
    for step in steps:
        head = step.call.arguments[0] if step.call is not None else None
        if isinstance(head, Literal) and not head.references:
            for name in (head.text, split_qualifier(head.text)[0]):
                if name and (place := find_name(name, question)) >= 0 and _is_at(name, question, place):
                    yield place + len(name)
                    break


def _is_at(name: str, question: str, place: int) -> bool:
    return find_name(question[place : place + len(name)], name) == 0


def _property(said: frozenset[str], closing: str, value: str, owner: str) -> KnownProperty | None:
    """The one property of such owners that the words name and whose values are of the value's kind."""
    if not said or owner not in _OF:
        return None
    dated = parse_date(value) is not None
    exact, near = [], []
    for known in property_table().by_iri.values():
        if (known.kind == "time") != dated or not _OF[owner] & set(known.domain):
            continue
        wordings = [name for name in (known.label, *known.names) if _stems(name) == said]
        if any(_closing(name) == closing for name in wordings):
            exact.append(known)
        elif wordings and known.kind in _LOCAL:
            near.append(known)
    fitting = exact or near
    return fitting[0] if len(fitting) == 1 else None


def _words_of(step: Node) -> str:
    return " ".join(item.text for item in step.call.arguments if isinstance(item, Literal)) if step.call else ""


def _closing(text: str) -> str:
    """The small word at the end: "in" of "born in"; "" for none."""
    words = _WORD.findall(text.casefold())
    return words[-1] if words and words[-1] in _SMALL else ""


def _stems(text: str) -> frozenset[str]:
    words = (word for word in _WORD.findall(text) if word.islower() and word not in _SMALL)
    return frozenset(relation_words().irregular.get(word) or without_suffix(word) for word in words)
