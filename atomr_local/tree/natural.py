"""A plan in natural questions, without operators: sub-questions that refer to each other's answers (ProbTree)."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from atomr_local.tree.nodes import REFERENCE, Literal, Node, Operator, Tree


def natural(tree: Tree, keep: Collection[int] = ()) -> Tree:
    """The tree with every step as a question alone; numbers stay. A tree that has no operators is not changed.

    - A Search for a name melts into the questions that refer to it.
    - A question whose only part is one other question is answered like that one.
    - A last step that only computes, in words that refer to no other step, asks the question above it once more: it
      goes, for that question is answered from its parts anyway.
    - Steps that an operator refers to and the words do not are named behind the words.

    Args:
        keep: steps that stay whatever they are.
    """
    if is_natural(tree):
        return tree
    return _Natural(tree, frozenset(keep)).tree()


def is_natural(tree: Tree) -> bool:
    """Whether every step of the plan is a question alone."""
    return not any(node.call or node.operation or node.instruction for node in tree.nodes())


class _Natural:
    def __init__(self, tree: Tree, keep: frozenset[int]) -> None:
        self._root = tree.root
        self._keep = keep
        self._referred = {
            i for node in tree.nodes() for i in (() if node is tree.root else node.references) if i != node.id
        }
        self._names = {
            node.id: name
            for node in tree.nodes()
            if node.id in self._referred - keep and (name := searched_name(node)) and node is not tree.root
        }

    def tree(self) -> Tree:
        root = self._root
        return Tree(replace(root, call=None, operation=None, instruction="", children=self._below(root)))

    def _below(self, node: Node) -> tuple[Node, ...]:
        left = [child for child in node.children if child.id not in self._names]
        children = tuple(Node(child.id, self._words(child), children=self._below(child)) for child in left)
        if len(children) == 1 and children[0].id not in self._referred | self._keep:
            return children[0].children
        if len(children) > 1 and self._repeats(left[-1]):
            return children[:-1]
        return children

    def _repeats(self, last: Node) -> bool:
        """Whether a last step only computes from the others, in words that refer to none."""
        computes = last.operation is not None or bool(last.instruction)
        return computes and last.id not in self._referred | self._keep and not last.references_in_words

    def _words(self, node: Node) -> str:
        said = {int(match) for match in REFERENCE.findall(node.question)}
        folded = node.question.casefold()
        unsaid = [
            i
            for i in node.references
            if i not in said and not (i in self._names and self._names[i].casefold() in folded)
        ]
        text = f"{node.question} ({', '.join(f'[{i}]' for i in unsaid)})" if unsaid else node.question
        return REFERENCE.sub(lambda match: self._names.get(int(match[1]), match[0]), text)


def searched_name(node: Node) -> str:
    """The name that a Search looks for as the plan gives it; "" for other steps."""
    if node.call is None or node.call.operator is not Operator.SEARCH or node.children:
        return ""
    name = node.call.arguments[0]
    return name.text.strip() if isinstance(name, Literal) and not name.references else ""
