"""Turtle: read to its end or refused, the same at every reading, and what is taken in can be loaded."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from atomr_local.errors import InputError
from atomr_local.indexing.graph_index.bulk_loading import Spool
from atomr_local.indexing.graph_index.names.writer import NamesWriter
from atomr_local.indexing.graph_index.statements.terms import LabelWords
from atomr_local.indexing.graph_index.statements.triples import TripleStatements
from atomr_local.indexing.graph_index.subset import Subset
from atomr_local.indexing.readers.detect import detect_graph_format
from atomr_local.indexing.readers.facts.rdf import TurtleReader
from atomr_local.indexing.readers.lines import Skipped
from fuzz.graph import fresh_directory, must_be_triples, spooled
from fuzz.properties import as_file, expect

INSTRUMENTED = (
    "atomr_local.indexing.readers", "atomr_local.indexing.graph_index.statements.triples", "atomr_local.indexing.graph_index.statements.terms",
    "atomr_local.language.literals",
)  # fmt: skip
DICTIONARY = (
    b"@prefix wd: <http://www.wikidata.org/entity/> .\n", b"@prefix : <http://x/> .\n", b"@base <http://x/> .\n",
    b"PREFIX ", b"wd:Q1 ", b"<http://www.wikidata.org/prop/direct/P31> ", b"a ", b"[ ", b" ]", b"( ", b" )", b" ; ",
    b" , ", b" .\n", b'"x"@en', b'"""', b"_:b1 ", b"1.5e3", b"true", b"# ", b"<", b">", b"\\u0041", b"<< ", b" >>",
    b"{| ", b" |}", b"^^", b"@en--ltr", b'"1e999999999"^^<http://www.w3.org/2001/XMLSchema#double>', b"\xef\xbf\xbe",
)  # fmt: skip


def seeds() -> Iterator[bytes]:
    yield (
        b"@prefix wd: <http://www.wikidata.org/entity/> .\n@prefix wdt: <http://www.wikidata.org/prop/direct/> .\n"
        b'@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .\nwd:Q1 wdt:P31 wd:Q2 ; rdfs:label "One"@en , "Eins"@de .\n'
        b"wd:Q2 wdt:P36 [ wdt:P1 1.5 ; wdt:P2 ( 1 2 ) ] .\n"
    )
    yield b'@base <http://x/> .\n<a> <b> """long\ntext""" , true , _:c .\n[] <p> [ <q> [] ] .\n'


def check(data: bytes) -> None:
    path = as_file(data, "a.ttl")
    with suppress(InputError):
        detect_graph_format(path)
    first, second = _taken(path), _taken(path)
    expect(first == second, "the same at every reading", (first, second))


def _taken(path: Path) -> Any:
    skipped = Skipped()
    with fresh_directory() as folder, NamesWriter(folder) as names:
        spool = Spool(folder)
        statements = TripleStatements(names, LabelWords("en"), Subset(), spool, "0")
        try:
            for block in TurtleReader(path).blocks(skipped):
                statements.take(block.triples)
        except InputError as error:
            return error.message
        statements.end()
        names.flush()
        lines = spooled(folder, spool)
    must_be_triples(lines)
    return lines, skipped.count
