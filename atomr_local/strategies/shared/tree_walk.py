"""Answers the questions of a tree in post-order, with corrections and repeated questions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from atomr_local.language.names import name_key
from atomr_local.reasoning.arguments import fill_question
from atomr_local.reasoning.result_reuse import ReusedResults
from atomr_local.reasoning.results import Result
from atomr_local.reasoning.steps import Step
from atomr_local.strategies.protocol import Toolbox
from atomr_local.tree.nodes import Node, Tree


class TreeWalk:
    """One walk through one tree.

    Attributes:
        results: by node, what was found so far.
        asked: by node, its question with references replaced by answers.
    """

    def __init__(self, question: str, tree: Tree, tools: Toolbox) -> None:
        self.results: dict[int, Result] = tools.cache.results
        self.asked: dict[int, str] = {}
        self._question = question
        self._tree = tree
        self._tools = tools
        self._reused: ReusedResults | None = None
        if tools.revision is not None:
            self._reused = ReusedResults(tree, tools.revision, tools.earlier, tools.retriever.names)

    def run(self, answer: Callable[[Node, Step], Result]) -> Result:
        """The root's result; `answer` gives that of each node whose result is neither kept nor the user's."""
        tools, root = self._tools, self._tree.root
        if self._reused is not None:
            self._reused.report(self._tree, tools.cache, tools.recorder, tools.steps)
        for node in self._tree.bottom_up():
            asked = self._question if node is root else fill_question(self._tree, node.question, self.results)
            self.asked[node.id] = asked
            if node.id in self.results:
                continue
            with tools.steps.planned(node.id, asked) as step:
                step.result = self._given(node) or answer(node, step)
            self.results[node.id] = step.result
        return self.results[root.id]

    def _given(self, node: Node) -> Result | None:
        return self._reused.given(node.id) if self._reused is not None else None

    def asked_before(self, node: Node) -> Result | None:
        """The result of an earlier step that asked the same, unless the step itself is corrected."""
        if self._tools.revision is not None and node.id in self._tools.revision.named:
            return None
        key = name_key(self.asked[node.id])
        for node_id, result in self.results.items():
            if name_key(self.asked.get(node_id, "")) == key:
                return replace(result, dropped=[*result.dropped, f"step {node_id} asked the same"])
        return None

    def corrected(self, node: Node) -> bool:
        """Whether an answer below is the user's."""
        return any(self.by_user(one) for one in below(node))

    def by_user(self, node: Node) -> bool:
        return self._tools.recorder.trace.node(node.id).by_user


def below(node: Node) -> Iterator[Node]:
    """The questions below the node, each after those below it."""
    for child in node.children:
        yield from below(child)
        yield child
