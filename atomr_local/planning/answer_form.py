"""Adjusts the last step of a plan to the form of answer that the question asks for.

A small model often plans the right steps but ends in the wrong form. If the question is unambiguous, the last step is
corrected: "Is A or B the larger?" is a comparison and not yes or no, a date is not reduced to its day, "in feet"
converts to feet, "in the 1860s" is not "before the 1860s", and "how many" counts what the steps list.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

from atomr_local.language.answer_type import expected_type
from atomr_local.language.literals import unit_name
from atomr_local.language.periods import parse_period
from atomr_local.language.words import any_of, condition_words
from atomr_local.planning.superlatives import comparative, direction_of
from atomr_local.tree.answer_types import AnswerType, Expects
from atomr_local.tree.nodes import Literal, Node, References, Tree
from atomr_local.tree.operations import DIRECTIONS, Operation, OperationCall
from atomr_local.tree.renumbering import renumbered

_WORDS = condition_words()
_UNIT = re.compile(rf"\b{any_of(_WORDS.into_unit)}\s+(?P<unit>(?:square |cubic )?[^\W\d_]{{2,}})\b", re.IGNORECASE)
_OF_TIME = {"larger": "later", "smaller": "earlier"}
_AMOUNTS = {"more", "less"}  # "more recent" and "less known" are not about amounts
# The direction of a condition on a point in time, by the sign of the words before it.
_ORDERS = {"=": "same", "<": "earlier", "≤": "earlier", ">": "later", "≥": "later"}
# What a list of things can end with.
_LISTING = {Operation.SELECT, Operation.UNION, Operation.INTERSECT, Operation.EXCEPT}
_FIGURES = {AnswerType.NUMBER, AnswerType.QUANTITY, AnswerType.DATE, AnswerType.YEAR, AnswerType.YES_NO}


def in_asked_form(tree: Tree, typed: str = "") -> Tree:
    """The tree with its last step corrected to the form of answer that the question asks for.

    Args:
        typed: the question as the user typed it; the tree has it as it was understood.
    """
    steps = tree.root.children
    if not steps:
        return tree
    asked = f"{tree.question} {typed}"
    repair: Callable[[Tree, Node, str], Tree | None]
    for repair in (_choice_of_two, _whole_date, _unit_of_question, _period_itself):
        changed = repair(tree, steps[-1], asked)
        if changed is not None:
            return renumbered(changed)
    return _counted(tree, steps[-1], typed) or _direction_asked_for(tree, steps[-1], typed) or tree


def _choice_of_two(tree: Tree, last: Node, asked: str) -> Tree | None:
    """`Is([1], [2], "larger")` for "Is A or B larger?" compares."""
    call = last.operation
    if call is None or call.operation is not Operation.IS or call.direction not in DIRECTIONS:
        return None
    names = [_head(tree, operand) for operand in call.operands]
    if len(names) != 2 or not all(names):
        return None
    one, other = (re.escape(name) for name in names)
    between = rf"\W+{any_of(_WORDS.choice)}\s+(?:the\s+)?"
    if not re.search(rf"\b(?:{one}{between}{other}|{other}{between}{one})\b", asked, re.IGNORECASE):
        return None
    compare = OperationCall(Operation.COMPARE, call.operands, (call.direction,))
    return _ending(tree, replace(last, operation=compare), Expects(AnswerType.THING))


def _whole_date(tree: Tree, last: Node, asked: str) -> Tree | None:
    """A question for a date is answered with the whole date, not with the number of its day."""
    del asked
    call, expects = last.operation, tree.expects
    if call is None or call.operation is not Operation.PART or call.words != ("day",):
        return None
    if expects is None or expects.type is not AnswerType.DATE:
        return None
    before = tree.root.children[:-1]
    if not before or call.references != (before[-1].id,):
        return None
    return Tree(replace(tree.root, children=before))


def _unit_of_question(tree: Tree, last: Node, asked: str) -> Tree | None:
    """A quantity is converted to the unit that the question names."""
    expects = tree.expects
    units = {unit: match["unit"] for match in _UNIT.finditer(asked) if (unit := unit_name(match["unit"]))}
    if expects is None or expects.type is not AnswerType.QUANTITY or len(units) != 1:
        return None
    [unit] = units.values()
    call = last.operation
    if call is not None and call.operation is Operation.CONVERT:
        if unit_name(call.unit or ""):
            return None
        return _ending(tree, replace(last, operation=replace(call, words=(unit,))))
    if last.call is None:
        return None
    number = max(node.id for node in tree.nodes()) + 1
    convert = OperationCall(Operation.CONVERT, (References((last.id,)),), (unit,))
    step = Node(number, f"How much is [{last.id}] in {unit}?", operation=convert)
    return Tree(replace(tree.root, children=(*tree.root.children, step)))


def _period_itself(tree: Tree, last: Node, asked: str) -> Tree | None:
    """`Select([2], "1860s", "earlier")` for "in the 1860s" selects what lies in the 1860s."""
    del asked
    call = last.operation
    if call is None or call.operation is not Operation.SELECT or not isinstance(call.operands[-1], Literal):
        return None
    bound = call.operands[-1].text
    if parse_period(bound) is None:
        return None
    said = []
    for sign, phrases in _WORDS.comparisons.items():
        if re.search(rf"(?<!\w){any_of(phrases)}\s+(?:the\s+)?{re.escape(bound)}(?!\w)", last.question, re.IGNORECASE):
            said.append(_ORDERS[sign])
    if len(said) != 1 or call.direction in (said[0], None):
        return None
    return _ending(tree, replace(last, operation=replace(call, words=(said[0],))))


def _counted(tree: Tree, last: Node, asked: str) -> Tree | None:
    """A plan that lists several things, where the user asks how many they are, counts them."""
    expects = tree.expects
    if expects is None or not expects.several or expects.type in _FIGURES:
        return None
    if last.operation is not None and last.operation.operation not in _LISTING:
        return None
    if not asked or not expected_type(asked).surely(AnswerType.NUMBER):
        return None
    number = max(node.id for node in tree.nodes()) + 1
    count = OperationCall(Operation.COUNT, (References((last.id,)),))
    step = Node(number, f"How many are in [{last.id}]?", operation=count)
    steps = (*tree.root.children, step)
    return Tree(replace(tree.root, question=asked, children=steps, expects=Expects(AnswerType.NUMBER)))


def _direction_asked_for(tree: Tree, last: Node, asked: str) -> Tree | None:
    """`Compare(…, "earlier")` where the user's only comparative is "newer" looks for the later one."""
    call = last.operation
    if call is None or call.operation not in {Operation.COMPARE, Operation.TOP} or call.direction not in DIRECTIONS:
        return None
    of_time = call.direction in _OF_TIME.values()
    said = set()
    for word in re.findall(r"[^\W\d_]+", asked.casefold()):
        adjective = comparative(word)
        if adjective is None or adjective in _AMOUNTS or (adjective in _WORDS.of_time) != of_time:
            continue
        direction = direction_of(adjective)
        said.add(_OF_TIME[direction] if of_time else direction)
    if len(said) != 1 or call.direction in said:
        return None
    return _ending(tree, replace(last, operation=replace(call, words=(said.pop(), *call.words[1:]))))


def _ending(tree: Tree, last: Node, expects: Expects | None = None) -> Tree:
    children = (*tree.root.children[:-1], last)
    return Tree(replace(tree.root, children=children, expects=expects or tree.expects))


def _head(tree: Tree, operand: object) -> str:
    """The name that starts the look-up behind the operand; "" if no name does."""
    if not isinstance(operand, References) or len(operand.ids) != 1:
        return ""
    call = tree.node(operand.ids[0]).call
    head = call.arguments[0] if call is not None else None
    return head.text if isinstance(head, Literal) and not head.references else ""
