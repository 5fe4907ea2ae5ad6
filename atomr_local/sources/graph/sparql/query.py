"""Runs a user's SPARQL in a child process, because Oxigraph cannot stop a query."""

from __future__ import annotations

import contextlib
import json
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import IO, Any

from atomr_local.cancellation import Cancellation
from atomr_local.errors import QueryError
from atomr_local.indexing.graph_index.bulk_loading import STORE
from atomr_local.indexing.store import read_manifest
from atomr_local.sources.graph.sparql.guard import checked_query
from atomr_local.sources.graph.sparql.pipe import Pipe

MAX_ROWS = 1_000
# Characters that are gathered at most, of all rows together.
_LONGEST_RESULT = 20_000_000
_START_SECONDS = 5.0
_PREFIXES = {
    "wd": "http://www.wikidata.org/entity/",
    "wdt": "http://www.wikidata.org/prop/direct/",
    "p": "http://www.wikidata.org/prop/",
    "ps": "http://www.wikidata.org/prop/statement/",
    "pq": "http://www.wikidata.org/prop/qualifier/",
    "rdfs": "http://www.w3.org/2000/01/rdf-schema#",
    "rdf": "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
    "skos": "http://www.w3.org/2004/02/skos/core#",
    "schema": "http://schema.org/",
    "xsd": "http://www.w3.org/2001/XMLSchema#",
}


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


class RunningQuery:
    """A query that has begun. Belongs to one thread.

    Attributes:
        variables: columns; for CONSTRUCT and DESCRIBE subject, predicate and object.
        boolean: the answer of an ASK, which has no rows.
        cut: there are more rows than the limit; known after the last.
    """

    def __init__(self, pipe: Pipe, problems: IO[bytes], timeout: float, cancellation: Cancellation | None) -> None:
        self._pipe = pipe
        self._problems = problems
        self._timeout = timeout
        self._cancellation = cancellation
        self._passed_on = 0
        self.variables: tuple[str, ...] = ()
        self.boolean: bool | None = None
        self.cut = False
        self._lines = self._read()
        self._first = next(self._lines, [])

    def batches(self) -> Iterator[list[dict[str, str]]]:
        """The rows as they come, some at a time; an unbound variable is absent. Can be read once.

        Raises:
            QueryError: it failed, took too long or too much memory; the rows until then stand.
            Cancelled: the cancellation was thrown.
        """
        for lines in chain([self._first], self._lines):
            rows = [
                {name: text for name, text in zip(self.variables, line, strict=True) if text is not None}
                for line in lines
            ]
            self._passed_on += len(rows)
            if rows:
                yield rows

    def _read(self) -> Iterator[list[list[str | None]]]:
        """The arrays of the worker; other output is kept as notes."""
        rest, finished = b"", False
        for chunk in self._pipe.chunks():
            whole, newline, rest = (rest + chunk).rpartition(b"\n")
            if not newline:
                continue
            said = json.loads(b"[" + whole.replace(b"\n", b",") + b"]")
            notes = [item for item in said if isinstance(item, dict)]
            for note in notes:
                self._note(note)
                finished = finished or "cut" in note
            yield [item for item in said if isinstance(item, list)]
        if self._cancellation is not None:
            self._cancellation.check()
        if not finished:
            raise self._failure()

    def _note(self, said: dict[str, Any]) -> None:
        if "invalid" in said:
            raise QueryError(f"the query is not valid: {said['invalid']}")
        if "failed" in said:
            raise _unfinished(said["failed"])
        self.variables = tuple(said.get("variables", self.variables))
        self.boolean = said.get("boolean", self.boolean)
        self.cut = said.get("cut", self.cut)

    def _failure(self) -> QueryError:
        status = self._pipe.close()
        if self._pipe.out_of_time or status == -14:  # SIGALRM: the worker's own clock
            kept = f"; there may be more than the {self._passed_on} rows found until then" if self._passed_on else ""
            return QueryError(
                f"the query took longer than {self._timeout:g} seconds{kept}",
                hint="Make it smaller, or raise --timeout.",
                title="Query stopped",
            )
        self._problems.seek(0)
        said = self._problems.read().decode("utf-8", "replace").strip()
        # Where the stack ends the process dies of SIGSEGV; Rust says so where it is told in time.
        if status == -signal.SIGSEGV or "overflowed its stack" in said:
            return QueryError(
                "the query could not be finished: it is nested too deeply, or a chain in it is too long",
                hint="Take out brackets and operators that are not needed, or ask in several queries.",
                title="Query stopped",
            )
        if status < 0:
            return _unfinished("it needed too much memory")
        return _unfinished(said[-300:])


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
    qualified = read_manifest(directory).counts.get("qualifiers", 0) > 0
    task = {
        "store": str(directory / STORE), "query": checked_query(sparql), "max_rows": max_rows,
        "max_characters": max_characters, "timeout": timeout, "prefixes": _PREFIXES, "union": qualified,
    }  # fmt: skip
    # -P: nothing is imported from the directory that the user happens to be in.
    command = [sys.executable, "-P", str(Path(__file__).with_name("worker.py"))]
    with (
        tempfile.TemporaryFile() as problems,
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=problems) as process,
    ):
        pipe = Pipe(process, timeout + _START_SECONDS)
        try:
            if cancellation is not None:
                cancellation.on_cancel(process.kill)
            _hand_over(task, process)
            yield RunningQuery(pipe, problems, timeout, cancellation)
        finally:
            pipe.close()


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
        max_characters=_LONGEST_RESULT,
        cancellation=cancellation,
    ) as running:
        rows = tuple(chain.from_iterable(running.batches()))
        return QueryResult(running.variables, rows, running.boolean, running.cut)


def _hand_over(task: dict[str, Any], process: subprocess.Popen[bytes]) -> None:
    if process.stdin is None:
        return
    with contextlib.suppress(BrokenPipeError), process.stdin as stream:  # it ended; its status tells why
        stream.write(json.dumps(task).encode())


def _unfinished(reason: str) -> QueryError:
    return QueryError(
        f"the query could not be finished: {reason}", hint="Make it smaller, with a LIMIT.", title="Query stopped"
    )
