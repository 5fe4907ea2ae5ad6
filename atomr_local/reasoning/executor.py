"""Bottom-up execution of an Atomic Reasoning Tree (AtomR, Algorithm 1).

An operator leaf retrieves and operates; a direct node reasons over the answers it refers to; a parent reasons over
its children and, if that yields nothing, retrieves for its own question. `answer_selection/` chooses the answer to the
whole question.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from atomr_local.cancellation import Cancellation
from atomr_local.errors import AtomrError, Cancelled
from atomr_local.reasoning.answer_selection.answer_signals import raw_confidence
from atomr_local.reasoning.answer_selection.selection import AnswerSelection, surest_pair
from atomr_local.reasoning.arguments import fill_question, resolve_arguments
from atomr_local.reasoning.operations.computed_nodes import computed_node, computed_question, evidence_of
from atomr_local.reasoning.operators import Operators
from atomr_local.reasoning.parallel import run_graph
from atomr_local.reasoning.reading.reader import Reader
from atomr_local.reasoning.reading.reading import Reading
from atomr_local.reasoning.result_reuse import ResultCache, ReusedResults
from atomr_local.reasoning.results import Result, citations_hold, node_finished, text_values
from atomr_local.reasoning.trace.events import NodeStarted
from atomr_local.reasoning.trace.recorder import Recorder
from atomr_local.reasoning.trace.schema import Method
from atomr_local.settings.schema import Settings
from atomr_local.sources.protocol import Evidence
from atomr_local.tree.answer_types import NO_QUESTION, AnswerType
from atomr_local.tree.nodes import Node, Tree

# The most values of a reference if a source looks them up together.
_MOST_IN_SET = 200


def dependencies(tree: Tree, order: Sequence[int], *, beam: bool) -> dict[int, set[int]]:
    """For each node the nodes that must be answered before it: its children and the ones it refers to.

    With `beam`, a step may change the answer of the earlier step that it refers to. To get the results of running one
    node at a time, later nodes in `order` that depend on that answer wait for the step, and the step waits for earlier
    ones that do.
    """
    below: dict[int, set[int]] = {}  # everything that a node depends on
    depends: dict[int, set[int]] = {}
    may_change: list[tuple[int, int]] = []  # a step, and the earlier one whose answer it may change
    for node_id in order:
        node = tree.node(node_id)
        direct = {*node.references, *(child.id for child in node.children)} & below.keys()
        below[node_id] = direct.union(*(below[i] for i in direct))
        depends[node_id] = direct | {step for step, changed in may_change if beam and changed in below[node_id]}
        if node.call is not None and len(node.references) == 1 and tree.node(node.references[0]).call is not None:
            changed = node.references[0]
            may_change.append((node_id, changed))
            if beam:
                depends[node_id] |= {other for other in below if other != node_id and changed in below[other]}
    return depends


def _expected(tree: Tree, node: Node) -> AnswerType | None:
    """The type of answer that the root expects; None for other nodes or if the plan does not state it."""
    return tree.expects.type if node is tree.root and tree.expects is not None else None


@dataclass
class Executor:
    """Runs the nodes of one tree.

    Attributes:
        selection: gives results their confidence and chooses the answer of the whole question.
        reused: results of an earlier answer that stand; only the other nodes run.
        cache: receives every node's result, for a revision of this answer.
    """

    operators: Operators
    reader: Reader
    recorder: Recorder
    cancellation: Cancellation
    selection: AnswerSelection
    settings: Settings
    reused: ReusedResults | None
    cache: ResultCache

    def execute(self, tree: Tree) -> Result:
        """Answer the tree's root.

        Raises:
            Cancelled: the question was cancelled; what was found is in the recorder's trace.
            AtomrError: nothing could answer the root.
        """
        results = self.cache.results
        if self.reused is not None:
            self.reused.report(tree, self.cache, self.recorder)
        depends = dependencies(tree, [node.id for node in tree.bottom_up()], beam=self.settings.features.beam)
        order = [node_id for node_id in depends if node_id not in results]
        depends = {node_id: depends[node_id] - results.keys() for node_id in order}
        run_graph(
            order, depends, lambda node_id: self._run(tree, tree.node(node_id), results), self.settings.llm.parallel
        )
        return results[tree.root.id]

    def _run(self, tree: Tree, node: Node, results: dict[int, Result]) -> None:
        """Answer one node; those that it depends on have been answered."""
        self.cancellation.check()
        started = time.perf_counter()
        # The root is the user's own question: a bracketed number in it is text.
        is_root = node is tree.root
        question = node.question if is_root else fill_question(tree, node.instruction or node.question, results)
        self.recorder.emit(NodeStarted(node_id=node.id, resolved_question=question))
        try:
            result = self._node(tree, node, question, results)
        except Cancelled:
            raise
        except AtomrError as error:
            # The failure concerns this node only: its parent may still find another way.
            result = Result(
                evidence=self.recorder.evidence_of(node.id),
                error={"title": error.title, "message": error.message},
            )
            if node.id == tree.root.id:
                self._report(node, result, time.perf_counter() - started)
                raise
        results[node.id] = result
        self._report(node, result, time.perf_counter() - started)

    def _node(self, tree: Tree, node: Node, question: str, results: dict[int, Result]) -> Result:
        """The node's result with its confidence: the user's own answer, or what is found."""
        given = self.reused.given(node.id) if self.reused is not None else None
        if given is not None:
            return given
        result = self._found(tree, node, question, results)
        if node is tree.root:
            return self.selection.final(tree, question, self._as_asked(tree), result, results)
        self.selection.weigh_step(result)
        return result

    def _found(self, tree: Tree, node: Node, question: str, results: dict[int, Result]) -> Result:
        """The result of the method that fits the node."""
        expected = _expected(tree, node)
        if expected in NO_QUESTION:
            # A bare name does not look like a question; it is a topic if a page has that title.
            topic = expected is AnswerType.NOTHING
            result = self.operators.summary(node.id, question, alone=True) if topic else Result()
        elif node.call is not None:
            result = self._leaf(tree, node, question, results)
        elif node.operation is not None and self.settings.features.symbolic:
            result = computed_node(tree, node, results)
        elif node.children:
            result = self._parent(tree, node, question, results)
        elif node.references and node is not tree.root:
            result = self._over(tree, node, question, node.references, results, "sibling")
        elif expected is AnswerType.SUMMARY:
            result = self.operators.summary(node.id, question, self._as_asked(tree))
        else:
            result = self.operators.direct_rag(node.id, self._as_asked(tree) if node is tree.root else question)
        return result

    def _as_asked(self, tree: Tree) -> str:
        """The question in the user's own words; a follow-up question as it was understood."""
        trace = self.recorder.trace
        return tree.question if trace.took_from else trace.question or tree.question

    def _leaf(self, tree: Tree, node: Node, question: str, results: dict[int, Result]) -> Result:
        result = self._operate(tree, node, question, results)
        unsure = (
            [i for i in node.references if len(node.references) == 1 and results[i].others]
            if self.settings.features.beam
            else []
        )
        for earlier in unsure:
            result = self._beam_search(tree, node, earlier, result, results)
        return result

    def _beam_search(self, tree: Tree, node: Node, earlier: int, result: Result, results: dict[int, Result]) -> Result:
        """Keep the surest pair of this step and an unsure earlier one, whose answer may change."""

        def after(trial: Result) -> Result:
            tried = {**results, earlier: trial}
            return self._operate(tree, node, fill_question(tree, node.instruction or node.question, tried), tried)

        first = results[earlier]
        changed, result = surest_pair(first, result, after)
        if changed is not first:
            changed.dropped = [
                *first.dropped,
                f"{first.answer} ({raw_confidence(first) or 0.0:.2f}), for step {node.id}",
            ]
            self.selection.weigh_step(changed)
            results[earlier] = changed
            self._report(tree.node(earlier), changed, self.recorder.trace.node(earlier).seconds)
        return result

    def _operate(self, tree: Tree, node: Node, question: str, results: Mapping[int, Result]) -> Result:
        assert node.call is not None
        resolved = resolve_arguments(tree, node, results, max(self.settings.limits.references, _MOST_IN_SET))
        if not resolved.combinations:
            result = self.operators.direct_rag(node.id, question)
        else:
            result = self.operators.run(
                node.id, node.call.operator, question, resolved.combinations, self.settings.limits.references
            )
        result.dropped.extend(resolved.dropped)
        return result

    def _parent(self, tree: Tree, node: Node, question: str, results: Mapping[int, Result]) -> Result:
        children = [child.id for child in node.children]
        passed = self._passed_up(tree, node, results)
        last = results.get(children[-1])
        if last is not None and last.none and passed is None:
            return Result(evidence=list(last.evidence), reason=last.reason, none=True, computed=True)
        result = passed or self._over(tree, node, question, children, results, "child")
        if result.values:
            return result
        found = self.operators.direct_rag(node.id, question)
        found.dropped = [*result.dropped, *found.dropped]
        return found

    def _passed_up(self, tree: Tree, node: Node, results: Mapping[int, Result]) -> Result | None:
        """The last child's answer if it depends on all other children: the end of a chain is its answer."""
        last = node.children[-1]
        resting: set[int] = set()
        open_ids = [last.id]
        while open_ids:
            current = open_ids.pop()
            if current in resting:
                continue
            resting.add(current)
            below = tree.node(current)
            open_ids.extend(below.references)
            open_ids.extend(child.id for child in below.children)
        if not {child.id for child in node.children} <= resting or not results[last.id].values:
            return None
        end = results[last.id]
        return Result(
            end.values,
            "child",
            end.confidence,
            list(end.evidence),
            list(end.cited),
            f"answer of [{last.id}]",
            computed=end.computed,
        )

    def _over(
        self,
        tree: Tree,
        node: Node,
        question: str,
        ids: Sequence[int],
        results: Mapping[int, Result],
        method: Method,
    ) -> Result:
        """Reason over the answers of other nodes: compute what the question clearly asks for, else ask the model."""
        known = {i: results[i] for i in ids if i in results}
        computed = computed_question(tree, node, list(known), results) if self.settings.features.symbolic else None
        if computed is not None:
            return computed
        evidence, cited = evidence_of(known.values())
        if not any(result.values for result in known.values()):
            return Result(evidence=evidence)
        steps = [(fill_question(tree, tree.node(i).question, results), r.answer) for i, r in known.items()]
        reading = self.reader.from_steps(node.id, question, steps)
        result = self._from_reading(reading, evidence, cited)
        if result.values:
            result.method = method
        return result

    @staticmethod
    def _from_reading(reading: Reading, evidence: list[Evidence], cited: list[str]) -> Result:
        error = {"title": "Answer not readable", "message": reading.problem} if reading.problem else None
        return Result(
            text_values(reading.answers),
            None,
            reading.confidence,
            evidence,
            cited if reading.answers else [],
            dropped=list(reading.dropped),
            error=error,
            signals=reading.signals if reading.answers else {},
        )

    def _report(self, node: Node, result: Result, seconds: float) -> None:
        supported = citations_hold(result)
        self.recorder.emit(node_finished(self.recorder, node.id, result, supported=supported, seconds=seconds))
