"""The quick way of taking in N-Triples gives what the parser and the slow way give, on ordinary and hostile lines."""

from __future__ import annotations

import random
import sqlite3
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from atomr_local.errors import InputError
from atomr_local.indexing.graph_index.bulk_loading import Spool, spool_files
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
from atomr_local.language.names import base_key, name_forms, name_key, split_qualifier

WD = "http://www.wikidata.org/"
XSD = "http://www.w3.org/2001/XMLSchema#"
SUBJECTS = [
    *(f"<{WD}entity/Q{number}>" for number in (1, 2, 3, 42)),
    f"<{WD}entity/Q0>", f"<{WD}entity/Q007>", f"<{WD}entity/Q1x>", f"<{WD}entity/Q\u0661>", f"<{WD}entity/P31>",
    f"<{WD}entity/statement/Q1-aa>", f"<{WD}entity/statement/Q2-bb>", "<https://en.wikipedia.org/wiki/One>", "_:b1",
    "<http://example.org/one>", f"<{WD}entity/Q1", f"<{WD}entity/\\u00511>", f"<{WD}entity/Q{'9' * 13}>",
    "<https://www.wikidata.org/wiki/Special:EntityData/Q1>",
]  # fmt: skip
PREDICATES = [
    *(f"<{WD}prop/direct/P{number}>" for number in (31, 36, 569)), f"<{WD}prop/direct/P0>", f"<{WD}prop/direct/Px>",
    f"<{WD}prop/direct/P1 >", "<http://www.w3.org/2000/01/rdf-schema#label>", "<http://schema.org/name>",
    "<http://www.w3.org/2004/02/skos/core#altLabel>", "<http://schema.org/description>", "<http://schema.org/about>",
    "<http://wikiba.se/ontology#sitelinks>", f"<{WD}prop/statement/P36>", f"<{WD}prop/qualifier/P580>", "<no iri>",
    "<http://wikiba.se/ontology#rank>",
]  # fmt: skip
OBJECTS = [
    *(f"<{WD}entity/Q{number}>" for number in (1, 2, 5)), f"<{WD}entity/P31>", f"<{WD}entity/Q1{{>", "_:b1", '""',
    '"plain"', '"label"@en', '"Wort"@de', '"regional"@en-gb', '"UPPER"@EN', '"odd"@x', '"odd"@abcd', '"odd"@en-abcdefghi',
    '"odd"@en-a', '"odd"@en-toolongsubtag', '"spaced  out "@en', '"quote \\" inside"@en', '"esc\\u0061pe"', '"bad \\x"',
    '"tab\there"@en', '"\u0085"@en', '"\ufffe"@en', '"\U0001f600"@en', '"e\u0301"@en', '"\u00a0"@en', '"unclosed',
    '"inner "quote" here"', '"2001-01-01T00:00:00Z"^^<' + XSD + 'dateTime>', '"no date"^^<' + XSD + "dateTime>",
    f'"+7"^^<{XSD}decimal>', f'"x"^^<{XSD}string>', f'"x"^^<{XSD}string', '"x"@en^^<http://x/y>',
    f'"x"^^<{XSD}decimal>@en', '"Point(1 2)"^^<http://www.opengis.net/ont/geosparql#wktLiteral>', "7", "",
    "<http://commons.wikimedia.org/wiki/File:A.jpg>", f"<{WD}.well-known/genid/1>", "<http://[/>",
    "<http://wikiba.se/ontology#PreferredRank>", "<http://wikiba.se/ontology#DeprecatedRank>",
]  # fmt: skip
ENDS = [" .", " .", " .", " .", " .", " .", " .", " .", " .\r", ".", " . # said", " . .", "", " ;", "  .", " .\u2028"]


def hostile_lines(rng: random.Random, count: int) -> bytes:
    """Lines of which most are well formed, a third are made of anything, and some are repeated or empty."""
    lines: list[bytes] = []
    for _ in range(count):
        if lines and rng.random() < 0.15:
            lines.append(lines[-rng.randint(1, min(len(lines), 3))])
        elif rng.random() < 0.65:
            subject, predicate, value = rng.choice(SUBJECTS[:4]), rng.choice(PREDICATES[:3]), rng.choice(OBJECTS[:10])
            lines.append(f"{subject} {predicate} {value} .".encode())
        else:
            parts = [rng.choice(SUBJECTS), rng.choice(PREDICATES), rng.choice(OBJECTS)]
            line = bytearray((" ".join(parts) + rng.choice(ENDS)).encode())
            if rng.random() < 0.1:
                line[rng.randrange(len(line))] = rng.choice((0x00, 0x20, 0x22, 0x3C, 0x5C, 0x80, 0xC3, 0xED, 0xFF))
            lines.append(rng.choice((bytes(line), bytes(line), bytes(line), b"", b"# said", b"\t ")))
    return b"\n".join(lines).replace(b"\r\n\r", b"\r\n") + rng.choice((b"", b"\n"))


def taken(folder: Path, file: Path, way: str, selection: Subset) -> tuple[Any, ...]:
    """What comes of the file: facts and qualified statements, every table, what was skipped."""
    folder.mkdir()
    skipped = Skipped()
    with NamesWriter(folder) as names:
        spool = Spool(folder)
        words = LabelWords("en")
        statements = TripleStatements(names, words, selection, spool, "0")
        wanted = LineFilter(selection) if selection.sliced else None
        if way == "quick":
            lines = LineStatements(file, statements, names, words, selection, spool, skipped, wanted=wanted)
            for block in LineBlocks(file):
                lines.take(block)
        else:
            for parsed in read_ntriples(LineReader(file), skipped, wanted):
                statements.take(parsed.triples)
        statements.end()
        spool.write(0)
        names.choose({})
    db = sqlite3.connect(folder / FILE)
    tables = [
        sorted(db.execute(query).fetchall())
        for query in (
            "SELECT iri, description, statements, sitelinks FROM entity",
            "SELECT iri, text, key, base, qualifier, weight FROM name JOIN entity ON entity.id = name.entity",
            "SELECT * FROM property",
            "SELECT * FROM property_name",
        )
    ]
    db.close()
    lines = [sorted(path.read_bytes().split(b"\n")) for path in spool_files(folder, 0)]
    return lines, tables, skipped.count, skipped.samples


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("sliced", [False, True], ids=["whole", "slice"])
def test_both_ways_give_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int, sliced: bool) -> None:
    rng = random.Random(seed)
    monkeypatch.setattr(ntriples, "_CHUNK", rng.choice((500, 7_000, 1 << 20)))
    # The first lines show that the file is what it claims, so that both ways leave out the unwanted from there on.
    monkeypatch.setattr(ntriples, "_TRIAL", 1)
    file = tmp_path / "a.nt"
    first = f"{SUBJECTS[0]} {PREDICATES[0]} {OBJECTS[1]} .\n"
    file.write_bytes(first.encode() + hostile_lines(rng, 700))
    selection = Subset(sliced=sliced, subjects=IdSet([1, 42]), linked=IdSet([2]))
    slow = taken(tmp_path / "slow", file, "slow", selection)
    assert taken(tmp_path / "quick", file, "quick", selection) == slow
    assert slow[0][0]
    assert slow[2] > 50


def test_lines_that_the_parser_refuses_are_never_taken() -> None:
    """Each combination on its own, so that none hides behind another."""
    from pyoxigraph import RdfFormat, parse

    lines = [
        f"{subject} {predicate} {value} .\n" for subject in SUBJECTS for predicate in PREDICATES for value in OBJECTS
    ]
    columns = Columns("".join(lines).encode())
    known = columns.written(np.arange(len(columns)))
    assert known == [lines[line] for line in columns.lines]
    assert [columns.other(line).decode() + "\n" for line in columns.others] == [
        line for number, line in enumerate(lines) if number not in set(columns.lines.tolist())
    ]
    assert len(known) > 100
    for line in known:
        [triple] = parse(line.encode(), format=RdfFormat.N_TRIPLES)
        assert f"{triple.subject} {triple.predicate} {triple.object} .\n" == line


def test_the_columns_of_a_line() -> None:
    entity, label = (
        f"<{WD}entity/Q1> <{WD}prop/direct/P31> <{WD}entity/Q5> .",
        f'{SUBJECTS[1]} {PREDICATES[6]} "a > b"@en .',
    )
    date = f'{SUBJECTS[1]} <{WD}prop/direct/P569> "2001"^^<{XSD}gYear> .'
    columns = Columns("\n".join((entity, "", label, "# <said>", date, "")).encode())
    every = np.arange(3)
    assert columns.lines.tolist() == [0, 2, 4]
    assert columns.others.tolist() == [1, 3]
    assert columns.literal.tolist() == [False, True, True]
    assert columns.subject.of(every) == [f"{WD}entity/Q1", f"{WD}entity/Q2", f"{WD}entity/Q2"]
    assert columns.predicate.of(every) == [f"{WD}prop/direct/P31", PREDICATES[6][1:-1], f"{WD}prop/direct/P569"]
    assert columns.object.of(every) == [f"<{WD}entity/Q5>", '"a > b"@en', f'"2001"^^<{XSD}gYear>']
    assert columns.suffix.of(every) == ["", "@en", f"^^<{XSD}gYear>"]
    assert columns.texts(every[1:]) == ["a > b", "2001"]
    assert columns.joined(every[::2]) == f"{entity}\n{date}\n"
    assert columns.items.tolist() == [1, 2, 2]
    assert columns.targets(every[:1])[0].tolist() == [5]


def test_what_statements_point_to() -> None:
    values = ("Q7", "P31", "Q999999999999", "P1")
    lines = [f"<{WD}entity/Q1> <{WD}prop/direct/P31> <{WD}entity/{value}> .\n" for value in values]
    items, others = Columns("".join(lines).encode()).targets(np.arange(len(values)))
    assert items.tolist() == [7, 999999999999]
    assert others == [f"{WD}entity/P31", f"{WD}entity/P1"]


@pytest.mark.parametrize("data", [b"\n", b"<\n>\n", b"\xff\n" * 3], ids=["empty", "brackets", "no text"])
def test_a_block_without_a_known_line(data: bytes) -> None:
    columns = Columns(data)
    assert len(columns) == 0
    assert [columns.other(line) for line in columns.others] == data.split(b"\n")[:-1]


def test_a_killed_reader_goes_on_at_any_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "a.nt"
    lines = [b"%d" % number * (number % 9) for number in range(200)]
    file.write_bytes(b"\n".join(lines))
    monkeypatch.setattr(ntriples, "_CHUNK", 64)
    for after in range(200):
        found = list(LineBlocks(file, after))
        assert b"".join(block.data for block in found) == b"\n".join(lines[after:]) + b"\n"
        assert found[0].first == after + 1
        assert found[-1].record == 200


@pytest.mark.parametrize("before", [0, 1])
def test_a_line_beyond_measure_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, before: int) -> None:
    monkeypatch.setattr(ntriples, "_CHUNK", 64)
    monkeypatch.setattr(ntriples, "MAX_LINE", 1000)
    file = tmp_path / "a.nt"
    file.write_bytes(b"x\n" * before + b"y" * 1001 + b"\n" * 3)
    with pytest.raises(InputError, match=rf"a\.nt, line {before + 1}: longer than"):
        list(LineBlocks(file))


def test_the_forms_of_a_name_are_those_of_the_single_functions() -> None:
    rng = random.Random(3)
    parts = ["The", "a", " ", "  ", "(", ")", "x", "É", "ß", "U.S.", "&", "'", "-", "\u00a0", "Łódź", "film", "\u0130"]
    for _ in range(3000):
        text = "".join(rng.choice(parts) for _ in range(rng.randint(1, 8)))
        assert name_forms(text) == (name_key(text), base_key(text), split_qualifier(text)[1]), repr(text)
