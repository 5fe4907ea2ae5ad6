"""A user's SPARQL, run in a process of its own: Oxigraph cannot stop a query, but a process can be killed."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from atomr_local.cancellation import Cancellation
from atomr_local.errors import QueryError
from atomr_local.indexing.graph_index import STORE
from atomr_local.indexing.store import read_manifest
from atomr_local.sources.graph.query_guard import checked_query

MAX_ROWS = 1_000
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


def run_query(
    directory: Path,
    sparql: str,
    *,
    timeout: float = 30.0,
    max_rows: int = MAX_ROWS,
    cancellation: Cancellation | None = None,
) -> QueryResult:
    """Run a read-only query over the graph index in `directory`.

    The prefixes wd, wdt, p, ps, pq, rdfs, rdf, skos, schema and xsd need no declaration. Qualified statements are found
    as Wikidata has them (p:, ps:, pq:).

    Args:
        timeout: seconds the query may take.

    Raises:
        QueryError: it is refused, malformed, took too long or too much memory.
        KnowledgeIndexError: the index is not whole.
        Cancelled: `cancellation` was thrown.
    """
    qualified = read_manifest(directory).counts.get("qualifiers", 0) > 0
    task = {
        "store": str(directory / STORE), "query": checked_query(sparql), "max_rows": max_rows, "timeout": timeout,
        "prefixes": _PREFIXES, "union": qualified,
    }  # fmt: skip
    # -P: nothing is imported from the directory that the user happens to be in.
    command = [sys.executable, "-P", str(Path(__file__).with_name("query_worker.py"))]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if cancellation is not None:
        cancellation.on_cancel(process.kill)
    try:
        output, problems = process.communicate(json.dumps(task).encode(), timeout=timeout + _START_SECONDS)
    except subprocess.TimeoutExpired as error:
        raise _too_long(timeout) from error
    finally:
        if process.poll() is None:
            process.kill()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.communicate(timeout=_START_SECONDS)
    if cancellation is not None:
        cancellation.check()
    return _result(output, problems, process.returncode, timeout)


def _result(output: bytes, problems: bytes, status: int, timeout: float) -> QueryResult:
    try:
        data: dict[str, Any] = json.loads(output)
    except ValueError as error:
        if status == -14:  # SIGALRM: the worker's own clock
            raise _too_long(timeout) from error
        reason = "it needed too much memory" if status < 0 else problems.decode("utf-8", "replace").strip()[-300:]
        raise QueryError(f"the query could not be finished: {reason}", hint="Make it smaller, with a LIMIT.") from error
    if data.get("timeout"):
        raise _too_long(timeout)
    if "error" in data:
        raise QueryError(f"the query is not valid: {data['error']}")
    return QueryResult(tuple(data["variables"]), tuple(data["rows"]), data["boolean"], data["cut"])


def _too_long(timeout: float) -> QueryError:
    return QueryError(f"the query took longer than {timeout:g} seconds", hint="Make it smaller, or raise --timeout.")
