"""Answers a question by its operators on the graph alone: the parse of RoHT's graph executor (Zhang et al., 2023)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from atomr_local.reasoning.confidence import worst
from atomr_local.reasoning.operations.compute import computed_node
from atomr_local.reasoning.planning.coverage import search_for
from atomr_local.reasoning.results import Result, add_evidence, distinct, fill_question, resolve_arguments
from atomr_local.reasoning.retrieval import SourceResults, is_sure, match_confidence, match_signals
from atomr_local.sources.protocol import Evidence, Request, Value
from atomr_local.tree.natural import program
from atomr_local.tree.nodes import Node, Operator, Tree

Ask = Callable[[Request], SourceResults]


@dataclass
class GraphAnswer:
    """What the operators of a question found in the graph.

    Attributes:
        matched: the product over the look-ups of link score times relation score, 0 to 1.
        sure: whether the graph links every entity and relation surely.
        problem: why there is no answer, in words; "" if there is one.
    """

    values: tuple[Value, ...] = ()
    matched: float = 1.0
    sure: bool = True
    evidence: list[Evidence] = field(default_factory=list)
    cited: list[str] = field(default_factory=list)
    signals: dict[str, float] = field(default_factory=dict)
    computation: str = ""
    notes: list[str] = field(default_factory=list)
    problem: str = ""


class GraphProgram:
    """Runs the operators of the questions of one tree. Each look-up is the graph's own: no model reads its rows."""

    def __init__(self, tree: Tree, ask: Ask, most: int, top_k: int) -> None:
        """Begin.

        Args:
            ask: asks the graph.
            most: the most values of a reference that an operator runs for.
        """
        self._tree = tree
        self._ask = ask
        self._most = most
        self._top_k = top_k

    def answer(self, node: Node, results: Mapping[int, Result], question: str) -> GraphAnswer:
        """The question's answer, given those of the steps that it rests on.

        Raises:
            Cancelled: the question was cancelled.
        """
        found = GraphAnswer()
        known = dict(results)
        for step in program(self._tree, node):
            if step.operation is not None:
                result = computed_node(self._tree, step, known)
                found.computation = result.computation or ""
                if not result.values:
                    found.problem = result.reason
            else:
                asked = question if step is node else fill_question(self._tree, step.question, known)
                result = self._looked_up(step, known, asked, found)
                found.computation = ""
            if not result.values:
                found.problem = found.problem or "the graph does not have it"
                return found
            self._pass_on(step, node, result, known)
            found.values = result.values
        return found

    def _pass_on(self, step: Node, node: Node, result: Result, known: dict[int, Result]) -> None:
        """The step's result is also that of every question above it, up to the node, which it ends."""
        known[step.id] = result
        at: int | None = step.id
        while at is not None and at != node.id:
            above = self._tree.parent_of(at)
            if above is None or self._tree.node(above).children[-1].id != at:
                return
            known[above] = result
            at = above

    def _looked_up(self, step: Node, known: Mapping[int, Result], question: str, into: GraphAnswer) -> Result:
        combinations, dropped = resolve_arguments(self._tree, step, known, self._most)
        into.notes += dropped
        assert step.call is not None
        runs = [self._one(step.call.operator, question, arguments, into) for arguments in combinations]
        matched = [share for values, share in runs if values]
        into.matched *= min(matched, default=0.0)
        return Result(distinct([value for values, _ in runs for value in values]), "operator")

    def _one(
        self, operator: Operator, question: str, arguments: tuple[Value, ...], into: GraphAnswer
    ) -> tuple[Sequence[Value], float]:
        """The values for these arguments, and how surely they were matched; a name is searched for first."""
        head, *others = arguments
        linked = 1.0
        if operator is not Operator.SEARCH and head.iri is None:
            asked, call = search_for(head.text)
            texts = [argument.text for argument in call.arguments if hasattr(argument, "text")]
            name = Request(asked, " ".join(texts), Operator.SEARCH, tuple(map(Value, texts)), self._top_k)
            found = self._gathered(name, into, cite=False)
            if not found.values or found.graph is None:
                return (), 0.0
            linked = match_confidence(found.graph)
            head = replace(found.values[0], of=head.of)
        request = Request(
            question, " ".join(value.text for value in (head, *others)), operator, (head, *others), self._top_k
        )
        found = self._gathered(request, into)
        if found.graph is None:
            return (), 0.0
        values = found.values
        if operator is Operator.RELATE:
            values = tuple(replace(value, of=(head,)) for value in values)
        elif operator is Operator.FILTER:
            values = tuple(replace(value, of=arguments[0].of) for value in values)
        return values, linked * match_confidence(found.graph)

    def _gathered(self, request: Request, into: GraphAnswer, *, cite: bool = True) -> SourceResults:
        found = self._ask(request)
        add_evidence(into.evidence, found.evidence)
        into.notes += [note for note in (*found.dropped, *found.problems) if note not in into.notes]
        into.sure = into.sure and is_sure(request, found.graph)
        if found.values and cite:
            into.cited += [item.id for item in found.graph_evidence if item.id not in into.cited]
        if found.graph is not None:
            into.signals = worst([into.signals, match_signals([replace(found, probed=found.graph)])])
        return found
