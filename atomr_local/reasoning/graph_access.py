"""Looks around in a graph for a strategy, and puts the queries that it runs into the trace."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from atomr_local.cancellation import Cancellation
from atomr_local.errors import QueryError
from atomr_local.reasoning.retrieval import may_use
from atomr_local.reasoning.trace.events import EvidenceFound, RetrievalStarted
from atomr_local.reasoning.trace.recorder import Recorder
from atomr_local.sanitize import sanitize_all, sanitize_line
from atomr_local.sources.protocol import (
    Evidence,
    GraphTools,
    KnowledgeSource,
    Linked,
    PropertyOffer,
    QueryRows,
    Value,
)

SECONDS, MOST_ROWS = 5.0, 200
NO_ROWS = "no rows"
_ROWS_TOLD = 20


def graph_access(
    sources: Mapping[str, KnowledgeSource],
    recorder: Recorder,
    cancellation: Cancellation,
    allowed: Mapping[int, frozenset[str]] | None = None,
) -> GraphAccess | None:
    """Access to the first source that is a graph to look around in; None if none is."""
    for name, source in sources.items():
        if isinstance(source, GraphTools):
            return GraphAccess(str(name), source, recorder, cancellation, allowed or {})
    return None


@dataclass(frozen=True, slots=True)
class Queried:
    """What a step's query gave, sanitised.

    Attributes:
        evidence: the query with its rows; None if it failed or the step may not use the graph.
        problem: why there is no evidence, in words; empty if it ran. No rows are no problem.
    """

    evidence: Evidence | None = None
    found: QueryRows | None = None
    problem: str = ""

    @property
    def values(self) -> tuple[Value, ...]:
        return self.found.values if self.found is not None else ()


class GraphAccess:
    """Everything is sanitised. Only queries are retrievals; the rest is what a query can be made of.

    Raises (all methods):
        SourceError: the graph failed.
        Cancelled: the question was cancelled.

    Attributes:
        source: the name of the source.
        allowed: by node, the only sources that it may use; a node without an entry may use all.
    """

    def __init__(
        self,
        source: str,
        graph: GraphTools,
        recorder: Recorder,
        cancellation: Cancellation,
        allowed: Mapping[int, frozenset[str]],
    ) -> None:
        self.source = source
        self.allowed = allowed
        self._graph = graph
        self._recorder = recorder
        self._cancellation = cancellation

    def link(self, name: str, number: int, question: str = "") -> tuple[Linked, ...]:
        """See :class:`GraphTools`."""
        self._cancellation.check()
        return sanitize_all(self._graph.link(name, number, question))

    def entity_of(self, title: str, qid: str = "") -> Value | None:
        """See :class:`GraphTools`."""
        self._cancellation.check()
        return sanitize_all(self._graph.entity_of(title, qid))

    def properties(self, iri: str, question: str = "") -> tuple[PropertyOffer, ...]:
        """See :class:`GraphTools`."""
        self._cancellation.check()
        return sanitize_all(self._graph.properties(iri, question))

    def label(self, iri: str) -> str:
        """See :class:`GraphTools`."""
        self._cancellation.check()
        return sanitize_line(self._graph.label(iri))

    def query(self, node_id: int, sparql: str, *, seconds: float = SECONDS, most_rows: int = MOST_ROWS) -> Queried:
        """Run a read-only query for the step; its rows are evidence. A query that is refused or stopped is told as a
        problem, for a strategy may go on without it."""
        self._cancellation.check()
        if not may_use(self.allowed, node_id, self.source):
            return Queried(problem="the graph is not to be used in this step")
        self._recorder.emit(RetrievalStarted(node_id=node_id, source=self.source, query=sparql))
        evidence: tuple[Evidence, ...] = ()
        found, problem = None, ""
        try:
            found = sanitize_all(self._graph.query(sparql, self._cancellation, seconds=seconds, most_rows=most_rows))
            evidence = self._recorder.take_in([self._evidence(found)])
        except QueryError as error:
            problem = sanitize_line(error.message)
        finally:
            self._recorder.emit(EvidenceFound(node_id=node_id, source=self.source, evidence=evidence))
        return Queried(evidence[0] if evidence else None, found, problem)

    def _evidence(self, found: QueryRows) -> Evidence:
        locator = {"sparql": found.sparql, "rows": [dict(row) for row in found.rows]}
        title = "query" if found.boolean is not None else ", ".join(f"?{name}" for name in found.columns)
        return Evidence(self.source, title or "query", told(found), 1.0, found.sparql, locator)


def told(found: QueryRows) -> str:
    """The rows in short sentences, entities by their labels; the first ones of many."""
    if found.boolean is not None:
        return "Yes." if found.boolean else "No."
    lines = []
    for row in found.rows[:_ROWS_TOLD]:
        cells = [(name, row[name]) for name in found.columns if name in row]
        shown = [(name, found.labels.get(text) or text) for name, text in cells]
        lines.append("; ".join(text if len(found.columns) == 1 else f"{name}: {text}" for name, text in shown) + ".")
    if more := max(0, len(found.rows) - _ROWS_TOLD):
        lines.append(f"And {'at least ' if found.cut else ''}{more} more.")
    elif found.cut:
        lines.append("And more.")
    return " ".join(lines) or f"{NO_ROWS.capitalize()}."
