"""A query that the model writes for a look-up whose relation the graph did not surely match.

The model chooses among the properties of the one entity that the graph has linked. How surely it wrote its choice
counts as how surely the relation is matched, so that the answer stands, is read, or gives way like any other of the
graph.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from atomr_local.errors import AtomrError, Cancelled
from atomr_local.reasoning.answer_selection.answer_signals import agree
from atomr_local.reasoning.asking.asking import Asking
from atomr_local.reasoning.reading.answer_fit import misfit
from atomr_local.reasoning.retrieval import LINKED, SURE_RELATION, Gathered
from atomr_local.reasoning.sparql.offer import Offer
from atomr_local.reasoning.sparql.writer import QueryWriter
from atomr_local.sources.protocol import Request, Retrieval
from atomr_local.tree.nodes import Operator

_MOST_CALLS = 2  # a sketch, and one more where it has no rows
_YES_NO = "ask"


@dataclass(frozen=True)
class RelationQueries:
    """Asks the graph by a written query where its own answer to a Relate is not sure. Thread-safe.

    Raises:
        Cancelled: the question was cancelled.
    """

    queries: QueryWriter
    asking: Asking

    def __call__(self, node_id: int, request: Request, found: Gathered) -> Gathered:
        """What the graph has for the request: `found`, or what the query gave if that is surer."""
        graph = found.graph
        if request.operator is not Operator.RELATE or graph is None or not _unsure(graph):
            return found
        if not self.asking.spares(_MOST_CALLS):
            return _noted(found, "no query was written: the question's model calls are used")
        try:
            return self._asked(node_id, request, found, graph)
        except Cancelled:
            raise
        except AtomrError as error:  # what was found without a query stands
            return _noted(found, f"no query was written: {error.message}")

    def _asked(self, node_id: int, request: Request, found: Gathered, graph: Retrieval) -> Gathered:
        answer = self.queries.answer(node_id, request.question, offer=self._offer(node_id, request, graph))
        queried, sketch = answer.queried, answer.sketch
        if queried is None or queried.evidence is None or sketch is None or answer.problem or not answer.values:
            return _noted(found, f"by a written query: {answer.problem}") if answer.tried else found
        texts = [value.text for value in answer.values]
        score = math.exp(sketch.logprob) if sketch.logprob is not None else 0.0
        told = f"by a written query: {', '.join(texts)} ({score:.2f})"
        whole = queried.found is not None and not queried.found.cut
        if not whole or misfit(request.question, texts):
            return _noted(found, told)
        if agree(texts, [value.text for value in graph.values]):
            sure = max(score, graph.relation_score or 0.0)
            return _noted(replace(found, graph=replace(graph, relation_score=sure)), told)
        if graph.values and (graph.relation_score or 0.0) >= score:
            return _noted(found, told)
        evidence = [queried.evidence, *found.evidence]
        written = replace(
            graph,
            evidence=tuple(evidence),
            values=answer.values,
            relation_score=score,
            decided=True,
            near=(),
            type_fit=None,
        )
        return _noted(replace(found, evidence=evidence, graph=written, graph_evidence=(queried.evidence,)), told)

    def _offer(self, node_id: int, request: Request, graph: Retrieval) -> Offer:
        """The linked entity alone with its properties: a look-up is one hop, and never for yes or no."""
        assert graph.linked is not None
        offer = self.queries.offer(node_id, request.question, (graph.linked,))
        names = tuple(name for name in offer.names if name.iri == graph.linked.iri)
        forms = tuple(form for form in offer.forms if form != _YES_NO)
        return Offer(names=names if forms else (), forms=forms)


def _unsure(graph: Retrieval) -> bool:
    """Whether the graph knows the entity and not surely the relation. Where it surely knows the relation and has no
    value of it, there is none: another property would answer another question."""
    known = graph.linked is not None and graph.linked.iri is not None and (graph.link_score or 0.0) >= LINKED
    return known and (graph.relation_score or 0.0) < SURE_RELATION


def _noted(found: Gathered, note: str) -> Gathered:
    return replace(found, dropped=[*found.dropped, note])
