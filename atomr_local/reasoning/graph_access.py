"""Looks around in a graph for a strategy, and puts the queries that it runs into the trace."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import Any

from atomr_local.errors import QueryError
from atomr_local.reasoning.source_access import SourceAccess, SourcesAtHand
from atomr_local.sanitize import sanitize_all, sanitize_line
from atomr_local.sources.protocol import (
    Evidence,
    GraphTools,
    Linked,
    PropertyOffer,
    QueryRows,
    QuerySessions,
    Value,
)

SECONDS, MOST_ROWS = 5.0, 200
NO_ROWS = "no rows"
_ROWS_TOLD = 20


def graph_access(at_hand: SourcesAtHand) -> GraphAccess | None:
    """Access to the first source that is a graph to look around in; None if none is."""
    access: SourceAccess[GraphTools] | None = at_hand.first(lambda one: one if isinstance(one, GraphTools) else None)
    return GraphAccess(access) if access is not None else None


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
        access: the way to it.
    """

    def __init__(self, access: SourceAccess[GraphTools]) -> None:
        self.source = access.source
        self.access = access
        self._running = threading.Lock()
        offer = access.offer
        self._session = offer.query_session() if isinstance(offer, QuerySessions) else None
        self._queries = self._session or offer

    def close(self) -> None:
        """End the process of the question's queries: the question is over. Idempotent."""
        if self._session is not None:
            self._session.close()

    def may_use(self, node_id: int) -> bool:
        """Whether the step may use the graph."""
        return self.access.may_use(node_id)

    def link(self, name: str, number: int, question: str = "") -> tuple[Linked, ...]:
        """See :class:`GraphTools`."""
        self.access.cancellation.check()
        return sanitize_all(self.access.offer.link(name, number, question))

    def entity_of(self, title: str, qid: str = "") -> Value | None:
        """See :class:`GraphTools`."""
        self.access.cancellation.check()
        return sanitize_all(self.access.offer.entity_of(title, qid))

    def properties(self, iri: str, question: str = "") -> tuple[PropertyOffer, ...]:
        """See :class:`GraphTools`."""
        self.access.cancellation.check()
        return sanitize_all(self.access.offer.properties(iri, question))

    def label(self, iri: str) -> str:
        """See :class:`GraphTools`."""
        self.access.cancellation.check()
        return sanitize_line(self.access.offer.label(iri))

    def query(
        self,
        node_id: int,
        sparql: str,
        *,
        seconds: float = SECONDS,
        most_rows: int = MOST_ROWS,
        asked: str = "",
    ) -> Queried:
        """Run a read-only query for the step; its rows are evidence. A query that is refused or stopped is told as a
        problem, for a strategy may go on without it. A question's queries run one at a time.

        Args:
            asked: the sketch that the query was made of, which is shown as what was asked for.
        """
        cancellation = self.access.cancellation
        cancellation.check()
        if not self.may_use(node_id):
            return Queried(problem="the graph is not to be used in this step")
        asked = sanitize_line(asked)
        found, problem = None, ""
        with self.access.retrieval(node_id, asked or sparql) as evidence:
            try:
                with self._running:
                    cancellation.check()
                    rows = self._queries.query(sparql, cancellation, seconds=seconds, most_rows=most_rows)
                found = sanitize_all(rows)
                evidence.extend(self.access.recorder.take_in([self._evidence(found, asked)]))
            except QueryError as error:
                problem = sanitize_line(error.message)
        return Queried(evidence[0] if evidence else None, found, problem)

    def _evidence(self, found: QueryRows, asked: str) -> Evidence:
        locator: dict[str, Any] = {"sparql": found.sparql, "rows": [dict(row) for row in found.rows]}
        if asked:
            locator["sketch"] = asked
        columns = "query" if found.boolean is not None else ", ".join(f"?{name}" for name in found.columns)
        return Evidence(self.source, asked or columns or "query", told(found), 1.0, asked or found.sparql, locator)


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
