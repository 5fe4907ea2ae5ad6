"""`atomr graph from-text`: a graph of what pages state, whose answers show the sentence."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path

import pytest
from support.command_line import Atomr
from support.crossing_world import build_world
from support.graph_world import Asker
from support.homes import home_fixtures

from atomr_local.indexing.store import read_manifest
from atomr_local.sources.graph import GraphSource
from atomr_local.tree.nodes import Operator

built_home, copied_home = home_fixtures(build_world)
pytestmark = pytest.mark.usefixtures("copied_home")


def test_a_graph_of_set_phrases(atomr: Atomr, tmp_path: Path) -> None:
    out = atomr("graph", "from-text", "cross", "--name", "stated").out
    assert "facts of 7 pages, 0 of them read by the model" in out
    file = tmp_path / "facts" / "stated.jsonl"
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    assert ("The Lake", "director", "Ann Lee") in {(line["s"], line["p"], line["o"]) for line in lines}
    directory = tmp_path / "indexes" / "graph" / "stated"
    assert read_manifest(directory).counts["triples"] == len(lines)

    again, err = atomr("graph", "from-text", "cross", "--name", "stated")
    assert again == out
    assert "7 pages are read already" in err


def test_an_answer_of_that_graph_shows_where_it_is_stated(atomr: Atomr, tmp_path: Path) -> None:
    atomr("graph", "from-text", "cross", "--name", "stated")
    with closing(GraphSource.open(tmp_path / "indexes" / "graph" / "stated")) as source:
        [evidence] = Asker(source).request(Operator.RELATE, "The Lake", "director").evidence
    assert evidence.text.startswith("The Lake — director: Ann Lee. Stated in “The Lake”: The Lake is a 1931 drama")


DUMP = """<mediawiki><page><title>Hydrogen</title><ns>0</ns><id>1</id><revision><text>{{Infobox element
| symbol = H
| melting point = 13.99 K (−259.16 °C)
| flavour = none known
}}
Hydrogen is a chemical element.</text></revision></page></mediawiki>"""


@pytest.mark.slow
def test_fields_of_infoboxes_are_facts_with_their_passage(atomr: Atomr, tmp_path: Path) -> None:
    dump = tmp_path / "dump.xml"
    dump.write_text(DUMP, encoding="utf-8")
    atomr("text", "build", str(dump), "--name", "elements", "--vectors", "later")
    out, err = atomr("graph", "from-text", "elements")
    assert "2 facts of 1 pages, 0 of them read by the model, 2 from infoboxes" in out
    assert "1 in fields of infoboxes that fit no known property" in err
    facts = [json.loads(line) for line in (tmp_path / "facts/elements.jsonl").read_text().splitlines()]
    assert {(fact["p"], fact["o"], fact["how"], fact["stated"]["passage"]) for fact in facts} == {
        ("element symbol", "H", "infobox", "1#1"),
        ("melting point", "13.99 K", "infobox", "1#1"),
    }
    with closing(GraphSource.open(tmp_path / "indexes" / "graph" / "elements")) as source:
        [evidence] = Asker(source).request(Operator.RELATE, "Hydrogen", "melting point").evidence
    assert "13.99" in evidence.text
    assert "Stated in “Hydrogen”: infobox, melting point: 13.99 K (−259.16 °C)" in evidence.text


def test_facts_alone_build_nothing(atomr: Atomr, tmp_path: Path) -> None:
    out = tmp_path / "mine.jsonl"
    told = atomr("graph", "from-text", "cross", "--facts-only", "--out", str(out), "--pages", "2").out
    assert "facts of 2 pages" in told
    assert out.exists()
    assert not (tmp_path / "indexes" / "graph" / "stated").exists()


def test_another_graph_of_that_name_is_not_replaced(atomr: Atomr, tmp_path: Path) -> None:
    before = read_manifest(tmp_path / "indexes" / "graph" / "cross")
    err = atomr("graph", "from-text", "cross", status=1).err
    assert "--name" in err
    assert read_manifest(tmp_path / "indexes" / "graph" / "cross") == before


def test_an_index_that_is_not_there_and_a_bad_name_are_told(atomr: Atomr) -> None:
    err = atomr("graph", "from-text", "nowhere", status=1).err
    assert "there is no text index named 'nowhere'" in err
    atomr("graph", "from-text", "cross", "--name", "../up", status=1)


def test_a_private_index_makes_no_public_graph_and_is_not_read_elsewhere(atomr: Atomr) -> None:
    atomr("indexes", "private", "cross")
    err = atomr("graph", "from-text", "cross", "--name", "public", status=1).err
    assert "--share-private" in err
    atomr("graph", "from-text", "cross", "--name", "public", "--facts-only", "--share-private")


def test_passages_of_a_private_index_do_not_go_to_a_model_elsewhere(
    atomr: Atomr, monkeypatch: pytest.MonkeyPatch
) -> None:
    atomr("indexes", "private", "cross")
    monkeypatch.setenv("ATOMR_ENDPOINT__URL", "https://models.example.org/v1")
    err = atomr("graph", "from-text", "cross", "--with-model", "--facts-only", status=1).err
    assert "on another machine" in err
