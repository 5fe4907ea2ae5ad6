from __future__ import annotations

import errno
import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, cast

import pytest
from support.graph_contents import names, triples
from support.homes import home_fixtures
from support.wikidata_items import WD, WDT

from atomr_local.errors import Cancelled, InputError, KnowledgeIndexError
from atomr_local.indexing import store
from atomr_local.indexing.builds.publishing import list_unfinished
from atomr_local.indexing.graph_index import build as graph_build
from atomr_local.indexing.graph_index.build import BuildProgress
from atomr_local.indexing.graph_index.bulk_loading import STORE, Spool
from atomr_local.indexing.graph_index.index import build_graph_index
from atomr_local.indexing.readers.facts import rdf as ntriples
from atomr_local.system.cancellation import Cancellation


def write_facts(path: Path, facts: Sequence[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(fact) + "\n" for fact in facts), encoding="utf-8")
    return path


Build = Callable[..., store.Manifest]


@pytest.fixture
def build(tmp_path: Path) -> Build:
    def run(*facts: dict[str, Any], name: str = "t") -> store.Manifest:
        return build_graph_index([write_facts(tmp_path / "facts.jsonl", facts)], name)

    return run


def test_facts_with_and_without_ids_join_on_an_unambiguous_label(build: Build) -> None:
    build(
        {"s": "Carl Boese", "p": "date of death", "o": "6 July 1958", "s_qid": None},
        {"s": "Carl Boese", "p": "place of birth", "o": "Berlin", "s_qid": "Q1", "o_qid": "Q64"},
    )
    assert f'<{WD}Q1> <{WDT}P570> "1958-07-06"^^<http://www.w3.org/2001/XMLSchema#date>' in triples()
    assert names().statement_text(f"{WD}Q1", f"{WDT}P570", '"1958-07-06"^^<http://www.w3.org/2001/XMLSchema#date>') == (
        "6 July 1958"
    )


def test_a_label_of_two_entities_is_not_joined(build: Build) -> None:
    build(
        {"s": "John Waters", "p": "father", "o": "X", "s_qid": "Q1"},
        {"s": "John Waters", "p": "father", "o": "Y", "s_qid": "Q2"},
        {"s": "John Waters", "p": "date of birth", "o": "1946", "s_qid": None},
    )
    assert {row.entity.iri for row in names().by_key("john waters")} == {
        f"{WD}Q1", f"{WD}Q2", "urn:atomr:entity:John%20Waters",
    }  # fmt: skip


def test_an_adjective_is_not_the_label_where_there_is_a_noun(build: Build) -> None:
    facts = [{"s": f"p{i}", "p": "country of citizenship", "o": "American", "o_qid": "Q30"} for i in range(5)]
    build(*facts, {"s": "Boise Airport", "p": "country", "o": "United States", "o_qid": "Q30"})
    entity = names().entity(f"{WD}Q30")
    assert entity is not None
    assert entity.label == "United States"
    assert names().statement_text("urn:atomr:entity:p1", f"{WDT}P27", f"<{WD}Q30>") == "American"
    assert names().statement_text("urn:atomr:entity:Boise%20Airport", f"{WDT}P17", f"<{WD}Q30>") is None


def test_literals_are_typed_by_property_and_by_form(build: Build) -> None:
    build(
        {"s": "a", "p": "publication date", "o": "2012"},
        {"s": "a", "p": "inception", "o": "some day"},
        {"s": "a", "p": "population", "o": "3.5 million"},
        {"s": "a", "p": "shoe size", "o": "42"},
        {"s": "a", "p": "opened", "o": "5 May 1950"},
        {"s": "a", "p": "motto", "o": "E pluribus unum", "o_type": "string"},
        {"s": "1984", "p": "author", "o": "George Orwell"},
        {"s": "a", "p": "follows", "o": "1984"},
        {"s": "a", "p": "lucky", "o": "1984", "o_type": "entity"},
    )
    xsd = "http://www.w3.org/2001/XMLSchema#"
    objects = {triple.split("> ", 2)[2] for triple in triples() if "urn:atomr:entity:a>" in triple}
    assert {
        f'"2012"^^<{xsd}gYear>', '"some day"', f'"3500000"^^<{xsd}decimal>', f'"42"^^<{xsd}decimal>',
        f'"1950-05-05"^^<{xsd}date>', '"E pluribus unum"', "<urn:atomr:entity:1984>",
    } <= objects  # fmt: skip


def test_names_and_descriptions_are_no_facts_of_their_own(build: Build) -> None:
    manifest = build(
        {"s": "France", "p": "also known as", "o": "French Republic"},
        {"s": "France", "p": "description", "o": "country in Europe"},
        {"s": "France", "p": "capital", "o": "Paris", "o_description": "city", "o_aliases": ["Lutetia"]},
    )
    assert manifest.counts == {"entities": 2, "triples": 1, "properties": 1}
    [row] = names().by_key("french republic")
    assert (row.entity.label, row.entity.description) == ("France", "country in Europe")
    assert names().by_key("lutetia")[0].entity.label == "Paris"
    alt = "http://www.w3.org/2004/02/skos/core#altLabel"
    assert f'<urn:atomr:entity:France> <{alt}> "French Republic"@en' in triples()


def test_hostile_labels_survive(build: Build) -> None:
    labels = ['"', "\\", "a\nb", 'x" . <a:b> <a:c> <a:d> .', "c\u2028d", "<>", "e\tf\r", "%", "é" * 900]
    build(
        *({"s": label, "p": label, "o": label} for label in labels),
        *({"s": label, "p": "warcry", "o": label, "o_type": "string"} for label in labels),
    )
    assert len([t for t in triples() if "rdf-schema#label" in t]) == len(labels)
    from pyoxigraph import QuerySolutions, Store

    graph = Store.read_only(str(store.index_path("graph", "t") / STORE))
    found = cast(QuerySolutions, graph.query('SELECT ?o { ?s ?p ?o FILTER(STRENDS(STR(?p), "property:warcry")) }'))
    assert {row["o"].value for row in found} == {label.strip() for label in labels}


NT = """\
<http://www.wikidata.org/entity/Q1> <http://www.w3.org/2000/01/rdf-schema#label> "Universum"@de .
<http://www.wikidata.org/entity/Q1> <http://www.w3.org/2000/01/rdf-schema#label> "universe (gb)"@en-gb .
<http://www.wikidata.org/entity/Q1> <http://www.w3.org/2000/01/rdf-schema#label> "universe"@en .
<http://www.wikidata.org/entity/Q1> <http://www.w3.org/2004/02/skos/core#altLabel> "cosmos"@en .
<http://www.wikidata.org/entity/Q1> <http://schema.org/description> "everything"@en .
<http://www.wikidata.org/entity/Q1> <http://www.wikidata.org/prop/direct/P9999> <http://www.wikidata.org/entity/Q2> .
<http://www.wikidata.org/entity/Q1> <http://www.wikidata.org/prop/direct/P580> "-13798000000-00-00T00:00:00Z"^^<http://www.w3.org/2001/XMLSchema#dateTime> .
<http://www.wikidata.org/entity/P9999> <http://www.w3.org/2000/01/rdf-schema#label> "odd property"@en .
this line is not a triple
_:b1 <http://example.org/birthPlace> _:b2 .
_:b2 <http://example.org/birthPlace> "x"^^<http://example.org/t> .
<http://example.org/birthPlace> <http://www.w3.org/2000/01/rdf-schema#label> "place where born"@en .
"""


def test_ntriples_of_wikidata_and_of_other_vocabularies(tmp_path: Path) -> None:
    file = tmp_path / "a.nt"
    file.write_text(NT, encoding="utf-8")
    manifest = build_graph_index([file], "t")
    assert manifest.settings["formats"] == ["nt"]
    assert manifest.settings["skipped"]["count"] == 1
    assert manifest.settings["skipped"]["samples"][0][:2] == [str(file), 9]
    entity = names().entity(f"{WD}Q1")
    assert entity is not None
    assert (entity.label, entity.description) == ("universe", "everything")
    assert names().by_key("cosmos")[0].entity == entity
    assert names().by_key("universum") == []
    labels = {row.iri: row.label for row in names().properties()}
    assert labels[f"{WDT}P9999"] == "odd property"
    assert labels["http://example.org/birthPlace"] == "place where born"
    # Both lines speak of the same blank node.
    blank = {t.split()[2] for t in triples() if "birthPlace> <urn:atomr:blank" in t}
    assert blank <= {t.split()[0] for t in triples()}


def test_facts_join_what_ntriples_name(tmp_path: Path) -> None:
    nt = tmp_path / "a.nt"
    nt.write_text(NT, encoding="utf-8")
    facts = write_facts(tmp_path / "b.jsonl", [{"s": "universe", "p": "has part", "o": "galaxy"}])
    build_graph_index([facts, nt], "t")
    assert f"<{WD}Q1> <{WDT}P527> <urn:atomr:entity:galaxy>" in triples()


def test_loading_in_several_pieces_gives_the_same(copied_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(graph_build, "PIECE_TRIPLES", 2)
    monkeypatch.setattr(ntriples, "_CHUNK", 64)
    build_graph_index([copied_home / "a.nt"], "pieces")
    assert triples("pieces") == triples("whole")


def test_progress_reports_stages_and_bytes(tmp_path: Path) -> None:
    seen: list[BuildProgress] = []
    file = write_facts(tmp_path / "f.jsonl", [{"s": "a", "p": "b", "o": "c"}])
    build_graph_index([file], "t", progress=seen.append)
    assert [state.stage for state in seen][:2] == ["reading labels", "reading facts"]
    assert all(0 <= state.done <= state.total == file.stat().st_size for state in seen)
    assert seen[-1].triples == 1


def build_both(home: Path) -> None:
    (home / "a.nt").write_text(NT, encoding="utf-8")
    build_graph_index([home / "a.nt"], "whole")
    build_graph_index([write_facts(home / "old.jsonl", [{"s": "old", "p": "capital", "o": "x"}])], "old")


built_home, copied_home = home_fixtures(build_both)


@pytest.mark.parametrize("stage", ["reading labels", "reading facts", "indexing names", "loading names"])
def test_an_interrupted_build_leaves_the_old_index_whole_and_goes_on(copied_home: Path, stage: str) -> None:
    before = triples("old")

    def stop(state: BuildProgress) -> None:
        if state.stage == stage:
            raise KeyboardInterrupt

    file = write_facts(copied_home / "new.jsonl", [{"s": "new", "p": "capital", "o": "y"}])
    with pytest.raises(KeyboardInterrupt):
        build_graph_index([file], "old", progress=stop)
    assert triples("old") == before
    seen: list[BuildProgress] = []
    build_graph_index([file], "old", progress=seen.append)
    assert any("<urn:atomr:entity:new>" in triple for triple in triples("old"))
    assert names("old").by_key("old") == [], "the new one takes its place"
    assert seen[-1].note == "resuming an unfinished build"
    assert {path.name for path in store.index_path("graph", "t").parent.iterdir()} == {"old", "whole"}


def test_cancellation_stops_the_build(tmp_path: Path) -> None:
    cancellation = Cancellation()
    cancellation.cancel()
    file = write_facts(tmp_path / "f.jsonl", [{"s": "a", "p": "b", "o": "c"}])
    with pytest.raises(Cancelled):
        build_graph_index([file], "t", cancellation=cancellation)
    assert not store.index_path("graph", "t").exists()


def test_bad_input_is_told(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none\.nt"):
        build_graph_index([tmp_path / "none.nt"], "t")
    with pytest.raises(InputError, match="no input"):
        build_graph_index([], "t")
    with pytest.raises(InputError, match="cannot name an index"):
        build_graph_index([tmp_path / "a"], "../t")
    only_names = write_facts(tmp_path / "f.jsonl", [{"s": "a", "p": "label", "o": "b"}])
    with pytest.raises(InputError, match="no facts"):
        build_graph_index([only_names], "t")
    assert not list_unfinished(), "there is nothing to go on with"
    facts = write_facts(tmp_path / "g.jsonl", [{"s": "a", "p": "b", "o": "c"}])
    with pytest.raises(InputError, match=r"g\.jsonl, line 1: not N-Triples"):
        build_graph_index([facts], "t", format="nt")


def test_a_damaged_name_database_is_told(build: Build) -> None:
    build({"s": "a", "p": "capital", "o": "x"})
    file = store.index_path("graph", "t") / "names.sqlite"
    file.write_bytes(b"nonsense" * 100)
    with pytest.raises(KnowledgeIndexError, match=r"names\.sqlite"):
        names()


@pytest.mark.parametrize(("code", "call"), [(errno.ENOSPC, 1), (errno.ENOSPC, 2), (errno.ENOSPC, 4), (errno.EIO, 2)])
def test_a_disk_that_fails_is_told_and_the_build_goes_on(
    copied_home: Path, monkeypatch: pytest.MonkeyPatch, code: int, call: int
) -> None:
    file = copied_home / "a.nt"
    monkeypatch.setattr(graph_build, "PIECE_TRIPLES", 1)
    monkeypatch.setattr(ntriples, "_CHUNK", 64)
    calls = 0
    write = Spool.write

    def failing(spool: Spool, number: int) -> None:
        nonlocal calls
        calls += 1
        write(spool, number)
        if calls == call:
            raise OSError(code, os.strerror(code))

    with monkeypatch.context() as patch:
        patch.setattr(Spool, "write", failing)
        with pytest.raises(KnowledgeIndexError, match="the graph index 't' cannot be written"):
            build_graph_index([file], "t")
    assert not store.index_path("graph", "t").exists()
    build_graph_index([file], "t")
    assert triples("t") == triples("whole")
    assert store.read_manifest(store.index_path("graph", "t")).counts == (
        store.read_manifest(store.index_path("graph", "whole")).counts
    )


@pytest.mark.parametrize("address", ["http://a/%zz", "http://[x", "http://a/ü"])
def test_an_address_that_is_no_strict_iri_stops_no_build(tmp_path: Path, address: str) -> None:
    value = {"value": address, "type": "string"}
    claim = {"mainsnak": {"snaktype": "value", "property": "P856", "datavalue": value, "datatype": "url"}, "id": "Q1$a"}
    file = tmp_path / "a.json"
    file.write_text(json.dumps([{"type": "item", "id": "Q1", "claims": {"P856": [claim | {"rank": "normal"}]}}]))
    build_graph_index([file], "t", format="wikidata-json")
    assert triples() == {f"<{WD}Q1> <{WDT}P856> <{address}>"}
