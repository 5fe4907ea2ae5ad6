"""A trace as the rules of diagnosis read it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

from atomr_local.language.names import name_key
from atomr_local.tree.nodes import ROOT_ID

_OPERATORS = ("search", "relate", "filter")


class SeenTrace:
    """A trace's nodes, looked up by id."""

    def __init__(self, trace: Mapping[str, Any]) -> None:
        self.trace = trace
        self.nodes: dict[int, Mapping[str, Any]] = {node["id"]: node for node in trace["nodes"]}
        self._evidence: dict[str, Mapping[str, Any]] = {piece["id"]: piece for piece in trace["evidence"]}

    @property
    def is_tree(self) -> bool:
        # The single-call strategies record a root alone, which they too call a fallback plan.
        return self.trace["strategy"] == "atomr" or bool(self.operator_leaves)

    @property
    def retrieved(self) -> bool:
        return any(self.trace["totals"]["retrievals"].values())

    @cached_property
    def children(self) -> dict[int, list[int]]:
        below: dict[int, list[int]] = {}
        for node in self.nodes.values():
            if node["parent"] is not None:
                below.setdefault(node["parent"], []).append(node["id"])
        return below

    @cached_property
    def execution_order(self) -> list[int]:
        """Ids, children before parents and earlier siblings first, as `Tree.bottom_up` has them."""

        def walk(node_id: int) -> Iterator[int]:
            for child in self.children.get(node_id, ()):
                yield from walk(child)
            yield node_id

        return list(walk(ROOT_ID)) if ROOT_ID in self.nodes else sorted(self.nodes)

    @cached_property
    def operator_leaves(self) -> list[int]:
        return [node_id for node_id in self.execution_order if self.nodes[node_id]["kind"] in _OPERATORS]

    def own_text(self, node_id: int) -> str:
        """What the plan says at this node. A root's question is left out: it names everything."""
        node = self.nodes[node_id]
        arguments = [argument for argument in node["arguments"] if isinstance(argument, str)]
        return name_key(" | ".join(arguments if node_id == ROOT_ID else [node["question"], *arguments]))

    def relation_text(self, node_id: int) -> str:
        """Where the plan names the relation: a Relate's arguments after the head, elsewhere anywhere."""
        node = self.nodes[node_id]
        if node["kind"] != "relate":
            return self.own_text(node_id)
        return name_key(" | ".join(argument for argument in node["arguments"][1:] if isinstance(argument, str)))

    def sources_of(self, node_id: int) -> list[int]:
        """The node, and all that it rests on: its references, their children, and so on."""
        found: list[int] = []
        waiting = [node_id]
        while waiting:
            current = waiting.pop(0)
            if current in found or current not in self.nodes:
                continue
            found.append(current)
            waiting.extend(self.nodes[current]["refs"])
            if current != node_id:
                waiting.extend(self.children.get(current, ()))
        return found

    def and_parents(self, node_id: int) -> list[int]:
        """The node and its ancestors below the root."""
        line = [node_id]
        while (parent := self.nodes[line[-1]]["parent"]) not in (None, ROOT_ID):
            line.append(parent)
        return line

    def evidence(self, node_ids: Sequence[int] | None = None) -> list[Mapping[str, Any]]:
        """The evidence of these nodes, or all of it."""
        if node_ids is None:
            return list(self._evidence.values())
        named = dict.fromkeys(name for node_id in node_ids for name in self.nodes[node_id]["evidence"])
        return [self._evidence[name] for name in named if name in self._evidence]
