"""Runs one query in a child process of its own."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from atomr_local.cancellation import Cancellation
from atomr_local.sources.graph.sparql.guard import checked_query
from atomr_local.sources.graph.sparql.process import QueryProcess, RunningQuery

MAX_ROWS = 1_000
# Characters that are gathered at most, of all rows together.
LONGEST_RESULT = 20_000_000


@dataclass(frozen=True)
class QueryResult:
    """What a query gave.

    Attributes:
        variables: columns; for CONSTRUCT and DESCRIBE subject, predicate and object.
        rows: values by column; an unbound variable is absent.
        boolean: the answer of an ASK.
        cut: there were more rows than the limit.
    """

    variables: tuple[str, ...] = ()
    rows: tuple[dict[str, str], ...] = ()
    boolean: bool | None = None
    cut: bool = False


@contextlib.contextmanager
def running_query(
    directory: Path,
    sparql: str,
    *,
    timeout: float = 30.0,
    max_rows: int = MAX_ROWS,
    max_characters: int | None = None,
    cancellation: Cancellation | None = None,
) -> Iterator[RunningQuery]:
    """A read-only query over the graph index in `directory`, at work while this lasts; its rows come as they are found.

    The prefixes wd, wdt, p, ps, pq, rdfs, rdf, skos, schema and xsd need no declaration. Qualified statements are found
    as Wikidata has them (p:, ps:, pq:). However many rows there are, few are held at a time.

    Args:
        timeout: seconds the query may take; what the reader of its rows takes is not counted.
        max_characters: of all values together; None for no limit.

    Raises:
        QueryError: it is refused, malformed, took too long or too much memory.
        KnowledgeIndexError: the index is not whole.
        Cancelled: `cancellation` was thrown.
    """
    checked_query(sparql)  # before a process is started for it
    with contextlib.closing(QueryProcess(directory)) as process:
        yield process.run(
            sparql, timeout=timeout, max_rows=max_rows, max_characters=max_characters, cancellation=cancellation
        )


def run_query(
    directory: Path,
    sparql: str,
    *,
    timeout: float = 30.0,
    max_rows: int = MAX_ROWS,
    cancellation: Cancellation | None = None,
) -> QueryResult:
    """Run a query to its end and gather its rows; see :func:`running_query`."""
    with running_query(
        directory,
        sparql,
        timeout=timeout,
        max_rows=max_rows,
        max_characters=LONGEST_RESULT,
        cancellation=cancellation,
    ) as running:
        return gathered(running)


def gathered(running: RunningQuery) -> QueryResult:
    """The query read to its end."""
    rows = tuple(chain.from_iterable(running.batches()))
    return QueryResult(running.variables, rows, running.boolean, running.cut)
