"""The Atomic Reasoning Tree (ART): questions decomposed down to atomic operations.

AtomR (KDD 2025), section 3.2. The types here are immutable and know nothing of notations or execution.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cached_property

from atomr_local.tree.calls import REFERENCE, Argument, Expects, Literal, Operator, OperatorCall, References
from atomr_local.tree.operations import OperationCall

__all__ = [
    "REFERENCE",
    "ROOT_ID",
    "Argument",
    "Literal",
    "Node",
    "NodeKind",
    "Operator",
    "OperatorCall",
    "References",
    "Tree",
]

ROOT_ID = 0


class NodeKind(StrEnum):
    ROOT = "root"
    PARENT = "parent"
    SEARCH = "search"
    RELATE = "relate"
    FILTER = "filter"
    DIRECT = "direct"
    OPERATION = "operation"


@dataclass(frozen=True)
class Node:
    """One question of the tree.

    A node with a `call` is a leaf that runs an operator; one with an `operation` is computed from earlier nodes; one
    with children is answered from them. Any other node is answered directly from the earlier nodes that its question or
    `instruction` refers to (`[DR]`).

    Attributes:
        expects: the expected answer that the plan states for the whole question; only at the root.
    """

    id: int
    question: str
    call: OperatorCall | None = None
    children: tuple[Node, ...] = ()
    instruction: str = ""
    operation: OperationCall | None = None
    expects: Expects | None = None

    @property
    def kind(self) -> NodeKind:
        if self.call is not None:
            return NodeKind[self.call.operator.name]
        if self.operation is not None:
            return NodeKind.OPERATION
        if self.id == ROOT_ID:
            return NodeKind.ROOT
        return NodeKind.PARENT if self.children else NodeKind.DIRECT

    @property
    def references_in_words(self) -> tuple[int, ...]:
        """Ids referred to by the question or the instruction, in order, each once."""
        found = REFERENCE.findall(f"{self.question} {self.instruction}")
        return tuple(dict.fromkeys(int(match) for match in found))

    @property
    def references(self) -> tuple[int, ...]:
        """Ids referred to by the question, the instruction, the operator or the operation, in order, each once."""
        ids = list(self.references_in_words)
        if self.call is not None:
            ids.extend(self.call.references)
        if self.operation is not None:
            ids.extend(self.operation.references)
        return tuple(dict.fromkeys(ids))

    def bottom_up(self) -> Iterator[Node]:
        """The node and all below it in execution order: children before parents, earlier siblings first."""
        stack: list[tuple[Node, bool]] = [(self, False)]
        while stack:
            node, expanded = stack.pop()
            if expanded or not node.children:
                yield node
                continue
            stack.append((node, True))
            stack.extend((child, False) for child in reversed(node.children))


@dataclass(frozen=True)
class Tree:
    """A question and its decomposition. The root has id 0 and holds the question as it was understood."""

    root: Node
    _parents: dict[int, int] = field(init=False, repr=False, compare=False, default_factory=dict)

    def __post_init__(self) -> None:
        for node in self.nodes():
            for child in node.children:
                self._parents[child.id] = node.id

    @property
    def question(self) -> str:
        """The question as understood; the user may have typed it differently."""
        return self.root.question

    @property
    def expects(self) -> Expects | None:
        """The answer that the question asks for; None if the plan does not state it."""
        return self.root.expects

    @property
    def is_direct(self) -> bool:
        """Whether the plan is the question alone, to be answered by one direct look-up."""
        return self.root.kind is NodeKind.ROOT and not self.root.children

    def nodes(self) -> Iterator[Node]:
        """Every node, breadth first, the root included."""
        level: list[Node] = [self.root]
        while level:
            yield from level
            level = [child for node in level for child in node.children]

    def bottom_up(self) -> Iterator[Node]:
        """Every node in execution order, see :meth:`Node.bottom_up`."""
        return self.root.bottom_up()

    @cached_property
    def _by_id(self) -> dict[int, Node]:
        return {node.id: node for node in self.nodes()}

    def node(self, node_id: int) -> Node:
        """The node with this id.

        Raises:
            KeyError: no node has it.
        """
        return self._by_id[node_id]

    def parent_of(self, node_id: int) -> int | None:
        """Id of the parent, or None for the root."""
        return self._parents.get(node_id)

    def __len__(self) -> int:
        return len(self._by_id)


# Gives nodes other numbers, and changes the references to them.


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
