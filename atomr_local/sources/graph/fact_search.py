"""The facts of a graph, found as text by BM25; each is evidence that cites its statement by a query and its row."""

from __future__ import annotations

import threading

from atomr_local.errors import SourceError
from atomr_local.indexing.graph_index.linearised.table import FactRow, FactTable, no_facts
from atomr_local.indexing.graph_index.qualifiers import PROP, PROP_STATEMENT, QUALIFIER_GRAPH
from atomr_local.language.properties import PROPERTY
from atomr_local.sources.graph.knowledge_graph import KnowledgeGraph, Statement, bound
from atomr_local.sources.protocol import Evidence


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
