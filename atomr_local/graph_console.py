"""The user's own SPARQL over the graph index in use, as a table."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

from atomr_local.cancellation import Cancellation
from atomr_local.errors import QueryError

MOST_ROWS = 10_000


@dataclass(frozen=True, slots=True)
class GraphRows:
    """What a query gave, as text. Untrusted.

    Attributes:
        columns: its variables; "answer" for an ASK; subject, predicate and object for CONSTRUCT and DESCRIBE.
        rows: a value for each column, empty if the variable is unbound.
        truncated: there were more rows than the limit.
        seconds: what it took, the start of its process included.
    """

    columns: tuple[str, ...]
    rows: list[tuple[str, ...]]
    truncated: bool
    seconds: float


def run(directory: Path, sparql: str, *, timeout: float, limit: int, cancellation: Cancellation) -> GraphRows:
    """Run a read-only query over the graph index in `directory`; see
    :func:`atomr_local.sources.graph.sparql.query.run_query`.

    Raises:
        QueryError: it is refused, malformed, took too long or too much memory, or is empty.
        KnowledgeIndexError: the index is not whole.
        Cancelled: `cancellation` was thrown.
    """
    from atomr_local.sources.graph.sparql.query import run_query

    if not sparql.strip():
        raise QueryError("the query is empty", hint="Write a SELECT, ASK, CONSTRUCT or DESCRIBE.")
    started = time.perf_counter()
    limit = max(1, min(limit, MOST_ROWS))
    found = run_query(directory, sparql, timeout=timeout, max_rows=limit, cancellation=cancellation)
    seconds = time.perf_counter() - started
    if found.boolean is not None:
        return GraphRows(("answer",), [("yes" if found.boolean else "no",)], False, seconds)
    rows = [tuple(row.get(name, "") for name in found.variables) for row in found.rows]
    return GraphRows(found.variables, rows, found.cut, seconds)
