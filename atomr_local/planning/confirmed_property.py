"""Puts in the step that a yes/no plan has left out: what is confirmed is a property, not the thing itself.

"Was the director of Jaws born in Cincinnati?" takes two look-ups. A small model often writes only the first and then
compares the director with Cincinnati. Where the question's words between the two name a property that people, works
and so on have ("born in", with a value that is no date: place of birth), the step that looks it up is put in.
"""

from __future__ import annotations

import re
from dataclasses import replace

from atomr_local.language.answer_type import expected_type
from atomr_local.language.literals import parse_date
from atomr_local.language.properties import KnownProperty, property_table
from atomr_local.language.words import relation_words, without_suffix
from atomr_local.planning.shorthand import find_name
from atomr_local.tree.nodes import Literal, Node, Operator, OperatorCall, References, Tree
from atomr_local.tree.operations import Operation, OperationCall
from atomr_local.tree.renumbering import renumbered

_WORD = re.compile(r"[^\W\d_]+")
_EQUALITY = {"same", "different"}
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
    """The tree with a look-up of the property before a last step that compares its owner with a value."""
    steps = tree.root.children
    if len(steps) != len(tree) - 1 or len(steps) < 2:
        return tree
    *before, last = steps
    call, compared = last.operation, _compared(last)
    if call is None or compared is None:
        return tree
    owner, value = compared
    found = next((step for step in before if step.id == owner), None)
    predicate = _predicate(tree.question, before, value)
    if found is None or found.call is None or not predicate:
        return tree
    said = _stems(predicate) - _stems(f"{found.question} {_words_of(found)}")
    known = _property(said, _closing(predicate), value, expected_type(found.question).type)
    if known is None:
        return tree
    number = max(node.id for node in tree.nodes()) + 1
    looked_up = Node(number, f"What is the {known.label} of [{owner}]?", _relate(owner, known.label))
    same = OperationCall(Operation.IS, (References((number,)), Literal(value)), call.words)
    asked = f"Is [{number}] {value}?" if f"[{owner}]" in last.question else last.question
    ending = replace(last, question=asked, operation=same)
    return renumbered(Tree(replace(tree.root, children=(*before, looked_up, ending))))


def _relate(owner: int, relation: str) -> OperatorCall:
    return OperatorCall(Operator.RELATE, (References((owner,)), Literal(relation)))


def _compared(last: Node) -> tuple[int, str] | None:
    """The step whose answer is compared with a value of the plan, and the value."""
    call = last.operation
    if call is None or call.operation is not Operation.IS or call.direction not in _EQUALITY or len(call.operands) != 2:
        return None
    first, second = call.operands
    if not isinstance(first, References) or len(first.ids) != 1 or not isinstance(second, Literal):
        return None
    return (first.ids[0], second.text) if not second.references else None


def _predicate(question: str, before: list[Node], value: str) -> str:
    """The words of the question between the last name that the steps look up and the value; "" if there are none."""
    names = [
        argument.text
        for step in before
        if step.call is not None
        for argument in step.call.arguments[:1]
        if isinstance(argument, Literal) and not argument.references
    ]
    begin = max((end for name in names if (end := _end(name, question)) >= 0), default=-1)
    end = find_name(value, question)
    return question[begin:end] if 0 <= begin < end else ""


def _end(name: str, question: str) -> int:
    place = find_name(name, question)
    return place + len(name) if place >= 0 else -1


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
    words = (word for word in _WORD.findall(text.casefold()) if word not in _SMALL)
    return frozenset(relation_words().irregular.get(word) or without_suffix(word) for word in words)
