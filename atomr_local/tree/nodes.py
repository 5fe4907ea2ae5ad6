"""The Atomic Reasoning Tree (ART): questions decomposed down to atomic operations.

AtomR (KDD 2025), section 3.2. The types here are immutable and know nothing of notations or execution.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property

ROOT_ID = 0
REFERENCE = re.compile(r"\[(\d{1,4})\]")


class Operator(StrEnum):
    """The three atomic knowledge operators (AtomR, section 3.1)."""

    SEARCH = "Search"
    RELATE = "Relate"
    FILTER = "Filter"


class NodeKind(StrEnum):
    ROOT = "root"
    PARENT = "parent"
    SEARCH = "search"
    RELATE = "relate"
    FILTER = "filter"
    DIRECT = "direct"


@dataclass(frozen=True, slots=True)
class Literal:
    """A quoted argument; `[i]` inside it stands for the answer of node i."""

    text: str

    @property
    def references(self) -> tuple[int, ...]:
        return tuple(int(match) for match in REFERENCE.findall(self.text))


@dataclass(frozen=True, slots=True)
class References:
    """A bare argument, `[3]` or `[5, 7]`: the answers of these nodes."""

    ids: tuple[int, ...]

    @property
    def references(self) -> tuple[int, ...]:
        return self.ids


Argument = Literal | References


@dataclass(frozen=True, slots=True)
class OperatorCall:
    operator: Operator
    arguments: tuple[Argument, ...]

    @property
    def references(self) -> tuple[int, ...]:
        """Ids referred to by any argument, in order, each once."""
        return tuple(dict.fromkeys(i for argument in self.arguments for i in argument.references))


@dataclass(frozen=True)
class Node:
    """One question of the tree.

    A node with a `call` is a leaf that runs an operator; one with children is answered from them; one with
    neither is answered directly from the earlier nodes that its question or `instruction` refers to (`[DR]`).
    """

    id: int
    question: str
    call: OperatorCall | None = None
    children: tuple[Node, ...] = ()
    instruction: str = ""

    @property
    def kind(self) -> NodeKind:
        if self.call is not None:
            return NodeKind[self.call.operator.name]
        if self.id == ROOT_ID:
            return NodeKind.ROOT
        return NodeKind.PARENT if self.children else NodeKind.DIRECT

    @property
    def references(self) -> tuple[int, ...]:
        """Ids referred to by the question, the instruction or the operator's arguments, in order, each once."""
        ids = [int(match) for match in REFERENCE.findall(f"{self.question} {self.instruction}")]
        if self.call is not None:
            ids.extend(self.call.references)
        return tuple(dict.fromkeys(ids))


@dataclass(frozen=True)
class Tree:
    """A question and its decomposition. The root has id 0 and holds the question itself."""

    root: Node
    _parents: dict[int, int] = field(init=False, repr=False, compare=False, default_factory=dict)

    def __post_init__(self) -> None:
        for node in self.nodes():
            for child in node.children:
                self._parents[child.id] = node.id

    @property
    def question(self) -> str:
        return self.root.question

    def nodes(self) -> Iterator[Node]:
        """Every node, breadth first, the root included."""
        level: list[Node] = [self.root]
        while level:
            yield from level
            level = [child for node in level for child in node.children]

    def bottom_up(self) -> Iterator[Node]:
        """Every node in execution order: children before parents, earlier siblings first."""

        stack: list[tuple[Node, bool]] = [(self.root, False)]
        while stack:
            node, expanded = stack.pop()
            if expanded or not node.children:
                yield node
                continue
            stack.append((node, True))
            stack.extend((child, False) for child in reversed(node.children))

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
