"""Bottom-up execution of an Atomic Reasoning Tree (AtomR, Algorithm 1).

An operator leaf retrieves and operates; a direct node reasons over the answers it refers to; a parent reasons over
its children and, if that yields nothing, retrieves for its own question. `answer_selection/` chooses the answer to the
whole question.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from atomr_local.errors import CallLimitError
from atomr_local.language.names import answer_key
from atomr_local.language.question_kind import defined_topic
from atomr_local.reasoning.answer_selection import AnswerSelection, raw_confidence, surest_pair
from atomr_local.reasoning.collection import CollectionReader
from atomr_local.reasoning.conversation import answers_both
from atomr_local.reasoning.operations.compute import computed_node, computed_question, evidence_of
from atomr_local.reasoning.operators import Operators
from atomr_local.reasoning.parallel import run_graph
from atomr_local.reasoning.reading.reader import Reader
from atomr_local.reasoning.results import (
    MOST_TOLD,
    Result,
    add_evidence,
    asked_about,
    fill_question,
    resolve_arguments,
    text_values,
)
from atomr_local.reasoning.revision import ResultCache, ReusedResults
from atomr_local.reasoning.steps import Steps
from atomr_local.reasoning.trace import Method
from atomr_local.reasoning.trace.events import SourcesSelected, WarningRaised
from atomr_local.reasoning.trace.recorder import Recorder
from atomr_local.settings.schema import Settings
from atomr_local.sources.protocol import SourceName
from atomr_local.tree.calls import NO_QUESTION, AnswerType
from atomr_local.tree.natural import ends_in_last
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


@dataclass
class Executor:
    """Runs the nodes of one tree.

    Attributes:
        selection: gives results their confidence and chooses the answer of the whole question.
        reused: results of an earlier answer that stand; only the other nodes run.
        cache: receives every node's result, for a revision of this answer.
        collection: answers a plan of the question alone where it asks about all documents together; None: nothing does.
    """

    tree: Tree
    operators: Operators
    reader: Reader
    recorder: Recorder
    steps: Steps
    selection: AnswerSelection
    settings: Settings
    reused: ReusedResults | None
    cache: ResultCache
    collection: CollectionReader | None = None

    def execute(self) -> Result:
        """Answer the tree's root.

        Raises:
            Cancelled: the question was cancelled; what was found is in the recorder's trace.
            AtomrError: nothing could answer the root.
        """
        if self.reused is not None:
            self.reused.report(self.tree, self.cache, self.recorder, self.steps)
        depends = dependencies(self.tree, [node.id for node in self.tree.bottom_up()], beam=self.settings.features.beam)
        order = [node_id for node_id in depends if node_id not in self.cache.results]
        depends = {node_id: depends[node_id] - self.cache.results.keys() for node_id in order}
        run_graph(order, depends, lambda node_id: self._run(self.tree.node(node_id)), self.settings.llm.parallel)
        return self.cache.results[self.tree.root.id]

    def _run(self, node: Node) -> None:
        """Answer one node; those that it depends on have been answered."""
        # The root is the user's own question: a bracketed number in it is text.
        question = node.question
        if node is not self.tree.root:
            question = fill_question(self.tree, node.instruction or node.question, self.cache.results)
        with self.steps.planned(node.id, question) as step:
            step.result = self._node(node, question)
        self.cache.results[node.id] = step.result

    def _node(self, node: Node, question: str) -> Result:
        """The node's result with its confidence: the user's own answer, or what is found."""
        given = self.reused.given(node.id) if self.reused is not None else None
        if given is not None:
            return given
        if node is self.tree.root:
            try:
                result = self._found(node, question)
                return self.selection.final(self.tree, question, self._as_asked(), result, self.cache.results)
            except CallLimitError as limit:
                return self._concluded(node, question, limit)
        result = self._found(node, question)
        self.selection.weigh_step(result)
        return result

    def _concluded(self, node: Node, question: str, limit: CallLimitError) -> Result:
        """The root's answer from what is known when no model call is left: from its children, else from the evidence.

        Nothing more is retrieved, and no other answer competes.
        """
        note = f"{limit.message}; this is concluded from what was found until then"
        self.recorder.emit(WarningRaised(message=note))
        with self.reader.asking.concluding():
            result = self._passed_up(node) if node.children else None
            if result is None:
                result = self._over(node, question, [child.id for child in node.children], "child")
            found = [item for other in self.tree.nodes() for item in self.recorder.evidence_of(other.id)]
            add_evidence(result.evidence, found)
            selection = replace(self.selection, direct=False, ask_on=None)
            result = selection.final(self.tree, question, self._as_asked(), result, self.cache.results)
        result.dropped.append(note)
        return result

    def _found(self, node: Node, question: str) -> Result:
        """The result of the method that fits the node."""
        if self.tree.is_direct and self.collection is not None:
            told = self.collection.answer(node.id, self._as_asked())
            if told is not None:
                return told
        is_root = node is self.tree.root
        expected = self.tree.expects.type if is_root and self.tree.expects is not None else None
        if expected in NO_QUESTION:
            # A bare name does not look like a question; it is a topic if a page has that title.
            topic = expected is AnswerType.NOTHING
            result = self.operators.summary(node.id, question, alone=True) if topic else Result()
        elif node.call is not None:
            result = self._leaf(node, question)
        elif node.operation is not None and self.settings.features.symbolic:
            result = computed_node(self.tree, node, self.cache.results)
        elif node.children:
            result = self._parent(node, question)
        elif node.references and not is_root:
            result = self._over(node, question, node.references, "sibling")
        elif expected is AnswerType.SUMMARY or (defined_topic(question) and answers_both(self.tree)):
            typed = self._as_asked() if expected is AnswerType.SUMMARY else ""
            result = self.operators.summary(node.id, question, typed)
        else:
            result = self._whole(node, self._as_asked() if is_root else question)
        return result

    def _whole(self, node: Node, question: str) -> Result:
        """The answer to a question without steps."""
        if node is self.tree.root:
            read = self.selection.whole_answer(node.id, question)
        else:  # one of two questions at once
            read = self.operators.pointed(node.id, question) if self.reader.points else Result()
        if read.values or (self.reader.points and self.operators.retriever.names == (SourceName.TEXT,)):
            return read
        about = asked_about(self.tree) if node is self.tree.root else ()
        result = self.operators.direct_rag(node.id, question, names=about)
        add_evidence(result.evidence, read.evidence)
        return result

    def _as_asked(self) -> str:
        """The question in the user's own words; a follow-up question as it was understood."""
        trace = self.recorder.trace
        return self.tree.question if trace.took_from else trace.question or self.tree.question

    def _leaf(self, node: Node, question: str) -> Result:
        result = self._operate(node, question, self.cache.results, self.operators)
        if self.settings.features.beam and len(node.references) == 1:
            [earlier] = node.references
            if self.cache.results[earlier].others:
                return self._beam_search(node, earlier, result)
        return result

    def _beam_search(self, node: Node, earlier: int, result: Result) -> Result:
        """Keep the surest pair of this step and an unsure earlier one, whose answer may change.

        The other answers of the earlier step are any words of passages, and the user has not seen them: they are looked
        up in the local sources alone.
        """
        local = self.operators.locally()

        def after(trial: Result) -> Result:
            tried = {**self.cache.results, earlier: trial}
            question = fill_question(self.tree, node.instruction or node.question, tried)
            return self._operate(node, question, tried, local)

        first = self.cache.results[earlier]
        asked = list(self.recorder.trace.node(node.id).sources)
        changed, result = surest_pair(first, result, after)
        tried = self.recorder.trace.node(node.id).sources
        if set(asked) - set(tried):
            told = tuple(dict.fromkeys((*asked, *tried)))
            self.recorder.emit(SourcesSelected(node_id=node.id, sources=told, reason=f"step {earlier} was not sure"))
        if changed is not first:
            changed.dropped = [
                *first.dropped,
                f"{first.answer} ({raw_confidence(first) or 0.0:.2f}), for step {node.id}",
            ]
            self.selection.weigh_step(changed)
            self.cache.results[earlier] = changed
            self.steps.report(earlier, changed, self.recorder.trace.node(earlier).seconds)
        return result

    def _operate(self, node: Node, question: str, results: Mapping[int, Result], operators: Operators) -> Result:
        assert node.call is not None
        cap = self.settings.limits.references
        combinations, dropped = resolve_arguments(self.tree, node, results, max(cap, _MOST_IN_SET))
        if not combinations:
            result = operators.direct_rag(node.id, question)
        else:
            result = operators.run(node.id, node.call.operator, question, combinations, cap)
            if self.settings.features.other_source and len(combinations) == 1:
                result = self.selection.beside_other_source(node, question, combinations[0], result)
        result.dropped.extend(dropped)
        return result

    def _parent(self, node: Node, question: str) -> Result:
        children = [child.id for child in node.children]
        passed = self._passed_up(node)
        last = self.cache.results.get(children[-1])
        if last is not None and last.none and passed is None:
            return Result(evidence=list(last.evidence), reason=last.reason, none=True, computed=True)
        result = passed or self._over(node, question, children, "child")
        if result.values:
            return result
        found = self.operators.direct_rag(node.id, question)
        found.dropped = [*result.dropped, *found.dropped]
        return found

    def _passed_up(self, node: Node) -> Result | None:
        """The last child's answer if it depends on all other children: the end of a chain is its answer."""
        last = node.children[-1]
        if not ends_in_last(self.tree, node) or not self.cache.results[last.id].values:
            return None
        end = self.cache.results[last.id]
        return Result(
            end.values,
            "child",
            end.confidence,
            list(end.evidence),
            cited=list(end.cited),
            computation=f"answer of [{last.id}]",
            computed=end.computed,
            quotes=end.quotes,
        )

    def _over(self, node: Node, question: str, ids: Sequence[int], method: Method) -> Result:
        """Reason over the answers of other nodes: compute what the question clearly asks for, else ask the model."""
        known = {i: self.cache.results[i] for i in ids if i in self.cache.results}
        symbolic = self.settings.features.symbolic
        computed = computed_question(self.tree, node, list(known), self.cache.results) if symbolic else None
        if computed is not None:
            return computed
        evidence, cited = evidence_of(known.values())
        if not any(result.values for result in known.values()):
            return Result(evidence=evidence)
        steps = [
            (fill_question(self.tree, self.tree.node(i).question, self.cache.results), one.told)
            for i, one in known.items()
        ]
        cut = [
            f"of {len(one.values)} values of step {i} the model was shown the first {MOST_TOLD}"
            for i, one in known.items()
            if len(one.values) > MOST_TOLD
        ]
        reading = self.reader.from_steps(node.id, question, steps)
        # A small model that has nothing to say may say the question again.
        told = tuple(answer for answer in reading.answers if answer_key(answer) != answer_key(question))
        return Result(
            text_values(told),
            method if told else None,
            reading.confidence,
            evidence,
            cited=cited if told else [],
            dropped=[*cut, *reading.dropped],
            error={"title": "Answer not readable", "message": reading.problem} if reading.problem else None,
            signals=reading.signals if told else {},
        )
