"""Readers of facts: JSON lines, N-Triples, Turtle and Wikidata's JSON, as users have them and not what they claim."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from support.read_files import packed_or_not, written

from atomr_local.errors import InputError
from atomr_local.indexing.readers.detect import detect_graph_format
from atomr_local.indexing.readers.facts import json_lines as wikidata_json
from atomr_local.indexing.readers.facts.json_lines import (
    Fact,
    Term,
    is_indented,
    parse_entities,
    parse_fact,
    read_entities,
    read_facts,
)
from atomr_local.indexing.readers.facts.rdf import TurtleReader, read_ntriples
from atomr_local.indexing.readers.lines import LineReader, Skipped
from atomr_local.language.names import base_key, name_key, split_qualifier

# JSON lines.

FACT = b'{"s": "Get Low", "p": "performer", "o": "Dillon Francis", "s_qid": "Q18160687", "o_qid": "Q5276931"}'


def test_name_forms() -> None:
    assert name_key("Żołnierz Zwycięstwa") == name_key("Zolnierz zwyciestwa")
    assert name_key("I'M Not Angry!") == "im not angry"
    assert name_key("Rock & Roll") == "rock and roll"
    assert name_key("!!!") == "!!!"
    assert split_qualifier("Get Low (Dillon Francis song)") == ("Get Low", "Dillon Francis song")
    assert base_key("The Base (film)") == "base"
    assert base_key("The") == "the"


def test_a_fact_with_ids() -> None:
    assert parse_fact(FACT) == Fact(
        Term("Get Low", "Q18160687"), "performer", None, Term("Dillon Francis", "Q5276931"), ""
    )


def test_what_only_looks_like_an_id_is_none() -> None:
    fact = parse_fact(b'{"s": "A", "p": "b", "o": "c", "o_qid": "date_information", "p_id": "Q5", "s_qid": 7}')
    assert (fact.object.qid, fact.pid, fact.subject.qid) == (None, None, None)


def test_descriptions_and_aliases_on_the_line() -> None:
    fact = parse_fact(
        b'{"s": "A", "p": "b", "o": 8, "s_description": " d ", "s_aliases": ["B", "", 3], "o_type": "Date"}'
    )
    assert (fact.subject.description, fact.subject.aliases) == ("d", ("B",))
    assert (fact.object.label, fact.object_type) == ("8", "date")


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"not json", "not JSON"),
        (b"[1]", "not a JSON object"),
        (b'{"s": "A", "p": "b"}', 'no "o"'),
        (b'{"s": " ", "p": "b", "o": "c"}', '"s" is empty'),
        (b'{"s": null, "p": "b", "o": "c"}', '"s" is not a text'),
        (b'{"s": true, "p": "b", "o": "c"}', '"s" is not a text'),
        (b"\xff\xfe{", "not JSON"),
        (b"[" * 100_000, "not JSON"),
    ],
)
def test_malformed_facts_say_why(line: bytes, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        parse_fact(line)


def test_lone_surrogates_become_encodable() -> None:
    assert parse_fact(b'{"s": "a\\ud800b", "p": "p", "o": "o\\u0000"}').subject.label.encode() == b"a?b"


def test_malformed_lines_are_counted_and_sampled(tmp_path: Path) -> None:
    file = written(tmp_path, FACT + b"\n\n" + b"oops\n" * 7 + FACT + b"\n")
    skipped = Skipped()
    assert len(list(read_facts(LineReader(file), skipped))) == 2
    assert skipped.count == 7
    assert [sample[:2] for sample in skipped.samples] == [(str(file), line) for line in range(3, 8)]


def test_files_that_are_not_what_they_claim_fail_with_name_and_line(tmp_path: Path) -> None:
    file = written(tmp_path, b"\nhello\n" * 300)
    with pytest.raises(InputError, match=rf"{file}, line 2: not facts"):
        list(read_facts(LineReader(file), Skipped()))
    with pytest.raises(InputError, match=rf"{file}, line 2: not a Wikidata JSON dump"):
        list(read_entities(LineReader(file), Skipped()))
    file = written(tmp_path, "once upon a time\n" * 3000)
    with pytest.raises(InputError, match=rf"{file}, line 1: not N-Triples"):
        list(read_ntriples(LineReader(file), Skipped()))


@packed_or_not
def test_plain_and_compressed_files_read_alike(tmp_path: Path, pack) -> None:
    file = written(tmp_path, pack(FACT + b"\r\n" + FACT))
    assert [line for _, line in LineReader(file)] == [FACT, FACT]
    assert detect_graph_format(file) == "facts-jsonl"


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"\n# c\n<http://a> <http://b> <http://c> .\n", "nt"),
        (b'_:a <http://b> "c" .\n', "nt"),
        (b"\n" + FACT, "facts-jsonl"),
        (b"{}\n" + FACT, "facts-jsonl"),
        (b"# c\n@prefix wd: <http://w> .\n", "turtle"),
        (b"PREFIX wd: <http://w>\n", "turtle"),
        (b"<http://a> <http://b> <http://c> ;\n  <http://d> <http://e> .\n", "turtle"),
        (b"[\n" + b'{"type":"item","id":"Q1","labels":{}},\n]', "wikidata-json"),
        (b'{"id": "P31", "labels": {}}', "wikidata-json"),
        (b'{"Q1": {"id": "Q1", "labels": {}}}', "wikidata-json"),
        (b'{"entities": {"Q1": {"id": "Q1", "claims": {}}}}', "wikidata-json"),
    ],
)
def test_formats_are_recognised(tmp_path: Path, content: bytes, expected: str) -> None:
    assert detect_graph_format(written(tmp_path, content)) == expected


@pytest.mark.parametrize("content", [b"", b"{}\n", b"title,text\n1,2\n" * 30, b"\x00\x01\x02"])
def test_other_files_are_not_recognised(tmp_path: Path, content: bytes) -> None:
    with pytest.raises(InputError, match="cannot be recognised"):
        detect_graph_format(written(tmp_path, content))


# RDF.

TURTLE = b"""@prefix ex: <http://ex/> .
ex:a ex:b "c" ; ex:d [ ex:e "f" ], _:labelled .
ex:bad ex:x <not an iri> .
ex:g ex:h ex:i .
ex:l ex:m undeclared:x .
ex:n ex:o ex:p, [ ex:q "r" ] .
"""


def read_turtle(path: Path, after: int = 0) -> tuple[list[str], Skipped]:
    skipped = Skipped()
    blocks = list(TurtleReader(path, after).blocks(skipped))
    return [str(triple) for block in blocks for triple in block.triples], skipped


def test_ntriples_with_malformed_lines(tmp_path: Path) -> None:
    good = b'<http://x/a> <http://x/p> "v" .\n'
    bad = b"<http://x/a> <http://x y/p> <b> .\nrubbish\n"
    file = written(tmp_path, b"# comment\n" + good + bad + good + b'<a:b> <a:c> "caf\xff" .\n')
    skipped = Skipped()
    triples = [triple for block in read_ntriples(LineReader(file), skipped) for triple in block.triples]
    assert len(triples) == 2
    assert [sample[1] for sample in skipped.samples] == [3, 4, 6]


@packed_or_not
def test_turtle_goes_on_after_malformed_statements(tmp_path: Path, pack) -> None:
    file = written(tmp_path, pack(TURTLE))
    triples, skipped = read_turtle(file)
    assert [triple for triple in triples if "<http://ex/g>" in triple]
    assert len(triples) == 8
    assert [(path, line) for path, line, _ in skipped.samples] == [(str(file), 3), (str(file), 5)]


def test_nodes_without_a_label_are_named_the_same_at_every_reading(tmp_path: Path) -> None:
    file = written(tmp_path, TURTLE)
    triples, _ = read_turtle(file)
    assert triples == read_turtle(file)[0]
    assert any("_:labelled" in triple for triple in triples)
    assert read_turtle(file, after=4)[0] == triples[4:]


@pytest.mark.parametrize("content", [b"once upon a time\n" * 300, b"\x00\x01\x02" * 400, b"title,text\n" * 200])
def test_what_is_no_turtle_fails_with_its_name_and_line(tmp_path: Path, content: bytes) -> None:
    with pytest.raises(InputError, match=r"file, line 1: not Turtle"):
        read_turtle(written(tmp_path, content))


def test_a_truncated_turtle_archive_is_told(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"file, after triple \d+: the compressed file is cut short"):
        read_turtle(written(tmp_path, gzip.compress(TURTLE * 50)[:-20]))
    with pytest.raises(InputError, match="cannot be read"):
        read_turtle(tmp_path / "none.ttl")


# Wikidata's JSON: dumps, and indented, single entities, arrays on one line, media of Commons.

ENTITY = {"type": "item", "id": "Q1", "labels": {"en": {"language": "en", "value": "one"}}, "claims": {}}
LINES = [json.dumps(ENTITY | {"id": f"Q{i}"}, separators=(",", ":")) for i in (1, 2, 3)]
NASTY = 'braces } ] { [ and a quote " and a backslash \\'


def entity(number: int) -> dict[str, Any]:
    labels = {"en": {"language": "en", "value": f"{NASTY} {number}"}}
    return {"pageid": 1, "ns": 0, "type": "item", "id": f"Q{number}", "labels": labels, "claims": {}}


def ids(path: Path, after: int = 0, skipped: int = 0, **options: Any) -> list[str]:
    """The entities of the file, of which so many lines are skipped."""
    counted = Skipped()
    records = read_entities(LineReader(path, after), counted, **options)
    found = [item["id"] for record in records for item in record.entities]
    assert counted.count == skipped, counted.samples
    return found


@pytest.mark.parametrize(
    "content",
    ["[\n" + ",\n".join(LINES) + "\n]\n", "\n".join(LINES), ",\n".join(["[" + LINES[0], *LINES[1:]]) + "]"],
    ids=["array", "lines", "array without lines of its own"],
)
@packed_or_not
def test_dumps_in_every_layout(tmp_path: Path, content: str, pack) -> None:
    file = written(tmp_path, pack(content.encode()))
    assert ids(file) == ["Q1", "Q2", "Q3"]
    records = list(read_entities(LineReader(file), Skipped()))
    assert ids(file, records[1].record) == ["Q3"]


def test_lines_that_are_not_wanted_are_not_parsed(tmp_path: Path) -> None:
    file = written(tmp_path, LINES[0] + '\n{"type":"item","id":"Q7", this is never looked at\n' + LINES[2])
    seen: list[str] = []

    def wanted(identifier: str, line: bytes) -> bool:
        seen.append(identifier)
        return identifier == "Q3"

    assert ids(file, wanted=wanted) == ["Q1", "Q3"]
    assert seen == ["Q7", "Q3"]


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
    file = written(tmp_path, line[:5000] + b"\n" + LINES[0].encode())
    skipped = Skipped()
    assert len([r for r in read_entities(LineReader(file), skipped) if r.entities]) == 1
    assert skipped.samples[0][:2] == (str(file), 1)


def test_lexemes_are_passed_over() -> None:
    assert list(parse_entities(b'{"type": "lexeme", "id": "L1", "lemmas": {}}')) == []


@pytest.mark.parametrize("indent", [2, 0, "\t", None])
@pytest.mark.parametrize(
    ("data", "found"),
    [
        (entity(42), ["Q42"]),
        ({"entities": {"Q42": entity(42)}}, ["Q42"]),
        ({"entities": {"Q42": entity(42), "Q43": entity(43)}, "success": 1}, ["Q42", "Q43"]),
        ({"Q42": entity(42)}, ["Q42"]),
        ([entity(1), entity(2), entity(3)], ["Q1", "Q2", "Q3"]),
    ],
    ids=["entity", "EntityData", "API", "by id", "array"],
)
def test_every_layout_is_recognised_and_read(tmp_path: Path, data: object, found: list[str], indent: Any) -> None:
    for sort_keys in (False, True):
        file = written(tmp_path, json.dumps(data, indent=indent, sort_keys=sort_keys))
        assert is_indented(file) == (indent is not None)
        assert detect_graph_format(file) == "wikidata-json"
        assert ids(file) == found


def test_an_indented_array_goes_on_after_the_line_that_was_done(tmp_path: Path) -> None:
    file = written(tmp_path, json.dumps([entity(1), entity(2), entity(3)], indent=2))
    records = list(read_entities(LineReader(file), Skipped()))
    assert ids(file, records[0].record) == ["Q2", "Q3"]


def test_a_damaged_value_of_an_indented_array_is_named_and_the_next_one_read(tmp_path: Path) -> None:
    text = json.dumps([entity(1), entity(2), entity(3)], indent=1).replace('"id": "Q2",', '"id": Q2,')
    file = written(tmp_path, text)
    assert ids(file, skipped=1) == ["Q1", "Q3"]
    skipped = Skipped()
    list(read_entities(LineReader(file), skipped))
    assert [reason[:8] for _, _, reason in skipped.samples] == ["not JSON"]


def test_a_value_without_end_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = written(tmp_path, json.dumps(entity(1), indent=1)[:-20])
    with pytest.raises(InputError, match=r"file, line \d+: not a Wikidata JSON dump: not JSON"):
        ids(file)
    monkeypatch.setattr(wikidata_json, "_MOST_BYTES", 50)
    with pytest.raises(InputError, match="a JSON value is longer than"):
        ids(file)


def test_a_damaged_first_line_of_a_dump_does_not_swallow_the_rest(tmp_path: Path) -> None:
    file = written(tmp_path, "[\n" + json.dumps(entity(1))[:60] + ",\n" + json.dumps(entity(2)) + "\n]\n")
    assert not is_indented(file)
    assert ids(file, skipped=1) == ["Q2"]


def test_media_are_entities_and_lexemes_are_counted(tmp_path: Path) -> None:
    media = {"type": "mediainfo", "id": "M7", "labels": {}, "statements": {"P180": []}}
    lines = [json.dumps(item) for item in (media, {"type": "lexeme", "id": "L1", "lemmas": {}}, entity(5))]
    file = written(tmp_path, "\n".join(lines))
    passed: Counter[str] = Counter()
    found = list(read_entities(LineReader(file), Skipped(), None, lambda what, n: passed.update({what: n})))
    assert [item["id"] for record in found for item in record.entities] == ["M7", "Q5"]
    assert found[0].entities[0]["claims"] == {"P180": []}
    assert passed == {"lexemes": 1}
