"""Gives nodes other numbers, and changes the references to them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from atomr_local.tree.nodes import REFERENCE, Argument, Literal, Node, OperatorCall, References, Tree


def with_references(node: Node, numbers: Mapping[int, int]) -> Node:
    """The node with references changed, those of its children not. What `numbers` does not name stays."""

    def text(written: str) -> str:
        return REFERENCE.sub(lambda match: f"[{numbers.get(int(match[1]), int(match[1]))}]", written)

    def argument(one: Argument) -> Argument:
        if isinstance(one, Literal):
            return Literal(text(one.text))
        return References(tuple(numbers.get(i, i) for i in one.ids))

    return replace(
        node,
        question=text(node.question),
        instruction=text(node.instruction),
        call=node.call and OperatorCall(node.call.operator, tuple(map(argument, node.call.arguments))),
        operation=node.operation and node.operation.with_operands(argument),
    )


def renumbered(tree: Tree) -> Tree:
    """The tree with its nodes numbered breadth first and all references adapted; the root's question stays as it is."""
    numbers = {node.id: number for number, node in enumerate(tree.nodes())}

    def again(node: Node) -> Node:
        changed = with_references(node, numbers)
        question = node.question if node is tree.root else changed.question
        return replace(changed, id=numbers[node.id], question=question, children=tuple(map(again, node.children)))

    return Tree(again(tree.root))
