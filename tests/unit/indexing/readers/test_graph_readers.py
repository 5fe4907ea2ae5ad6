from __future__ import annotations

import bz2
import gzip
from pathlib import Path

import pytest

from atomr_local.errors import InputError
from atomr_local.indexing.readers.detect import detect_graph_format
from atomr_local.indexing.readers.facts.json_lines import Fact, Term, parse_fact, read_facts
from atomr_local.indexing.readers.facts.rdf import read_ntriples
from atomr_local.indexing.readers.lines import LineReader, Skipped
from atomr_local.language.names import base_key, name_key, split_qualifier

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
    file = tmp_path / "facts.jsonl"
    file.write_bytes(FACT + b"\n\n" + b"oops\n" * 7 + FACT + b"\n")
    skipped = Skipped()
    assert len(list(read_facts(LineReader(file), skipped))) == 2
    assert skipped.count == 7
    assert [sample[:2] for sample in skipped.samples] == [(str(file), line) for line in range(3, 8)]


def test_a_file_without_facts_fails_with_its_line(tmp_path: Path) -> None:
    file = tmp_path / "facts.jsonl"
    file.write_bytes(b"\nhello\n" * 300)
    with pytest.raises(InputError, match=r"facts\.jsonl, line 2: not facts"):
        list(read_facts(LineReader(file), Skipped()))


@pytest.mark.parametrize("pack", [bytes, gzip.compress, bz2.compress])
def test_plain_and_compressed_files_read_alike(tmp_path: Path, pack: object) -> None:
    file = tmp_path / "facts"
    file.write_bytes(pack(FACT + b"\r\n" + FACT))  # type: ignore[operator]
    reader = LineReader(file)
    assert [line for _, line in reader] == [FACT, FACT]
    assert detect_graph_format(file) == "facts-jsonl"


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress])
def test_a_truncated_archive_is_told(tmp_path: Path, pack: object) -> None:
    whole: bytes = pack((FACT + b"\n") * 5000)  # type: ignore[operator]
    file = tmp_path / "facts"
    file.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(InputError, match="facts"):
        list(LineReader(file))
    file.write_bytes(whole[:40] + b"\x00" * 40 + whole[80:])
    with pytest.raises(InputError, match="facts"):
        list(LineReader(file))


def test_a_missing_file_and_a_directory_are_told(tmp_path: Path) -> None:
    for path in (tmp_path / "none.nt", tmp_path):
        with pytest.raises(InputError, match=r"cannot be read|is a directory"):
            list(LineReader(path))


def test_ntriples_with_malformed_lines(tmp_path: Path) -> None:
    file = tmp_path / "a.nt"
    good = b'<http://x/a> <http://x/p> "v" .\n'
    file.write_bytes(
        b"# comment\n" + good + b"<http://x/a> <http://x y/p> <b> .\nrubbish\n" + good + b'<a:b> <a:c> "caf\xff" .\n'
    )
    skipped = Skipped()
    triples = [triple for block in read_ntriples(LineReader(file), skipped) for triple in block.triples]
    assert len(triples) == 2
    assert [sample[1] for sample in skipped.samples] == [3, 4, 6]


def test_a_file_that_is_not_ntriples_fails_with_its_line(tmp_path: Path) -> None:
    file = tmp_path / "a.nt"
    file.write_text("once upon a time\n" * 3000)
    with pytest.raises(InputError, match=r"a\.nt, line 1: not N-Triples"):
        list(read_ntriples(LineReader(file), Skipped()))


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
    file = tmp_path / "f"
    file.write_bytes(content)
    assert detect_graph_format(file) == expected


@pytest.mark.parametrize("content", [b"", b"{}\n", b"title,text\n1,2\n" * 30, b"\x00\x01\x02"])
def test_other_files_are_not_recognised(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "f"
    file.write_bytes(content)
    with pytest.raises(InputError, match="cannot be recognised"):
        detect_graph_format(file)
