"""Wikidata's JSON: each line entities or a reason, and what is taken of an entity can be loaded."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress

from atomr_local.errors import InputError
from atomr_local.indexing.graph_index.bulk_loading import Spool
from atomr_local.indexing.graph_index.names.writer import NamesWriter
from atomr_local.indexing.graph_index.statements.entities import EntityStatements
from atomr_local.indexing.graph_index.statements.terms import LabelWords
from atomr_local.indexing.graph_index.subset import Subset
from atomr_local.indexing.readers.detect import detect_graph_format
from atomr_local.indexing.readers.facts.json_lines import read_entities
from atomr_local.indexing.readers.lines import LineReader, Skipped
from fuzz.graph import fresh_directory, must_be_triples, spooled
from fuzz.properties import as_file, repeated

INSTRUMENTED = (
    "atomr_local.indexing.readers", "atomr_local.indexing.graph_index.statements.entities", "atomr_local.indexing.graph_index.bulk_loading",
    "atomr_local.language.literals", "atomr_local.indexing.graph_index.statements.terms",
)  # fmt: skip
DICTIONARY = (
    b'{"type": "item", "id": "Q1", "labels": {', b'"id": "P31"', b'"claims": {', b'"mainsnak": {',
    b'"snaktype": "value"', b'"property": "P31"', b'"datavalue": {', b'"type": "', b'"value": ', b"wikibase-entityid",
    b'"numeric-id": 5', b"time", b"quantity", b"string", b"monolingualtext", b"globecoordinate",
    b'"+2000-01-01T00:00:00Z"', b'"precision": 11', b'"amount": "+1e300"',
    b'"unit": "http://www.wikidata.org/entity/Q11573"', b'"rank": "preferred"', b'"qualifiers": {"P580": [',
    b'"en": {"value": "', b'"language": "en"', b"\\ud800", b"\\u0000", b"NaN", b"Infinity", b"1e999", b"null", b"[",
    b"]", b"{", b"}", b",\n", b'"entities": {', b'"datatype": "url"', b'"sitelinks": {', b'"aliases": {"en": [',
    b"Q1$aa", b"L1", b"9" * 40,
)  # fmt: skip


def _snak(pid: str, kind: str, value: object, **more: object) -> dict[str, object]:
    return {"snaktype": "value", "property": pid, "datavalue": {"type": kind, "value": value}, **more}


def seeds() -> Iterator[bytes]:
    time = {"time": "+1952-03-11T00:00:00Z", "precision": 11}
    claims = {
        "P31": [{"id": "Q1$aa", "rank": "normal", "mainsnak": _snak("P31", "wikibase-entityid", {"id": "Q5"})}],
        "P569": [
            {"id": "Q1$bb", "rank": "preferred", "mainsnak": _snak("P569", "time", time),
             "qualifiers": {"P580": [_snak("P580", "time", {"time": "-0044-00-00T00:00:00Z", "precision": 7})]}}
        ],
        "P2048": [{"mainsnak": _snak("P2048", "quantity", {"amount": "+1.8", "unit": "http://www.wikidata.org/entity/Q11573"})}],
        "P1448": [{"mainsnak": _snak("P1448", "monolingualtext", {"text": "Ann", "language": "en"})}],
        "P625": [{"mainsnak": _snak("P625", "globecoordinate", {"latitude": 1.5, "longitude": 2})}],
        "P856": [{"mainsnak": _snak("P856", "string", "http://x/y", datatype="url")}],
    }  # fmt: skip
    entity = {
        "type": "item", "id": "Q1", "labels": {"en": {"language": "en", "value": "Ann"}}, "claims": claims,
        "aliases": {"en": [{"language": "en", "value": "A."}]}, "descriptions": {"mul": {"value": "poet"}},
        "sitelinks": {"enwiki": {}},
    }  # fmt: skip
    yield (
        b"[\n"
        + json.dumps(entity).encode()
        + b",\n"
        + json.dumps({"type": "property", "id": "P31", "labels": {}}).encode()
        + b"\n]"
    )
    yield json.dumps({"entities": {"Q1": entity}}).encode()
    yield repeated(b"[", 30_000, head=b'{"id": "Q1", "claims": ')
    yield repeated(b'{"a":', 8_000, head=b'{"id": "Q1", "claims": {}, "labels": {"en": ')


def check(data: bytes) -> None:
    path, skipped = as_file(data, "entities.json"), Skipped()
    with suppress(InputError):
        detect_graph_format(path)
    with fresh_directory() as folder, NamesWriter(folder) as names:
        spool = Spool(folder)
        statements = EntityStatements(names, LabelWords("en"), Subset(), spool)
        try:
            for record in read_entities(LineReader(path), skipped):
                statements.take(record.entities)
        except InputError:
            return
        names.flush()
        must_be_triples(spooled(folder, spool))
