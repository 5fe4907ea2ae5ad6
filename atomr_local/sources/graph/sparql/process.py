"""A child process that runs queries over a graph index, one after another, because Oxigraph cannot stop a query."""

from __future__ import annotations

import contextlib
import re
import signal
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from atomr_local.errors import QueryError
from atomr_local.indexing.graph_index.bulk_loading import STORE
from atomr_local.indexing.store import read_manifest
from atomr_local.system.cancellation import Cancellation
from atomr_local.system.sandbox import Limits, Sandbox, message

# Refuses user queries that send network requests (SERVICE, LOAD) or write (updates).
#
# Decided on SPARQL's own tokens (SPARQL 1.1, section 19.8), so that neither a string nor a comment can hide a keyword
# or be mistaken for one.

_REFUSED = {
    "SERVICE": "it would ask another server",
    "LOAD": "it would fetch a file and change the graph",
    **dict.fromkeys(
        ("INSERT", "DELETE", "CLEAR", "DROP", "CREATE", "COPY", "MOVE", "ADD"), "it would change the graph"
    ),
}
# The parser and the evaluation go down some levels of their stack for each; 8 MiB hold at least ten times this.
MOST_NESTED = 200
_OPENING, _CLOSING = frozenset("([{"), frozenset(")]}")
_CODEPOINT = re.compile(r"\\u([0-9A-Fa-f]{4})|\\U([0-9A-Fa-f]{8})")
_TOKEN = re.compile(
    r"""
    (?P<comment>\#[^\n]*)
  | (?P<string>'{3}(?:'{0,2}(?:[^'\\]|\\.))*'{3} | "{3}(?:"{0,2}(?:[^"\\]|\\.))*"{3}
      | '(?:[^'\\\n]|\\.)*' | "(?:[^"\\\n]|\\.)*")
  | (?P<iri><(?:[^<>"{}|^`\\\x00-\x20]|\\u[0-9A-Fa-f]{4}|\\U[0-9A-Fa-f]{8})*>)
  | (?P<variable>[?$]\w+)
  | (?P<tag>@[A-Za-z]+(?:-[A-Za-z0-9]+)*)
  | (?P<prefixed>(?:[^\W\d][\w.\-]*)?:(?:[\w.\-:]|%[0-9A-Fa-f]{2}|\\[_~.\-!$&'()*+,;=/?\#@%])*)
  | (?P<word>[^\W\d]\w*)
  | (?P<number>\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)
  | (?P<other>.)
    """,
    re.VERBOSE | re.DOTALL,
)


def checked_query(text: str) -> str:
    """The query as it may be run: line ends made uniform, which Oxigraph and we could otherwise see differently.

    Raises:
        QueryError: it holds an update, would leave this machine, or is nested too deeply.
    """
    query = text.replace("\r\n", "\n").replace("\r", "\n").removeprefix("\ufeff")
    # SPARQL lets \u escapes stand anywhere; whichever way the engine reads them, neither reading may be refused.
    for reading in (query, _CODEPOINT.sub(_decoded, query)):
        depth = 0
        for match in _TOKEN.finditer(reading):
            if (other := match["other"]) is not None:
                depth += (other in _OPENING) - (other in _CLOSING)
                if depth > MOST_NESTED:
                    raise QueryError(
                        f"groups and brackets are nested more than {MOST_NESTED} deep",
                        hint="Take out brackets that are not needed, or ask in several queries.",
                    )
            word = match["word"]
            if word is not None and word.upper() in _REFUSED:
                raise QueryError(
                    f"{word.upper()} is not allowed: {_REFUSED[word.upper()]}",
                    hint="Only SELECT, ASK, CONSTRUCT and DESCRIBE over the local graph can be run.",
                )
    return query


def _decoded(match: re.Match[str]) -> str:
    code = int(match[1] or match[2], 16)
    return chr(code) if code < 0x110000 and not 0xD800 <= code < 0xE000 else "\ufffd"


_MEMORY = 4 << 30
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


class QueryProcess(Sandbox):
    """Runs one query at a time.

    Attributes:
        usable: another query can be run; false while one runs, and after one that had to be stopped.

    Raises:
        KnowledgeIndexError: the index is not whole.
    """

    def __init__(self, directory: Path) -> None:
        qualified = read_manifest(directory).counts.get("qualifiers", 0) > 0
        settings = {"store": str(directory / STORE), "prefixes": _PREFIXES, "union": qualified, "worn": _WORN}
        # The files of a store are many.
        super().__init__(
            f"{Path(__file__).with_name('worker.py')}:serve", lambda: settings, Limits(memory=_MEMORY, descriptors=None)
        )
        self.usable = True
        self.launch()

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
        task = {"query": query, "timeout": timeout, "max_rows": max_rows, "max_characters": max_characters}
        self.send(message(task))
        return RunningQuery(self, timeout, cancellation)


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
        """The arrays of the worker; other output is kept as notes. Only waiting counts against the time limit."""
        left, finished = self._timeout + _START_SECONDS, False
        while not finished:
            begun = time.monotonic()
            said = self._process.receive(left, self._cancellation)
            left -= time.monotonic() - begun
            if not isinstance(said, list):
                raise self._failure()
            notes = [item for item in said if isinstance(item, dict)]
            for note in notes:
                finished = finished or "ends" in note
                self._process.usable = note.get("ends") is False
                self._note(note)
            yield [item for item in said if isinstance(item, list)]

    def _note(self, said: dict[str, Any]) -> None:
        if "invalid" in said:
            raise QueryError(f"the query is not valid: {said['invalid']}")
        if "failed" in said:
            raise _unfinished(said["failed"])
        self.variables = tuple(said.get("variables", self.variables))
        self.boolean = said.get("boolean", self.boolean)
        self.cut = said.get("cut", self.cut)

    def _failure(self) -> QueryError:
        end = self._process.ended()
        if end.out_of_time:
            kept = f"; there may be more than the {self._passed_on} rows found until then" if self._passed_on else ""
            return QueryError(
                f"the query took longer than {self._timeout:g} seconds{kept}",
                hint="Make it smaller, or raise --timeout.",
                title="Query stopped",
            )
        # Where the stack ends the process dies of SIGSEGV; Rust says so where it is told in time.
        if end.status == -signal.SIGSEGV or "overflowed its stack" in end.said:
            return QueryError(
                "the query could not be finished: it is nested too deeply, or a chain in it is too long",
                hint="Take out brackets and operators that are not needed, or ask in several queries.",
                title="Query stopped",
            )
        if end.status < 0:
            return _unfinished("it needed too much memory")
        return _unfinished(end.said[-300:])


def _unfinished(reason: str) -> QueryError:
    return QueryError(
        f"the query could not be finished: {reason}", hint="Make it smaller, with a LIMIT.", title="Query stopped"
    )


# Runs one query in a child process of its own.

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


# Runs the queries of one question, one at a time, in one process, which is started with the first.


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
        """Run a query to its end and gather its rows; see :func:`running_query`.

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
