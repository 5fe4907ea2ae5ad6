"""A child process that runs queries over a graph index, one after another, because Oxigraph cannot stop a query."""

from __future__ import annotations

import contextlib
import json
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any

from atomr_local.cancellation import Cancellation
from atomr_local.errors import QueryError
from atomr_local.indexing.graph_index.bulk_loading import STORE
from atomr_local.indexing.store import read_manifest
from atomr_local.sources.graph.sparql.guard import checked_query
from atomr_local.sources.graph.sparql.pipe import Pipe

_START_SECONDS = 5.0
# A process that once held so much memory ends: what it does not give back would count against the next query.
_WORN = 1 << 30
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


class QueryProcess:
    """Runs one query at a time. Belongs to one thread; :meth:`kill` is for any.

    Attributes:
        usable: another query can be run; false while one runs, and after one that had to be stopped.

    Raises:
        KnowledgeIndexError: the index is not whole.
    """

    def __init__(self, directory: Path) -> None:
        qualified = read_manifest(directory).counts.get("qualifiers", 0) > 0
        settings = {"store": str(directory / STORE), "prefixes": _PREFIXES, "union": qualified, "worn": _WORN}
        # -P: nothing is imported from the directory that the user happens to be in.
        command = [sys.executable, "-P", str(Path(__file__).with_name("worker.py"))]
        with contextlib.ExitStack() as held:
            self._problems = held.enter_context(tempfile.TemporaryFile())
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._problems
            )
            self._held = held.pop_all()
        self._pipe = Pipe(self._process)
        self._watched: Cancellation | None = None
        self.usable = True
        self._say(settings)

    def run(
        self,
        sparql: str,
        *,
        timeout: float,
        max_rows: int,
        max_characters: int | None = None,
        cancellation: Cancellation | None = None,
    ) -> RunningQuery:
        """Begin the query; it must have been read to its end before the next one.

        Raises:
            QueryError: it is refused or malformed, or failed at once.
            Cancelled: `cancellation` was thrown.
        """
        query = checked_query(sparql)
        self.usable = False
        if cancellation is not None and cancellation is not self._watched:
            self._watched = cancellation
            cancellation.on_cancel(self._process.kill)
        self._say({"query": query, "timeout": timeout, "max_rows": max_rows, "max_characters": max_characters})
        return RunningQuery(self, timeout, cancellation)

    def output(self, seconds: float) -> Iterator[bytes]:
        """What it writes, in chunks, until it ends or has taken `seconds`."""
        return self._pipe.chunks(seconds + _START_SECONDS)

    def alive(self) -> bool:
        """Whether it runs; a process can be ended from outside."""
        return self._process.poll() is None

    def ended(self) -> tuple[int, bool, str]:
        """After an unexpected end: its status, whether its time was up, and what it said on standard error."""
        status = self._pipe.close()
        self._problems.seek(0)
        return status, self._pipe.out_of_time, self._problems.read().decode("utf-8", "replace").strip()

    def kill(self) -> None:
        """End it at once; whoever reads from it sees its end."""
        self._process.kill()

    def close(self) -> None:
        """End it. Idempotent."""
        self.usable = False
        self._pipe.close()
        self._held.close()
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                with contextlib.suppress(OSError):  # what it could not take any more is lost
                    stream.close()

    def _say(self, what: dict[str, Any]) -> None:
        stream = self._process.stdin
        if stream is not None:
            with contextlib.suppress(BrokenPipeError):  # it ended; its status tells why
                stream.write(json.dumps(what).encode() + b"\n")
                stream.flush()


class RunningQuery:
    """A query that has begun. Belongs to one thread.

    Attributes:
        variables: columns; for CONSTRUCT and DESCRIBE subject, predicate and object.
        boolean: the answer of an ASK, which has no rows.
        cut: there are more rows than the limit; known after the last.
    """

    def __init__(self, process: QueryProcess, timeout: float, cancellation: Cancellation | None) -> None:
        self._process = process
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
        for chunk in self._process.output(self._timeout):
            whole, newline, rest = (rest + chunk).rpartition(b"\n")
            if not newline:
                continue
            said = json.loads(b"[" + whole.replace(b"\n", b",") + b"]")
            notes = [item for item in said if isinstance(item, dict)]
            for note in notes:
                finished = finished or "ends" in note
                self._process.usable = note.get("ends") is False
                self._note(note)
            yield [item for item in said if isinstance(item, list)]
            if finished:
                break
        if self._cancellation is not None and self._cancellation.cancelled:
            self._process.usable = False
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
        status, out_of_time, said = self._process.ended()
        if out_of_time or status == -signal.SIGALRM:  # the worker's own clock
            kept = f"; there may be more than the {self._passed_on} rows found until then" if self._passed_on else ""
            return QueryError(
                f"the query took longer than {self._timeout:g} seconds{kept}",
                hint="Make it smaller, or raise --timeout.",
                title="Query stopped",
            )
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


def _unfinished(reason: str) -> QueryError:
    return QueryError(
        f"the query could not be finished: {reason}", hint="Make it smaller, with a LIMIT.", title="Query stopped"
    )
