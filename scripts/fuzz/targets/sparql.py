"""The guard of a person's SPARQL: what it lets through opens no connection and changes nothing, run as what it may."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from functools import cache
from itertools import islice
from typing import Any

import pyoxigraph

from atomr_local.errors import QueryError
from atomr_local.sources.graph.sparql.process import checked_query
from fuzz.properties import Broken, as_text, expect

INSTRUMENTED = ("atomr_local.sources.graph.sparql.process",)
# Where SERVICE and LOAD would go; the port is put in below.
_SERVER = b"http://127.0.0.1:9/"
DICTIONARY = (
    b"SELECT * {", b"}", b"SERVICE <http://127.0.0.1:9/> { ?s ?p ?o }", b"LOAD <http://127.0.0.1:9/>",
    b"INSERT DATA { <a:a> <a:a> <a:a> }", b"DROP ALL", b"CLEAR ALL", b"DELETE WHERE { ?s ?p ?o }", b"DELETE",
    b"INSERT", b"WHERE", b"CREATE GRAPH <a:g>", b"COPY DEFAULT TO <a:g>", b"MOVE DEFAULT TO <a:g>",
    b"ADD DEFAULT TO <a:g>", b"WITH <a:g>", b"FROM <http://127.0.0.1:9/>", b"FROM NAMED", b"GRAPH ?g",
    b"SERVICE SILENT ?x", b"serv", b"ice", b"?s ?p ?o", b"'", b'"', b"'''", b'"""', b"\\'", b'\\"', b"\\\\", b"#",
    b"\n", b"\r", b"<", b">", b"\\u0053", b"\\U00000053", b"\\u0027", b"\\u000a", b"\\u0023", b"\\u005c",
    b"PREFIX : <a:>", b"ex:a", b"_:b", b"@en", b"%27", b"\\#", b";", b".", b"{", b"(", b")", b"FILTER", b"BIND(",
    b"ASK", b"CONSTRUCT", b"DESCRIBE", b"<<", b">>", b"\xc2\xa0", b"\xe2\x80\xa8", b"\x0c", b"\xef\xbb\xbf",
    b"\xc4\xb1", b"\xc5\xbf", b"UNION", b"OPTIONAL", b"VALUES",
)  # fmt: skip
_LONGEST = 1_500  # a longer query may run for long without a fault


def seeds() -> Iterator[bytes]:
    yield b"SELECT * { ?s ?p ?o . SERVICE <http://127.0.0.1:9/> { ?s ?p ?o } }"
    yield b"PREFIX ex: <a:> SELECT ?s (COUNT(*) AS ?n) { ?s ex:b 'x' . FILTER(?s < ?o) } GROUP BY ?s # end"
    yield b"SELECT * { ?s <a:\\u0027> ?o SERVICE <http://127.0.0.1:9/> { ?s ?p ?o } FILTER(?o = 'x') }"
    yield b"LOAD <http://127.0.0.1:9/> INTO GRAPH <a:g>"
    yield b"WITH <a:g> DELETE { ?s ?p ?o } INSERT { ?s ?p 1 } WHERE { ?s ?p ?o }"
    yield b"ASK { ?s ?p '''SERVICE ' x''' }"


@cache
def _listener() -> socket.socket:
    listening = socket.create_server(("127.0.0.1", 0))
    listening.setblocking(False)
    return listening


def _must_be_unasked(text: str) -> None:
    try:
        connection, _ = _listener().accept()
    except BlockingIOError:
        return
    connection.close()
    raise Broken(f"nothing is sent: {text!r}")


def _graph() -> Any:
    graph = pyoxigraph.Store()
    node = pyoxigraph.NamedNode("a:a")
    graph.add(pyoxigraph.Quad(node, pyoxigraph.NamedNode("a:b"), pyoxigraph.Literal("c")))
    graph.add(pyoxigraph.Quad(node, node, node, pyoxigraph.NamedNode("a:g")))
    return graph


def check(data: bytes) -> None:
    address = f"http://127.0.0.1:{_listener().getsockname()[1]}/"
    text = as_text(data[:_LONGEST]).replace(_SERVER.decode(), address)
    try:
        query = checked_query(text)
    except QueryError:
        return
    graph = _graph()
    before = set(graph)
    for run in (_query, _update):
        try:
            run(graph, query)
        except (SyntaxError, UnicodeEncodeError):
            pass
        except ValueError as error:
            expect("http" not in str(error).lower(), "no address is looked up", (query, error))
        except (OSError, RuntimeError) as error:
            raise Broken(f"nothing is asked elsewhere: {query!r}: {error}") from error
        _must_be_unasked(query)
        expect(set(graph) == before, "nothing is changed", query)


def _update(graph: Any, query: str) -> None:
    graph.update(query)


def _query(graph: Any, query: str) -> None:
    found = graph.query(query, prefixes={"ex": "a:"})
    if not isinstance(found, pyoxigraph.QueryBoolean):
        for _ in islice(found, 20):
            continue
