"""The Turtle and Wikidata JSON readers, on files as users have them and on files that are not what they claim."""

from __future__ import annotations

import bz2
import gzip
import json
from pathlib import Path

import pytest

from atomr_local.errors import InputError
from atomr_local.indexing.readers.facts.json_lines import parse_entities, read_entities
from atomr_local.indexing.readers.facts.rdf import TurtleReader
from atomr_local.indexing.readers.lines import LineReader, Skipped

TURTLE = b"""@prefix ex: <http://ex/> .
ex:a ex:b "c" ; ex:d [ ex:e "f" ], _:labelled .
ex:bad ex:x <not an iri> .
ex:g ex:h ex:i .
ex:l ex:m undeclared:x .
ex:n ex:o ex:p, [ ex:q "r" ] .
"""
ENTITY = {"type": "item", "id": "Q1", "labels": {"en": {"language": "en", "value": "one"}}, "claims": {}}


def read_turtle(path: Path, after: int = 0) -> tuple[list[str], Skipped]:
    skipped = Skipped()
    blocks = list(TurtleReader(path, after).blocks(skipped))
    return [str(triple) for block in blocks for triple in block.triples], skipped


@pytest.mark.parametrize("pack", [bytes, gzip.compress, bz2.compress])
def test_turtle_goes_on_after_malformed_statements(tmp_path: Path, pack: object) -> None:
    file = tmp_path / "a.ttl"
    file.write_bytes(pack(TURTLE))  # type: ignore[operator]
    triples, skipped = read_turtle(file)
    assert [triple for triple in triples if "<http://ex/g>" in triple]
    assert len(triples) == 8
    assert [(path, line) for path, line, _ in skipped.samples] == [(str(file), 3), (str(file), 5)]


def test_nodes_without_a_label_are_named_the_same_at_every_reading(tmp_path: Path) -> None:
    file = tmp_path / "a.ttl"
    file.write_bytes(TURTLE)
    triples, _ = read_turtle(file)
    assert triples == read_turtle(file)[0]
    assert any("_:labelled" in triple for triple in triples)
    assert read_turtle(file, after=4)[0] == triples[4:]


@pytest.mark.parametrize("content", [b"once upon a time\n" * 300, b"\x00\x01\x02" * 400, b"title,text\n" * 200])
def test_what_is_no_turtle_fails_with_its_name_and_line(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "a.ttl"
    file.write_bytes(content)
    with pytest.raises(InputError, match=r"a\.ttl, line 1: not Turtle"):
        read_turtle(file)


def test_a_truncated_turtle_archive_is_told(tmp_path: Path) -> None:
    file = tmp_path / "a.ttl.gz"
    file.write_bytes(gzip.compress(TURTLE * 50)[:-20])
    with pytest.raises(InputError, match=r"a\.ttl\.gz, after triple \d+: the compressed file is cut short"):
        read_turtle(file)
    with pytest.raises(InputError, match="cannot be read"):
        read_turtle(tmp_path / "none.ttl")


LINES = [json.dumps(ENTITY | {"id": f"Q{i}"}, separators=(",", ":")) for i in (1, 2, 3)]


@pytest.mark.parametrize(
    "content",
    ["[\n" + ",\n".join(LINES) + "\n]\n", "\n".join(LINES), ",\n".join(["[" + LINES[0], *LINES[1:]]) + "]"],
    ids=["array", "lines", "array without lines of its own"],
)
@pytest.mark.parametrize("pack", [bytes, gzip.compress, bz2.compress])
def test_dumps_in_every_layout(tmp_path: Path, content: str, pack: object) -> None:
    file = tmp_path / "dump"
    file.write_bytes(pack(content.encode()))  # type: ignore[operator]
    skipped = Skipped()
    records = list(read_entities(LineReader(file), skipped))
    assert [entity["id"] for record in records for entity in record.entities] == ["Q1", "Q2", "Q3"]
    assert skipped.count == 0
    after = records[1].record
    assert [r.entities[0]["id"] for r in read_entities(LineReader(file, after), skipped) if r.entities] == ["Q3"]


def test_lines_that_are_not_wanted_are_not_parsed(tmp_path: Path) -> None:
    file = tmp_path / "dump"
    file.write_text(LINES[0] + '\n{"type":"item","id":"Q7", this is never looked at\n' + LINES[2])
    skipped = Skipped()
    seen: list[str] = []

    def wanted(identifier: str, line: bytes) -> bool:
        seen.append(identifier)
        return identifier == "Q3"

    records = list(read_entities(LineReader(file), skipped, wanted))
    assert [entity["id"] for record in records for entity in record.entities] == ["Q1", "Q3"]
    assert seen == ["Q7", "Q3"]
    assert skipped.count == 0


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"nonsense", "not JSON"),
        (b"[1]", "not a JSON object"),
        (b"{}", "no entity"),
        (b'{"s": "a", "p": "b", "o": "c"}', "no entity"),
        (b'{"id": "X1", "labels": {}}', "not a Wikidata id"),
        (b'{"id": 5}', "no entity"),
        (b"[" * 100_000, "not JSON"),
    ],
)
def test_malformed_entities_say_why(tmp_path: Path, line: bytes, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        list(parse_entities(line))
    file = tmp_path / "dump"
    file.write_bytes(line[:5000] + b"\n" + LINES[0].encode())
    skipped = Skipped()
    assert len([r for r in read_entities(LineReader(file), skipped) if r.entities]) == 1
    assert skipped.samples[0][:2] == (str(file), 1)


def test_lexemes_are_passed_over() -> None:
    assert list(parse_entities(b'{"type": "lexeme", "id": "L1", "lemmas": {}}')) == []


def test_what_is_no_dump_fails_with_its_name_and_line(tmp_path: Path) -> None:
    file = tmp_path / "dump.json"
    file.write_text("\nhello\n" * 300)
    with pytest.raises(InputError, match=r"dump\.json, line 2: not a Wikidata JSON dump"):
        list(read_entities(LineReader(file), Skipped()))
