"""Shorthand plans: a Relate on a name expands to a Search for the name and a Relate on its result.

In the method every chain of look-ups begins with a Search (AtomR, section 3.1). Which Search that is follows from the
name, `Relate("Hamlet (1948 film)", "director")`, so a small model need not write it: its plans are shorter by about
a third, and what it writes is one way of planning instead of two. The plan that runs, and is shown, holds the Search.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import replace
from itertools import count

from atomr_local.language.names import split_qualifier
from atomr_local.language.words import english
from atomr_local.tree.nodes import REFERENCE, Argument, Literal, Node, Operator, OperatorCall, References, Tree

_WORD = re.compile(r"[^\W_]+")


def _fold(text: str) -> str:
    """Case-folded and without diacritics, letter for letter, so that places in it are places in the original."""
    letters = (unicodedata.normalize("NFD", character)[0].casefold() for character in text)
    return "".join(letter if len(letter) == 1 else letter[0] for letter in letters)


def find_name(name: str, text: str) -> int:
    """Where the text writes the name, its parenthetical aside; -1 if it does not."""
    folded = _fold(text)
    for form in (name, split_qualifier(name)[0]):
        place = folded.find(_fold(form)) if form else -1
        if place >= 0:
            return place
    return -1


def search_for(written: str) -> tuple[str, OperatorCall]:
    """The Search for a name as a plan writes it, and its question.

    What stands behind the name in parentheses says which one is meant, and becomes the Search's second argument:
    "Hamlet (1948 film)". Nothing else is taken for a kind.
    """
    name, kind = split_qualifier(written)
    arguments = (Literal(name), Literal(kind)) if kind else (Literal(name),)
    return f"Who or what is {written}?", OperatorCall(Operator.SEARCH, arguments)


def with_searches(tree: Tree) -> Tree:
    """The tree with a Search before each Relate on a name, numbered breadth first.

    A step that stands among others becomes a question of its own with the two below it; where it is the only step of
    the question, or already stands below one, the Search stands beside it.
    """
    numbers = count(max(node.id for node in tree.nodes()) + 1)

    def expanded(node: Node) -> tuple[Node, ...]:
        """The Search and the Relate that the node stands for; the node alone where it stands for itself."""
        head = node.call.arguments[0] if node.call is not None and node.call.operator is Operator.RELATE else None
        if node.call is None or not isinstance(head, Literal) or head.references or not _is_name(head.text):
            return (replace(node, children=below(node)),)
        question, search = search_for(head.text)
        found = Node(next(numbers), question, search)
        place = find_name(head.text, node.question)
        asked = node.question
        if place >= 0:
            written = (
                head.text if _fold(node.question).startswith(_fold(head.text), place) else split_qualifier(head.text)[0]
            )
            asked = f"{asked[:place]}[{found.id}]{asked[place + len(written) :]}"
        call = OperatorCall(Operator.RELATE, (References((found.id,)), *node.call.arguments[1:]))
        return found, replace(node, question=asked, call=call)

    def below(node: Node) -> tuple[Node, ...]:
        beside = node is not tree.root or len(node.children) == 1
        children: list[Node] = []
        for child in node.children:
            made = expanded(child)
            if len(made) == 1 or beside:
                children += made
            else:
                last = replace(made[-1], id=next(numbers))
                children.append(replace(child, call=None, children=(*made[:-1], last)))
        return tuple(children)

    return renumbered(Tree(replace(tree.root, children=below(tree.root))))


def _is_name(text: str) -> bool:
    """Whether the text is written as a name: its words hold capitals or begin with figures, save for small ones."""
    found = _WORD.findall(split_qualifier(text)[0])
    telling = [word for word in found if word.casefold() not in english().small]
    return bool(telling) and all(not word[0].islower() or word != word.lower() for word in telling)


def renumbered(tree: Tree) -> Tree:
    """The tree with its nodes numbered breadth first and every reference to them following."""
    numbers = {node.id: number for number, node in enumerate(tree.nodes())}

    def text(written: str) -> str:
        return REFERENCE.sub(lambda match: f"[{numbers.get(int(match[1]), int(match[1]))}]", written)

    def argument(one: Argument) -> Argument:
        if isinstance(one, Literal):
            return Literal(text(one.text))
        return References(tuple(numbers.get(i, i) for i in one.ids))

    def again(node: Node) -> Node:
        call = node.call and OperatorCall(node.call.operator, tuple(map(argument, node.call.arguments)))
        question = node.question if node is tree.root else text(node.question)
        children = tuple(map(again, node.children))
        operation = node.operation and node.operation.with_operands(argument)
        return replace(
            node,
            id=numbers[node.id],
            question=question,
            call=call,
            children=children,
            instruction=text(node.instruction),
            operation=operation,
        )

    return Tree(again(tree.root))
