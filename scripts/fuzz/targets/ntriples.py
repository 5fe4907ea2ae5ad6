"""N-Triples: the quick way of taking in a block and Oxigraph's parser must give the same, line for line."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from pyoxigraph import RdfFormat, parse

from atomr_local.errors import InputError
from atomr_local.indexing.graph_index.bulk_loading import Spool
from atomr_local.indexing.graph_index.ids import IdSet
from atomr_local.indexing.graph_index.names.database import FILE
from atomr_local.indexing.graph_index.names.writer import NamesWriter
from atomr_local.indexing.graph_index.statements.lines import LineStatements
from atomr_local.indexing.graph_index.statements.terms import LabelWords
from atomr_local.indexing.graph_index.statements.triples import Columns, LineFilter, TripleStatements
from atomr_local.indexing.graph_index.subset import Subset
from atomr_local.indexing.readers.facts import rdf as ntriples
from atomr_local.indexing.readers.facts.rdf import LineBlocks, read_ntriples
from atomr_local.indexing.readers.lines import LineReader, Skipped
from fuzz.graph import fresh_directory, must_be_triples, spooled
from fuzz.properties import as_file, expect

INSTRUMENTED = (
    "atomr_local.indexing.graph_index.statements.triples", "atomr_local.indexing.graph_index.statements.lines", "atomr_local.indexing.graph_index.statements.triples",
    "atomr_local.indexing.graph_index.bulk_loading", "atomr_local.indexing.graph_index.statements.terms", "atomr_local.indexing.readers",
    "atomr_local.language.literals",
)  # fmt: skip
_WD, _XSD = "http://www.wikidata.org/", "http://www.w3.org/2001/XMLSchema#"
DICTIONARY = (
    f"<{_WD}entity/Q1>".encode(), f"<{_WD}entity/Q2>".encode(), f"<{_WD}entity/P31>".encode(),
    f"<{_WD}prop/direct/P31>".encode(), f"<{_WD}prop/P36>".encode(), f"<{_WD}prop/statement/P36>".encode(),
    f"<{_WD}prop/qualifier/P580>".encode(), f"<{_WD}entity/statement/Q1-aa>".encode(),
    f"<{_WD}.well-known/genid/1>".encode(), b"<http://www.w3.org/2000/01/rdf-schema#label>",
    b"<http://schema.org/description>", b"<http://schema.org/about>",
    b"<http://www.w3.org/2004/02/skos/core#altLabel>", b"<http://wikiba.se/ontology#rank>",
    b"<http://wikiba.se/ontology#PreferredRank>", b"<http://wikiba.se/ontology#DeprecatedRank>",
    b"<http://wikiba.se/ontology#sitelinks>", f'"+7"^^<{_XSD}decimal>'.encode(),
    f'"2001-01-01T00:00:00Z"^^<{_XSD}dateTime>'.encode(), f'"1e999999999"^^<{_XSD}double>'.encode(),
    f'"-0044-00-00T00:00:00Z"^^<{_XSD}dateTime>'.encode(), b'"a"@en', b'"a"@en-gb', b'"a"@mul', b'"', b" .\n",
    b" .\r\n", b"\n", b"_:b1", b"\\u0051", b"\\U00000051", b"\\\"", b"^^<", b"@", b"# ", b" ", b"\xef\xbf\xbe",
    b"\xed\xa0\x80", b"\xc2\x85", b"<<( ", b" )>>", b"<http://[/>", b"@en--ltr",
)  # fmt: skip


def seeds() -> Iterator[bytes]:
    q1, q2 = f"<{_WD}entity/Q1>", f"<{_WD}entity/Q2>"
    yield f'{q1} <{_WD}prop/direct/P31> {q2} .\n{q1} <http://schema.org/name> "One"@en .\n'.encode()
    node = f"<{_WD}entity/statement/Q1-aa>"
    yield (
        f"{q1} <{_WD}prop/P36> {node} .\n{node} <{_WD}prop/statement/P36> {q2} .\n"
        f'{node} <{_WD}prop/qualifier/P580> "2001-01-01T00:00:00Z"^^<{_XSD}dateTime> .\n'
        f"{node} <http://wikiba.se/ontology#rank> <http://wikiba.se/ontology#PreferredRank> .\n"
        f'{q1} <{_WD}prop/direct/P569> "+7"^^<{_XSD}decimal> .\n{q2} <{_WD}prop/direct/P31> {q1} .\n'
    ).encode()
    yield f'_:a <{_WD}prop/direct/P31> "x" .\n<https://en.wikipedia.org/wiki/O> <http://schema.org/about> {q1} .\n'.encode()


def check(data: bytes) -> None:
    _known_lines_are_as_the_parser_reads_them(data)
    # The first line shows that the file is what it claims; both ways leave out the unwanted from there on.
    ntriples._TRIAL = 1
    file = as_file(f'<{_WD}entity/Q1> <{_WD}prop/direct/P1> "a" .\n'.encode() + data, "a.nt")
    for selection in (Subset(), Subset(sliced=True, subjects=IdSet([1]), linked=IdSet([2]))):
        quick, slow = _taken(file, selection, quick=True), _taken(file, selection, quick=False)
        expect(quick == slow, "both ways give the same", (quick, slow))
        if isinstance(slow, tuple):
            must_be_triples(slow[0])


def _known_lines_are_as_the_parser_reads_them(data: bytes) -> None:
    block = data if data.endswith(b"\n") else data + b"\n"
    columns = Columns(block)
    expect(len(columns) + len(columns.others) == block.count(b"\n"), "every line is known or not")
    for line in columns.written(np.arange(len(columns))):
        triples = list(parse(line.encode(), format=RdfFormat.N_TRIPLES))
        expect(len(triples) == 1, "a known line is a triple", line)
        expect(f"{triples[0].subject} {triples[0].predicate} {triples[0].object} .\n" == line, "written alike", line)


def _taken(file: Path, selection: Subset, *, quick: bool) -> Any:
    """What comes of the file: lines, names, how much was skipped; or that it was refused."""
    skipped = Skipped()
    with fresh_directory() as folder, NamesWriter(folder) as names:
        spool = Spool(folder)
        words = LabelWords("en")
        statements = TripleStatements(names, words, selection, spool, "0")
        wanted = LineFilter(selection) if selection.sliced else None
        try:
            if quick:
                lines = LineStatements(file, statements, names, words, selection, spool, skipped, wanted=wanted)
                for block in LineBlocks(file):
                    lines.take(block)
            else:
                for parsed in read_ntriples(LineReader(file), skipped, wanted):
                    statements.take(parsed.triples)
        except InputError as error:
            return error.message
        statements.end()
        names.choose({})
        db = sqlite3.connect(folder / FILE)
        try:
            tables = [sorted(db.execute(f"SELECT * FROM {table}").fetchall()) for table in ("entity", "property_name")]
            texts = sorted(db.execute("SELECT iri, text FROM name JOIN entity ON entity.id = name.entity").fetchall())
        finally:
            db.close()
        # Entities are numbered as they come up, which may differ.
        tables[0] = sorted(row[1:] for row in tables[0])
        return sorted(spooled(folder, spool)), tables, texts, skipped.count
