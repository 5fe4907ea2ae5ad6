"""Facts as JSON lines: each line a fact or a reason, and a fact makes triples that Oxigraph reads."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

import pyoxigraph

from atomr_local.errors import InputError
from atomr_local.indexing.graph_index.statements.terms import FactStatements, stated_lines
from atomr_local.indexing.readers.detect import detect_graph_format
from atomr_local.indexing.readers.facts.json_lines import Fact, read_facts
from atomr_local.indexing.readers.lines import LineReader, Skipped
from fuzz.graph import fresh_names, must_be_triples
from fuzz.properties import as_file, expect, repeated

INSTRUMENTED = (
    "atomr_local.indexing.readers", "atomr_local.indexing.graph_index.statements.terms", "atomr_local.language.literals",
    "atomr_local.language.names", "atomr_local.language.properties",
)  # fmt: skip
DICTIONARY = (
    b'{"s": "', b'", "p": "', b'", "o": "', b'", "o_type": "', b'"}', b"\n", b'"s_qid": "Q42"', b'"p_id": "P31"',
    b'"o_qid": "Q5"', b'"s_aliases": ["', b'"s_description": "', b"date", b"quantity", b"string", b"entity",
    b"1 January 2000", b"44 BC", b"+1e999999999", b"1,200 km\xc2\xb2", b"2000-02-30", b"NaN", b"Infinity", b"\\ud800",
    b"\\u0000", b"\\u2028", b"\\\\", b'\\"', b"date of birth", b"label", b"description", b"also known as",
    b"\xef\xbb\xbf", b"9" * 40, b"\x1f\x8b", b"BZh9", b"[", b"{",
)  # fmt: skip


def seeds() -> Iterator[bytes]:
    yield b'{"s": "Paris", "p": "country", "o": "France"}\n{"s": "A", "p": "height", "o": 12.5, "o_type": "quantity"}\n'
    yield (
        b'{"s": "Ann", "s_qid": "Q1", "p": "date of birth", "p_id": "P569", "o": "6 July 1958", "o_type": "date"}\n'
        b'{"s": "Ann", "p": "also known as", "o": "Annie"}\n{"s": "Ann", "p": "description", "o": "a poet"}\n'
        b'{"s": "Ann", "s_aliases": ["A."], "s_description": "poet", "p": "spouse", "o": "Bob", "o_qid": "Q2"}\n'
    )
    yield repeated(b"[", 30_000, head=b'{"s": "a", "p": "b", "o": ')
    yield repeated(b"9", 5_000, head=b'{"s": "a", "p": "b", "o": ', tail=b"}")
    yield repeated(b"9", 400, head=b'{"s": "a", "p": "b", "o": ', tail=b".5}")


def check(data: bytes) -> None:
    path, skipped = as_file(data, "facts.jsonl"), Skipped()
    with suppress(InputError):
        detect_graph_format(path)
    try:
        facts = [fact for _, fact in read_facts(LineReader(path), skipped)]
    except InputError:
        return
    for fact in facts:
        _check_texts(fact)
    with fresh_names() as names:
        statements = FactStatements(names, {"Ann": "http://www.wikidata.org/entity/Q1"}.get)
        lines = [line for fact in facts for line in _lines(statements, fact)]
        names.flush()
    triples = must_be_triples(lines)
    expect(all(isinstance(t.predicate, pyoxigraph.NamedNode) for t in triples), "predicates are addresses")


def _lines(statements: FactStatements, fact: Fact) -> Iterator[str]:
    if (triple := statements.triple(fact)) is not None:
        yield f"{' '.join(triple)} .\n"
        yield from stated_lines(triple, fact.stated) if fact.stated is not None else ()


def _check_texts(fact: Fact) -> None:
    for text in (fact.property, *(t for term in (fact.subject, fact.object) for t in (term.label, *term.aliases))):
        expect("\x00" not in text and text.encode("utf-8") is not None, "texts can be stored", text)
        expect(bool(text.strip()) or not text, "texts are not blank", text)
