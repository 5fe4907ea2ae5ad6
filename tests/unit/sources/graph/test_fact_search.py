"""Facts as text from a real index: sentences with qualifiers, and the query and rows that each cites."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from support.homes import home_fixtures
from support.wikidata_items import WD, WDT, claim, entity, written_dump

from atomr_local.errors import Cancelled, SourceError
from atomr_local.indexing import store
from atomr_local.indexing.graph_index.index import build_graph_index
from atomr_local.indexing.graph_index.linearised import FILE
from atomr_local.sources.graph import GraphSource
from atomr_local.sources.graph.sparql.process import run_query
from atomr_local.sources.protocol import GraphTools
from atomr_local.system.cancellation import Cancellation

PQ = "http://www.wikidata.org/prop/qualifier/"


DUMP = [
    entity("Q183", "Germany", claim("P36", "Q64", "preferred", P580="1990-10-03"),
           claim("P36", "Q586", P580="1949-05-23", P582="1990-10-03"), claim("P37", "Q188")),
    entity("Q64", "Berlin"), entity("Q586", "Bonn"), entity("Q188", "Ger\x1b[31mman"),
    entity("P36", "capital"), entity("P37", "official language"),
]  # fmt: skip


def directory() -> Path:
    return store.index_path("graph", "t")


built_home, copied_home = home_fixtures(
    lambda home: build_graph_index([written_dump(home / "dump.json", *DUMP)], "t", linearise=True)
)


@pytest.fixture
def source(copied_home: Path) -> Iterator[GraphSource]:
    with closing(GraphSource.open(directory())) as opened:
        yield opened


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


def test_without_facts_as_text_it_says_the_command(own_home: Path) -> None:
    build_graph_index([written_dump(own_home / "dump.json", *DUMP)], "t")
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
