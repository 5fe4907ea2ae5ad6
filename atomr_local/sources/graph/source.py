"""The graph as a knowledge source: links, relates and filters, and shows the query and rows."""

from __future__ import annotations

import contextlib
import re
import threading
from collections import defaultdict
from collections.abc import Callable, Container, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING
from weakref import WeakSet

from atomr_local.errors import SourceError
from atomr_local.indexing.graph_index.bulk_loading import PROP, PROP_STATEMENT, QUALIFIER_GRAPH
from atomr_local.indexing.graph_index.linearised import FactRow, FactTable, no_facts
from atomr_local.language.names import name_key, phrase, split_qualifier, words
from atomr_local.language.properties import ENTITY, PROPERTY
from atomr_local.sources.errors import source_errors
from atomr_local.sources.graph.entity_sets import EntityTypes, asked_type, entity_set, is_set, run_over_set
from atomr_local.sources.graph.filter import Filter
from atomr_local.sources.graph.knowledge_graph import KnowledgeGraph, Statement, bound, term_text
from atomr_local.sources.graph.linking import LINKED, Candidate, Linker
from atomr_local.sources.graph.properties.matching import UNDERSTOOD, PropertyMatcher, PropertyPath
from atomr_local.sources.graph.properties.selection import nearest_properties
from atomr_local.sources.graph.relate.operator import Relate
from atomr_local.sources.graph.semantic_similarity import SemanticSimilarity
from atomr_local.sources.graph.sparql.process import QueryRunner
from atomr_local.sources.protocol import (
    Evidence,
    Linked,
    PropertyOffer,
    QueryRows,
    Request,
    Retrieval,
    SourceName,
    Value,
    ValueKind,
)
from atomr_local.system.cancellation import Cancellation
from atomr_local.tree.nodes import Operator

if TYPE_CHECKING:
    from atomr_local.indexing.embedding.embedder import Embedder


# What a graph offers to whoever looks around in it: properties of an entity, the entity of a page, rows of a query.

_QID = re.compile(r"Q[1-9]\d{0,11}")
# A pattern of a query, on a line of its own: what an entity has of a property.
_STATED = re.compile(r"^\s*<(?P<head>[^<>\\\s]+)> <(?P<property>[^<>\\\s]+)> \?(?P<column>\w+) \.?\s*$", re.MULTILINE)
# Statements of an entity that are read in each direction; for what lies beyond, properties are looked up one by one.
_READ = 2000
_VALUES = 3
_LONGEST_TITLE = 300


def entity_of(graph: KnowledgeGraph, title: str, qid: str) -> Value | None:
    """See :meth:`GraphTools.entity_of`. Likeness is not enough: "Hamlet" is no page about the film."""
    if _QID.fullmatch(qid) and graph.row(ENTITY + qid) is not None:
        return graph.entity_value(ENTITY + qid, 1.0)
    title = title[:_LONGEST_TITLE].encode("utf-8", "replace").decode("utf-8")
    named = graph.names.by_key(name_key(title))
    if named:
        best = max(named, key=lambda row: (row.text == title, row.entity.label == title))  # else the best known
        return graph.entity_value(best.entity.iri, 1.0)
    # Where entities are told apart by descriptions, a page is by what stands in brackets: "Hamlet (1948 film)".
    name, qualifier = split_qualifier(title)
    said = set(words(qualifier))
    for row in graph.names.by_key(name_key(name)) if said else ():
        known = words("; ".join([row.entity.description, *graph.types(row.entity.iri)]))
        if said <= set(known):
            return graph.entity_value(row.entity.iri, 1.0)
    return None


# The queries of one question over a graph, run in one process.


class GraphQuerySession:
    """See :class:`atomr_local.sources.protocol.QuerySession`."""

    def __init__(self, graph: KnowledgeGraph) -> None:
        self._graph = graph
        self._runner = QueryRunner(graph.directory)

    @source_errors()
    def query(
        self, sparql: str, cancellation: Cancellation, *, seconds: float = 5.0, most_rows: int = 200
    ) -> QueryRows:
        graph = self._graph
        found = self._runner.run(sparql, timeout=seconds, max_rows=most_rows, cancellation=cancellation)
        texts = list(dict.fromkeys(text for row in found.rows for text in row.values()))
        properties = {text: graph.property_label(text) for text in texts if text in graph.properties}
        labels = properties | {text: label or graph.label(text) for text, label in graph.names.labels(texts).items()}
        column = found.variables[0] if found.variables else ""
        first = dict.fromkeys(row[column] for row in found.rows if column in row)
        written = self._as_written(sparql, column, first.keys() - labels) if column else {}

        def value_of(text: str) -> Value:
            # The process gives texts: what the graph has a label for is an entity or a property.
            if text not in labels:
                return written.get(text) or Value(text)
            return Value(labels[text], ValueKind.RELATION if text in properties else ValueKind.ENTITY, text)

        told = labels | {text: value.text for text, value in written.items()}
        values = tuple(map(value_of, first))
        return QueryRows(sparql, found.variables, found.rows, found.boolean, found.cut, values, told)

    def _as_written(self, sparql: str, column: str, texts: Container[str]) -> dict[str, Value]:
        """Literals of a column as the source writes them ("6779 km"), where it is a property of one entity."""
        graph = self._graph
        found: dict[str, Value] = {}
        for match in _STATED.finditer(sparql):
            if match["column"] != column:
                continue
            with contextlib.suppress(SourceError):  # the query ran; how its values are written is not worth an error
                for statement in graph.statements(match["head"], match["property"], limit=_READ):
                    value, text = graph.value(statement), term_text(statement.object)
                    if value.iri is None and text in texts:
                        found.setdefault(text, value)
        return found

    def close(self) -> None:
        self._runner.close()


# The facts of a graph, found as text by BM25; each is evidence that cites its statement by a query and its row.


class FactSearch:
    """Searches the facts of a graph; thread-safe. The table is opened with the first search."""

    def __init__(self, graph: KnowledgeGraph) -> None:
        self._graph = graph
        self._table: FactTable | None = None
        self._lock = threading.Lock()

    @property
    def missing(self) -> str:
        """Why the graph's facts cannot be searched as text, with what to do; empty if they can."""
        return no_facts(self._graph.directory, self._graph.manifest)

    def search(self, query: str, number: int) -> tuple[Evidence, ...]:
        """The facts that suit the words of the query best, best first.

        Raises:
            KnowledgeIndexError: the table is missing, damaged, or of another version.
            SourceError: the graph cannot be read.
        """
        found = (self._evidence(row, query) for row in self._opened().search(query, number))
        return tuple(item for item in found if item is not None)

    def close(self) -> None:
        with self._lock:
            if self._table is not None:
                self._table.close()

    def _opened(self) -> FactTable:
        with self._lock:
            if self._table is None:
                self._table = FactTable(self._graph.directory, self._graph.names)
            return self._table

    def _evidence(self, row: FactRow, query: str) -> Evidence | None:
        """The fact with the query that gives it and its rows; None if the graph does not hold it."""
        statement = _statement(row)
        if statement is None:
            return None
        plain, qualified = _queries(statement)
        answer = self._graph.select(qualified if row.qualifiers and qualified else plain)
        if not answer.rows:
            return None
        text = self._graph.sentence(statement)
        if row.qualifiers:
            text = f"{text.removesuffix('.')} ({row.qualifiers})."
        return answer.evidence(self._graph.label(row.subject), text, row.score, query)


def _statement(row: FactRow) -> Statement | None:
    """The fact's terms; None if what the table says is no statement."""
    from pyoxigraph import RdfFormat, parse

    try:
        line = f"{bound(row.subject)} {bound(row.property)} {row.object} ."
        quads = list(parse(line, format=RdfFormat.N_TRIPLES, lenient=True))
    except (SourceError, ValueError, SyntaxError):
        return None
    return Statement(row.subject, row.property, quads[0].object) if len(quads) == 1 else None


def _queries(statement: Statement) -> tuple[str, str]:
    """Queries for the plain fact, and for its qualifiers; empty for what has none."""
    subject, prop, term = bound(statement.subject), bound(statement.property), str(statement.object)
    plain = (
        "SELECT ?subject ?property ?object WHERE {\n"
        f"  VALUES (?subject ?property ?object) {{ ({subject} {prop} {term}) }}\n"
        "  ?subject ?property ?object .\n}"
    )
    if not statement.property.startswith(PROPERTY):
        return plain, ""
    pid = statement.property[len(PROPERTY) :]
    of_statement, value = bound(PROP + pid), bound(PROP_STATEMENT + pid)
    return plain, (
        f"SELECT ?subject ?object ?qualifier ?value WHERE {{ GRAPH <{QUALIFIER_GRAPH}> {{\n"
        f"  VALUES (?subject ?object) {{ ({subject} {term}) }}\n"
        f"  ?subject {of_statement} ?statement . ?statement {value} ?object . ?statement ?qualifier ?value .\n"
        f"  FILTER(?qualifier != {value})\n}} }}"
    )


_FACTS = 8
_LONGEST_MENTION = 9
# With values of another type than the question asks for, the relation was hardly the one that was meant.
_MISFIT, _MISFIT_FACTOR = 0.2, 0.25


class GraphSource:
    """A graph index as :class:`KnowledgeSource` and :class:`GraphTools`, which say what its methods do. Thread-safe.

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

    @source_errors()
    def retrieve(self, request: Request, cancellation: Cancellation) -> Retrieval:
        cancellation.check()
        if request.operator is Operator.SEARCH:
            return self._search(request)
        if request.operator is Operator.RELATE:
            return self._judged(request, self._relate.run(request, cancellation))
        if request.operator is Operator.FILTER:
            return self._filter.run(request, cancellation)
        return self._mentioned(request, cancellation)

    @source_errors()
    def retrieve_set(self, requests: Sequence[Request], cancellation: Cancellation) -> list[Retrieval]:
        if not is_set(self._graph, requests):
            return [self.retrieve(request, cancellation) for request in requests]
        view = entity_set(self._graph, requests)
        if requests[0].operator is Operator.FILTER:
            return run_over_set(Filter(view, self.linker, self._matcher).run, requests, cancellation)
        relate = Relate(view, self.linker, self._matcher).run
        return run_over_set(lambda *asked: self._fitted(asked[0], relate(*asked)), requests, cancellation)

    # -- looking around

    @source_errors()
    def link(self, name: str, number: int, question: str = "") -> tuple[Linked, ...]:
        graph = self._graph
        found = self.linker.link(name, question=question, limit=number) if number > 0 else []
        return tuple(
            Linked(
                graph.entity_value(item.entity.iri, item.score),
                item.entity.description or ", ".join(graph.types(item.entity.iri)),
            )
            for item in found
            if item.score >= LINKED
        )

    @source_errors()
    def entity_of(self, title: str, qid: str = "") -> Value | None:
        return entity_of(self._graph, title, qid)

    @source_errors()
    def properties(self, iri: str, question: str = "") -> tuple[PropertyOffer, ...]:
        bound(iri)
        graph = self._graph
        offers: dict[PropertyPath, PropertyOffer] = {}
        for inverse in (False, True):
            read = graph.statements(tail=iri, limit=_READ) if inverse else graph.statements(iri, limit=_READ)
            ends: dict[str, list[Statement]] = defaultdict(list)
            for statement in read:
                ends[statement.property].append(statement)
            if len(read) == _READ:
                others = (prop for prop in graph.properties if prop not in ends)
                ends.update((prop, []) for prop in others if graph.has(iri, prop, inverse=inverse))
            for prop, found in ends.items():
                values = tuple(
                    graph.entity_value(one.subject) if inverse else graph.value(one) for one in found[:_VALUES]
                )
                label = graph.property_label(prop)
                offers[prop, inverse] = PropertyOffer(prop, label, inverse, max(1, len(found)), values)
        ranked = self._matcher.match_question(question, offers) if question else []
        asked = {(match.property, match.inverse): match.score for match in ranked}

        def order(path: PropertyPath) -> tuple[float, bool, int, str]:
            row = graph.properties.get(path[0])
            return -asked.get(path, 0.0), path[1], -(row.uses if row else 0), path[0]

        return tuple(offers[path] for path in sorted(offers, key=order))

    @source_errors()
    def label(self, iri: str) -> str:
        return self._graph.property_label(iri) if iri in self._graph.properties else self._graph.label(iri)

    def query_session(self) -> GraphQuerySession:
        session = GraphQuerySession(self._graph)
        self._sessions.add(session)
        return session

    @property
    def facts_missing(self) -> str:
        return self._facts.missing

    @source_errors()
    def facts(self, query: str, number: int, cancellation: Cancellation) -> tuple[Evidence, ...]:
        cancellation.check()
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
