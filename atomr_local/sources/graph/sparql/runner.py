"""Runs the queries of one question, one at a time, in one process, which is started with the first."""

from __future__ import annotations

import threading
from pathlib import Path

from atomr_local.cancellation import Cancellation
from atomr_local.errors import QueryError
from atomr_local.sources.graph.sparql.guard import checked_query
from atomr_local.sources.graph.sparql.process import QueryProcess
from atomr_local.sources.graph.sparql.query import LONGEST_RESULT, QueryResult, gathered


class QueryRunner:
    """Queries over the graph index in `directory`. Thread-safe.

    A process that had to be ended, for time, memory, a cancellation or a crash, is replaced for the next query.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._process: QueryProcess | None = None
        self._running = threading.Lock()
        self._closed = False

    def __del__(self) -> None:
        # Of a question that did not close it. No more than that: at the end of the program nothing can be waited for.
        if self._process is not None:
            self._process.kill()

    def run(
        self, sparql: str, *, timeout: float, max_rows: int, cancellation: Cancellation | None = None
    ) -> QueryResult:
        """Run a query to its end and gather its rows; see :func:`atomr_local.sources.graph.sparql.query.running_query`.

        Raises:
            QueryError: it is refused, malformed, took too long or too much memory, or the question has ended.
            KnowledgeIndexError: the index is not whole.
            Cancelled: `cancellation` was thrown.
        """
        checked_query(sparql)  # before a process is started for it
        with self._running:
            if self._closed:
                raise QueryError("the question that the query belongs to has ended")
            if self._process is not None and not self._process.alive():
                self._process.close()
                self._process = None
            if self._process is None:
                self._process = QueryProcess(self._directory)
            process = self._process
            try:
                return gathered(
                    process.run(
                        sparql,
                        timeout=timeout,
                        max_rows=max_rows,
                        max_characters=LONGEST_RESULT,
                        cancellation=cancellation,
                    )
                )
            finally:
                if not process.usable:
                    self._process = None
                    process.close()

    def close(self) -> None:
        """End the process, and with it a query that still runs. Idempotent; from any thread."""
        self._closed = True
        if (running := self._process) is not None:
            running.kill()
        with self._running:
            if self._process is not None:
                self._process.close()
                self._process = None
