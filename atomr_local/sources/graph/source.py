"""The graph as a knowledge source: links, relates and filters, and shows the query and rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING
from weakref import WeakSet

from atomr_local.cancellation import Cancellation
from atomr_local.language.names import phrase, words
from atomr_local.sources.graph.entity_sets import is_set, run_over_set
from atomr_local.sources.graph.entity_types import EntityTypes, asked_type
from atomr_local.sources.graph.fact_search import FactSearch
from atomr_local.sources.graph.filter.operator import Filter
from atomr_local.sources.graph.knowledge_graph import KnowledgeGraph, bound
from atomr_local.sources.graph.linking import LINKED, Candidate, Linker
from atomr_local.sources.graph.lookups import entity_of, linked, properties_of, rows_of
from atomr_local.sources.graph.properties.matching import UNDERSTOOD, PropertyMatcher
from atomr_local.sources.graph.properties.selection import nearest_properties
from atomr_local.sources.graph.query_session import GraphQuerySession
from atomr_local.sources.graph.relate.operator import Relate
from atomr_local.sources.graph.semantic_similarity import SemanticSimilarity
from atomr_local.sources.graph.source_errors import source_errors
from atomr_local.sources.graph.sparql.query import run_query
from atomr_local.sources.protocol import (
    Evidence,
    Linked,
    PropertyOffer,
    QueryRows,
    QuerySession,
    Request,
    Retrieval,
    SourceName,
    Value,
)
from atomr_local.tree.nodes import Operator

if TYPE_CHECKING:
    from atomr_local.indexing.embedding.embedder import Embedder

_FACTS = 8
_LONGEST_MENTION = 9
# With values of another type than the question asks for, the relation was hardly the one that was meant.
_MISFIT, _MISFIT_FACTOR = 0.2, 0.25


class GraphSource:
    """A graph index as :class:`KnowledgeSource`, :class:`SetSource`, :class:`GraphTools`, :class:`QuerySessions` and
    :class:`FactText`. Thread-safe.

    Args:
        embedder: gives the embedder when words alone do not decide; None: words only.
        tell: hears, once, that the embedder cannot be used and words decide alone.
    """

    def __init__(
        self,
        graph: KnowledgeGraph,
        embedder: Callable[[], Embedder] | None = None,
        warn: Callable[[str], None] | None = None,
    ) -> None:
        self._graph = graph
        semantic = SemanticSimilarity(embedder, warn)
        self.linker = Linker(graph, semantic)
        self._matcher = PropertyMatcher(list(graph.properties.values()), semantic)
        self._relate = Relate(graph, self.linker, self._matcher)
        self._filter = Filter(graph, self.linker, self._matcher)
        self._semantic = semantic
        self.types = EntityTypes(graph)
        self._facts = FactSearch(graph)
        self._sessions = WeakSet[GraphQuerySession]()

    @classmethod
    def open(
        cls,
        directory: Path,
        embedder_provider: Callable[[], Embedder] | None = None,
        warn: Callable[[str], None] | None = None,
    ) -> GraphSource:
        """Open the index in `directory`; the embedder is asked for only when words do not decide.

        Raises:
            KnowledgeIndexError: the directory holds no whole graph index.
        """
        return cls(KnowledgeGraph(directory), embedder_provider, warn)

    @property
    def name(self) -> str:
        return SourceName.GRAPH

    @property
    def graph(self) -> KnowledgeGraph:
        return self._graph

    def retrieve(self, request: Request, cancellation: Cancellation) -> Retrieval:
        """See :class:`KnowledgeSource`."""
        cancellation.check()
        with source_errors():
            if request.operator is Operator.SEARCH:
                return self._search(request)
            if request.operator is Operator.RELATE:
                return self._judged(request, self._relate.run(request, cancellation))
            if request.operator is Operator.FILTER:
                return self._filter.run(request, cancellation)
            return self._mentioned(request, cancellation)

    def retrieve_set(self, requests: Sequence[Request], cancellation: Cancellation) -> list[Retrieval]:
        """See :class:`SetSource`."""
        if not is_set(self._graph, requests):
            return [self.retrieve(request, cancellation) for request in requests]
        made: dict[int, tuple[Relate, Filter]] = {}

        def run(request: Request, graph: KnowledgeGraph) -> Retrieval:
            if id(graph) not in made:
                operators = Relate(graph, self.linker, self._matcher), Filter(graph, self.linker, self._matcher)
                made[id(graph)] = operators
            relate, keep = made[id(graph)]
            if request.operator is Operator.FILTER:
                return keep.run(request, cancellation)
            return self._fitted(request, relate.run(request, cancellation))

        with source_errors():
            return run_over_set(self._graph, requests, run, cancellation)

    # -- looking around, see :class:`GraphTools`

    def link(self, name: str, number: int, question: str = "") -> tuple[Linked, ...]:
        with source_errors():
            return linked(self._graph, self.linker, name, number, question)

    def entity_of(self, title: str, qid: str = "") -> Value | None:
        with source_errors():
            return entity_of(self._graph, title, qid)

    def properties(self, iri: str, question: str = "") -> tuple[PropertyOffer, ...]:
        with source_errors():
            bound(iri)
            return properties_of(self._graph, self._matcher, iri, question)

    def label(self, iri: str) -> str:
        with source_errors():
            return self._graph.property_label(iri) if iri in self._graph.properties else self._graph.label(iri)

    def query(
        self, sparql: str, cancellation: Cancellation, *, seconds: float = 5.0, most_rows: int = 200
    ) -> QueryRows:
        with source_errors():
            directory = self._graph.directory
            found = run_query(directory, sparql, timeout=seconds, max_rows=most_rows, cancellation=cancellation)
            return rows_of(self._graph, sparql, found)

    def query_session(self) -> QuerySession:
        """See :class:`QuerySessions`."""
        session = GraphQuerySession(self._graph)
        self._sessions.add(session)
        return session

    # -- facts as text, see :class:`FactText`

    @property
    def facts_missing(self) -> str:
        return self._facts.missing

    def facts(self, query: str, number: int, cancellation: Cancellation) -> tuple[Evidence, ...]:
        cancellation.check()
        with source_errors():
            return self._facts.search(query, number)

    def close(self) -> None:
        for session in tuple(self._sessions):
            session.close()
        self._facts.close()
        self._graph.close()

    def _judged(self, request: Request, found: Retrieval) -> Retrieval:
        """The retrieval with how well its values' types fit, or, where there are none, with what there is instead."""
        if found.values:
            return self._fitted(request, found)
        if found.linked is None or found.linked.iri is None or len(request.arguments) < 2:
            return found
        # Where words settled what is asked for, the embedder is not loaded for the sake of an order.
        semantic = None if (found.relation_score or 0.0) >= UNDERSTOOD else self._semantic
        near = nearest_properties(self._graph, semantic, found.linked.iri, request.arguments[1].text)
        return replace(found, near=near)

    def _fitted(self, request: Request, found: Retrieval) -> Retrieval:
        """The retrieval with how well its values' types fit; those that do not are no answer, but may be read."""
        fit = self.types.fit(found.values, asked_type(request.question))
        score = found.relation_score
        if fit is not None and fit <= _MISFIT and score is not None:
            score = round(score * _MISFIT_FACTOR, 4)
        return replace(found, type_fit=fit, relation_score=score)

    # -- Search

    def _search(self, request: Request) -> Retrieval:
        if not request.arguments:
            return Retrieval()
        name, *descriptors = request.arguments
        descriptor = " ".join(value.text for value in descriptors)
        if name.iri is not None and (row := self._graph.row(name.iri)) is not None:
            candidates = [Candidate(row, 1.0, row.label)]
        else:
            found = self.linker.link(name.text, descriptor, request.question, limit=max(1, request.top_k))
            candidates = [candidate for candidate in found if candidate.score >= LINKED * 0.75]
        if not candidates:
            return Retrieval(link_score=0.0)
        best = candidates[0]
        return Retrieval(
            evidence=tuple(self.describe(candidate, request.query) for candidate in candidates[: request.top_k]),
            values=(self._graph.entity_value(best.entity.iri, best.score),),
            link_score=best.score,
            decided=True,
            linked=self._graph.entity_value(best.entity.iri, best.score),
        )

    def describe(self, candidate: Candidate, query: str) -> Evidence:
        """What the graph says of an entity, in short sentences, with the query that shows it."""
        graph, iri = self._graph, candidate.entity.iri
        label = graph.label(iri)
        kinds = graph.types(iri)
        opening = candidate.entity.description or ", ".join(kinds)
        sentences = [f"{label}: {opening}."] if opening else []
        sentences += [graph.sentence(statement) for statement in graph.main_facts(iri, _FACTS)]
        answer = graph.select(f"SELECT ?property ?value WHERE {{ {bound(iri)} ?property ?value . }}")
        return answer.evidence(label, " ".join(sentences), candidate.score, query)

    # -- direct RAG

    def _mentioned(self, request: Request, cancellation: Cancellation) -> Retrieval:
        """Main facts of the entities that the query names."""
        found: dict[str, Candidate] = {}
        for mention in self.mentions(request.query or request.question):
            cancellation.check()
            for candidate in self.linker.link(mention, question=request.question, limit=1):
                if candidate.score >= LINKED:
                    found.setdefault(candidate.entity.iri, candidate)
        best = sorted(found.values(), key=lambda item: -item.score)[: request.top_k]
        return Retrieval(
            evidence=tuple(self.describe(candidate, request.query) for candidate in best),
            link_score=best[0].score if best else 0.0,
        )

    def mentions(self, query: str) -> list[str]:
        """Names of the graph that stand in the query, the longest first, none inside another."""
        tokens = words(query)[:200]
        taken = [False] * len(tokens)
        mentions: list[str] = []
        for size in range(min(_LONGEST_MENTION, len(tokens)), 0, -1):
            for start in range(len(tokens) - size + 1):
                piece = phrase(tokens[start : start + size])
                if any(taken[start : start + size]) or (size == 1 and len(piece) < 4):
                    continue
                if self._graph.names.by_key(piece, limit=1) or (size > 1 and self._graph.names.by_base(piece, limit=1)):
                    mentions.append(piece)
                    taken[start : start + size] = [True] * size
        return mentions
