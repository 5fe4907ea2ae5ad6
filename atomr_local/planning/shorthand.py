"""Shorthand plans: a Relate on a name expands to a Search for the name and a Relate on its result.

In the method every chain of look-ups begins with a Search (AtomR, section 3.1). The Search follows from the name in
`Relate("Hamlet (1948 film)", "director")`, so a small model does not have to write it. That makes plans about a third
shorter and leaves one way of planning instead of two. The plan that runs, and is shown, contains the Search.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import replace
from itertools import count

from atomr_local.language.names import split_qualifier
from atomr_local.language.words import english
from atomr_local.tree.nodes import Literal, Node, Operator, OperatorCall, References, Tree
from atomr_local.tree.renumbering import renumbered

_WORD = re.compile(r"[^\W_]+")


def _fold(text: str) -> str:
    """Case-folded and without diacritics, letter by letter, so that positions equal those in the original."""
    letters = (unicodedata.normalize("NFD", character)[0].casefold() for character in text)
    return "".join(letter if len(letter) == 1 else letter[0] for letter in letters)


def find_name(name: str, text: str) -> int:
    """Position of the name in the text, with or without its parenthetical; -1 if it is not there."""
    folded = _fold(text)
    for form in (name, split_qualifier(name)[0]):
        place = folded.find(_fold(form)) if form else -1
        if place >= 0:
            return place
    return -1


def search_for(written: str) -> tuple[str, OperatorCall]:
    """The Search for a name as a plan writes it, and its question.

    A description in parentheses says which one is meant and becomes the second argument: "Hamlet (1948 film)".
    """
    name, kind = split_qualifier(written)
    arguments = (Literal(name), Literal(kind)) if kind else (Literal(name),)
    return f"Who or what is {written}?", OperatorCall(Operator.SEARCH, arguments)


def with_searches(tree: Tree) -> Tree:
    """The tree with a Search before each Relate on a name, numbered breadth first.

    A top-level step becomes a question with the two below it. If it is the only step, or already below another one, the
    Search becomes its sibling.
    """
    numbers = count(max(node.id for node in tree.nodes()) + 1)

    def expanded(node: Node) -> tuple[Node, ...]:
        """The Search and the Relate for a Relate on a name; any other node alone."""
        head = node.call.arguments[0] if node.call is not None and node.call.operator is Operator.RELATE else None
        if node.call is None or not isinstance(head, Literal) or head.references or not is_name(head.text):
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


def is_name(text: str) -> bool:
    """Whether the text is spelt as a name: all but the small words have capitals or begin with digits."""
    found = _WORD.findall(split_qualifier(text)[0])
    telling = [word for word in found if word.casefold() not in english().small]
    return bool(telling) and all(not word[0].islower() or word != word.lower() for word in telling)
