"""Facts as text from a real index: sentences with qualifiers, and the query and rows that each cites."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from atomr_local.errors import Cancelled, SourceError
from atomr_local.indexing import store
from atomr_local.indexing.graph_index.index import build_graph_index
from atomr_local.indexing.graph_index.linearised import FILE
from atomr_local.sources.graph import GraphSource
from atomr_local.sources.graph.sparql.process import run_query
from atomr_local.sources.protocol import GraphTools
from atomr_local.system.cancellation import Cancellation

WD, WDT, PQ = (
    "http://www.wikidata.org/entity/",
    "http://www.wikidata.org/prop/direct/",
    "http://www.wikidata.org/prop/qualifier/",
)


def snak(prop: str, content: str) -> dict[str, Any]:
    if content.startswith("Q"):
        found: Any = {"type": "wikibase-entityid", "value": {"id": content}}
    else:
        found = {"type": "time", "value": {"time": f"+{content}T00:00:00Z", "precision": 11}}
    return {"snaktype": "value", "property": prop, "datavalue": found}


def claim(number: int, prop: str, value: str, rank: str = "normal", **qualifiers: str) -> dict[str, Any]:
    said = {pid: [snak(pid, content)] for pid, content in qualifiers.items()}
    one = {"id": f"Q183${number:08d}-0000-0000-0000-000000000000", "mainsnak": snak(prop, value), "rank": rank}
    return one | ({"qualifiers": said} if said else {})


def entity(qid: str, label: str, *claims: dict[str, Any]) -> dict[str, Any]:
    grouped: dict[str, list[dict[str, Any]]] = {}
    for one in claims:
        grouped.setdefault(one["mainsnak"]["property"], []).append(one)
    kind = "item" if qid.startswith("Q") else "property"
    return {"type": kind, "id": qid, "labels": {"en": {"language": "en", "value": label}}, "claims": grouped}


DUMP = [
    entity("Q183", "Germany", claim(1, "P36", "Q64", "preferred", P580="1990-10-03"),
           claim(2, "P36", "Q586", P580="1949-05-23", P582="1990-10-03"), claim(3, "P37", "Q188")),
    entity("Q64", "Berlin"), entity("Q586", "Bonn"), entity("Q188", "Ger\x1b[31mman"),
    entity("P36", "capital"), entity("P37", "official language"),
]  # fmt: skip


@pytest.fixture
def dump(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ATOMR_HOME", str(tmp_path / "home"))
    file = tmp_path / "dump.json"
    file.write_text("\n".join(json.dumps(one) for one in DUMP))
    return file


def directory() -> Path:
    return store.index_path("graph", "t")


@pytest.fixture
def source(dump: Path) -> GraphSource:
    build_graph_index([dump], "t", linearise=True)
    return GraphSource.open(directory())


def test_a_graph_is_a_source_of_facts(source: GraphSource) -> None:
    assert isinstance(source, GraphTools)
    assert source.facts_missing == ""


def test_a_fact_cites_its_statement_and_the_query_gives_the_same_row_again(source: GraphSource) -> None:
    [found] = source.facts("official language", 3, Cancellation())
    assert (found.source, found.title, found.query) == ("graph", "Germany", "official language")
    assert found.text.startswith("Germany — official language: Ger")
    assert found.score > 0
    row = {"subject": f"{WD}Q183", "property": f"{WDT}P37", "object": f"{WD}Q188"}
    assert found.locator["rows"] == [row]
    assert list(run_query(directory(), found.locator["sparql"]).rows) == [row]


def test_qualifiers_are_words_of_the_fact_and_rows_of_its_query(source: GraphSource) -> None:
    found = source.facts("capital of Germany 1949", 3, Cancellation())
    assert [one.text for one in found[:2]] == [
        "Germany — capital: Bonn (start time 1949-05-23, end time 1990-10-03).",
        "Germany — capital: Berlin (start time 1990-10-03).",
    ]
    rows = found[0].locator["rows"]
    assert {row["qualifier"]: row["value"] for row in rows} == {
        f"{PQ}P580": "1949-05-23", f"{PQ}P582": "1990-10-03",
    }  # fmt: skip
    assert {row["object"] for row in rows} == {f"{WD}Q586"}, "no plain fact, for it is not true any more"
    again = run_query(directory(), found[0].locator["sparql"]).rows
    assert sorted(map(str, again)) == sorted(map(str, rows))


def test_without_facts_as_text_it_says_the_command(dump: Path) -> None:
    build_graph_index([dump], "t")
    source = GraphSource.open(directory())
    assert source.facts_missing == "the graph index t has no facts as text. Run `atomr graph linearise t`."
    with pytest.raises(SourceError, match="has no facts as text") as raised:
        source.facts("capital", 3, Cancellation())
    assert raised.value.hint == "Run `atomr graph linearise t`."


def test_a_damaged_table_is_an_error_of_the_source(source: GraphSource) -> None:
    file = directory() / FILE
    file.unlink()
    file.write_bytes(b"no database" * 100)
    with pytest.raises(SourceError, match=FILE):
        source.facts("capital", 3, Cancellation())


def test_a_table_that_was_tampered_with_puts_nothing_into_a_query(source: GraphSource) -> None:
    with sqlite3.connect(directory() / FILE) as db:
        db.execute("UPDATE fact SET object = '<urn:x>) } ?a ?b ?c . VALUES (?d) { (1'")
    assert source.facts("capital", 3, Cancellation()) == ()
    with sqlite3.connect(directory() / FILE) as db:
        db.execute("UPDATE fact SET object = '<urn:not-in-the-graph>'")
    assert source.facts("capital", 3, Cancellation()) == ()


def test_a_cancelled_question_searches_nothing(source: GraphSource) -> None:
    cancellation = Cancellation()
    cancellation.cancel()
    with pytest.raises(Cancelled):
        source.facts("capital", 3, cancellation)


def test_a_closed_source_closes_its_table(source: GraphSource) -> None:
    source.facts("capital", 3, Cancellation())
    source.close()
    with pytest.raises(SourceError):
        source.facts("capital", 3, Cancellation())
