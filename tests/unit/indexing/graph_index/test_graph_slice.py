"""Slices of Wikidata: what is kept of JSON dumps, truthy and full RDF, and how ranks and qualifiers are honoured."""

from __future__ import annotations

import bz2
import json
from pathlib import Path
from typing import Any

import pytest
from support.graph_contents import names, triples
from support.homes import home_fixtures
from support.places import SHARED
from support.wikidata_items import WD, WDT

from atomr_local.errors import InputError
from atomr_local.indexing import store
from atomr_local.indexing.graph_index.bulk_loading import QUALIFIER_GRAPH, STORE
from atomr_local.indexing.graph_index.ids import HIGHEST, IdSet, read_entity_ids, read_property_ids
from atomr_local.indexing.graph_index.index import build_graph_index

XSD = "http://www.w3.org/2001/XMLSchema#"


FIXTURES = SHARED / "fixtures" / "wikidata"


@pytest.fixture
def fixtures() -> Path:
    if not FIXTURES.is_dir():
        pytest.skip(f"{FIXTURES} is not there")
    return FIXTURES


def texts(**by_language: str) -> dict[str, Any]:
    return {tag: {"language": tag, "value": text} for tag, text in by_language.items()}


def snak(pid: str, kind: str, value: Any, datatype: str) -> dict[str, Any]:
    return {
        "snaktype": "value", "property": pid, "datavalue": {"value": value, "type": kind}, "datatype": datatype,
    }  # fmt: skip


def item(pid: str, qid: str) -> dict[str, Any]:
    return snak(
        pid, "wikibase-entityid", {"entity-type": "item", "id": qid, "numeric-id": int(qid[1:])}, "wikibase-item"
    )


def day(pid: str, time: str, precision: int = 11) -> dict[str, Any]:
    return snak(pid, "time", {"time": time, "precision": precision}, "time")


def claim(main: dict[str, Any], rank: str = "normal", *qualifiers: dict[str, Any], number: int = 1) -> dict[str, Any]:
    grouped: dict[str, list[dict[str, Any]]] = {}
    for qualifier in qualifiers:
        grouped.setdefault(qualifier["property"], []).append(qualifier)
    node = f"Q0${number:08d}-0000-0000-0000-000000000000"
    return {"mainsnak": main, "type": "statement", "id": node, "rank": rank, "qualifiers": grouped}


def entity(qid: str, label: str, *claims: dict[str, Any], **more: Any) -> dict[str, Any]:
    grouped: dict[str, list[dict[str, Any]]] = {}
    for one in claims:
        grouped.setdefault(one["mainsnak"]["property"], []).append(one)
    base = {"type": "item", "id": qid, "labels": texts(en=label), "descriptions": {}, "aliases": {}, "claims": grouped}
    return base | {"sitelinks": {}} | more


GERMANY = entity(
    "Q183", "Germany",
    claim(item("P36", "Q64"), "preferred", day("P580", "+1990-10-03T00:00:00Z"), number=1),
    claim(item("P36", "Q586"), "normal", day("P580", "+1949-05-23T00:00:00Z"), day("P582", "+1990-10-03T00:00:00Z"), number=2),
    claim(item("P36", "Q90"), "deprecated", day("P580", "+1800-01-01T00:00:00Z", 9), number=3),
    claim(item("P31", "Q6256"), number=4),
    claim(snak("P213", "string", "0000 0001 2193 0463", "external-id"), number=5),
    claim(snak("P41", "string", "Flag.svg", "commonsMedia"), number=6),
    claim(snak("P2046", "quantity", {"amount": "+357587.77", "unit": WD + "Q712226"}, "quantity"), number=7),
    claim(snak("P2219", "quantity", {"amount": "+2", "unit": WD + "Q999"}, "quantity"), number=8),
    claim(day("P571", "+0962-00-00T00:00:00Z", 9), number=9),
    claim({"snaktype": "somevalue", "property": "P35"}, number=10),
    claim(snak("P1448", "monolingualtext", {"text": "Deutschland", "language": "de"}, "monolingualtext"), number=11),
    claim(snak("P856", "string", "https://www.deutschland.de/", "url"), number=12),
    labels=texts(en="Germany", de="Deutschland"), descriptions=texts(en="country in Central Europe"),
    aliases={"en": [{"language": "en", "value": "FRG"}]},
    sitelinks={"enwiki": {"site": "enwiki", "title": "Germany"}, "dewiki": {"site": "dewiki", "title": "Deutschland"}},
)  # fmt: skip
DUMP = [
    entity("Q6256", "country", claim(item("P279", "Q56061")), claim(item("P31", "Q1234"))),
    entity("Q1234", "kind of place"), entity("Q56061", "territory"), entity("Q5555", "never pointed to"),
    GERMANY,
    entity("Q64", "Berlin", claim(item("P31", "Q515")), claim(item("P17", "Q183"), number=2), aliases={"en": [{"language": "en", "value": "Berlin, Germany"}]}),
    entity("Q586", "Bonn", claim(item("P31", "Q515"))), entity("Q515", "city", claim(item("P279", "Q1"))),
    entity("Q999", "widget"), entity("Q90", "Paris", claim(item("P31", "Q515"))),
    {"type": "property", "id": "P36", "datatype": "wikibase-item", "labels": texts(en="capital"), "claims": {},
     "aliases": {"en": [{"language": "en", "value": "seat"}]}, "descriptions": texts(en="seat of government")},
]  # fmt: skip


def write_dump(path: Path, entities: list[dict[str, Any]]) -> Path:
    lines = ",\n".join(json.dumps(one, separators=(",", ":")) for one in entities)
    path.write_bytes(bz2.compress(f"[\n{lines}\n]\n".encode()))
    return path


def build(home: Path) -> None:
    wanted = home / "wanted.txt"
    wanted.write_text("# entities\nQ183 Germany\n\nhttp://www.wikidata.org/entity/Q77\n")
    build_graph_index([write_dump(home / "dump.json.bz2", DUMP)], "t", entities=wanted)


built_home, copied_home = home_fixtures(build)


@pytest.fixture
def built(copied_home: Path) -> store.Manifest:
    return store.read_manifest(store.index_path("graph", "t"))


def facts(graph: set[str], subject: str) -> set[str]:
    return {
        triple.replace(WD, "wd:").replace(WDT, "wdt:")
        for triple in graph
        if triple.startswith(f"<{WD}{subject}> <{WDT}")
    }


def qualified(name: str = "t") -> set[str]:
    from pyoxigraph import NamedNode, Store

    graph = Store.read_only(str(store.index_path("graph", name) / STORE))
    return {str(quad.triple) for quad in graph.quads_for_pattern(None, None, None, NamedNode(QUALIFIER_GRAPH))}


def test_the_slice_has_statements_of_its_subjects_and_names_and_types_of_what_they_point_to(
    built: store.Manifest,
) -> None:
    graph = triples()
    assert facts(graph, "Q183") == {
        "<wd:Q183> <wdt:P36> <wd:Q64>", "<wd:Q183> <wdt:P31> <wd:Q6256>", '<wd:Q183> <wdt:P1448> "Deutschland"@de',
        f'<wd:Q183> <wdt:P2046> "357587.77"^^<{XSD}decimal>', f'<wd:Q183> <wdt:P2219> "2"^^<{XSD}decimal>',
        f'<wd:Q183> <wdt:P571> "0962"^^<{XSD}gYear>', "<wd:Q183> <wdt:P856> <https://www.deutschland.de/>",
    }  # fmt: skip
    assert facts(graph, "Q64") == {"<wd:Q64> <wdt:P31> <wd:Q515>"}
    assert facts(graph, "Q6256") == {"<wd:Q6256> <wdt:P279> <wd:Q56061>", "<wd:Q6256> <wdt:P31> <wd:Q1234>"}
    assert facts(graph, "Q515") == set()
    found = names()
    labels = {q: row.label for q in ("Q64", "Q586", "Q515", "Q56061", "Q1234", "Q999") if (row := found.entity(WD + q))}
    assert labels == {"Q64": "Berlin", "Q586": "Bonn", "Q515": "city", "Q56061": "territory", "Q1234": "kind of place", "Q999": "widget"}  # fmt: skip
    assert found.entity(WD + "Q5555") is None
    assert found.by_key("berlin germany")[0].entity.label == "Berlin"
    germany = found.entity(WD + "Q183")
    assert germany is not None
    assert (germany.label, germany.description, germany.sitelinks) == ("Germany", "country in Central Europe", 2)
    assert found.by_key("deutschland") == []
    capital = next(row for row in found.properties() if row.iri == WDT + "P36")
    assert (capital.label, capital.description, set(capital.names)) == (
        "capital",
        "seat of government",
        {"capital", "seat"},
    )
    assert built.settings["slice"] == {"entities": 2, "titles_not_found": 0}


def test_numbers_are_shown_with_their_units(built: store.Manifest) -> None:
    found = names()
    assert found.statement_text(f"{WD}Q183", f"{WDT}P2046", f'"357587.77"^^<{XSD}decimal>') == "357587.77 km²"
    assert found.statement_text(f"{WD}Q183", f"{WDT}P2219", f'"2"^^<{XSD}decimal>') == "2 widget"


def test_ranks_decide_the_plain_facts_and_qualified_statements_lie_apart(built: store.Manifest) -> None:
    kept = qualified()
    assert {t.split(" ")[2] for t in kept if "prop/statement/P36>" in t} == {f"<{WD}Q64>", f"<{WD}Q586>"}
    assert (
        f'<{WD}statement/Q0-00000002-0000-0000-0000-000000000000> <http://www.wikidata.org/prop/qualifier/P582> "1990-10-03"^^<{XSD}date>'
        in kept
    )
    assert built.counts["qualifiers"] == len(kept) == 7


def test_another_language_and_an_allow_list(tmp_path: Path) -> None:
    wanted, allowed = tmp_path / "w", tmp_path / "p"
    wanted.write_text("Q183")
    allowed.write_text("P36\nP213 an identifier, asked for\n")
    build_graph_index(
        [write_dump(tmp_path / "d", DUMP)], "t", entities=wanted, properties=allowed, language="de"
    )  # fmt: skip
    assert facts(triples(), "Q183") == {
        "<wd:Q183> <wdt:P36> <wd:Q64>", "<wd:Q183> <wdt:P31> <wd:Q6256>", '<wd:Q183> <wdt:P213> "0000 0001 2193 0463"',
    }  # fmt: skip
    germany = names().entity(f"{WD}Q183")
    assert germany is not None
    assert germany.label == "Deutschland"


def test_a_whole_dump_without_a_slice(tmp_path: Path) -> None:
    manifest = build_graph_index([write_dump(tmp_path / "d", DUMP)], "t")
    assert manifest.settings["formats"] == ["wikidata-json"]
    assert facts(triples(), "Q64") == {"<wd:Q64> <wdt:P31> <wd:Q515>", "<wd:Q64> <wdt:P17> <wd:Q183>"}
    assert not any("P213" in triple or "P41>" in triple for triple in triples())


def test_values_that_are_not_plain(tmp_path: Path) -> None:
    def place(globe: str | None) -> dict[str, Any]:
        value = {"latitude": -43.3, "longitude": -11.4, "globe": globe}
        return snak("P625", "globecoordinate", value, "globe-coordinate")

    unknown = {"snaktype": "somevalue", "property": "P35"}
    dump = [
        entity("Q1", "crater", claim(place(WD + "Q405"), number=1), claim(place("nowhere"), number=2)),
        entity("Q2", "town", claim(place(WD + "Q2"), number=1), claim(place(None), number=2)),
        entity("Q3", "state", claim(unknown, "preferred", number=1), claim(item("P35", "Q4"), number=2),
               claim({"snaktype": "novalue", "property": "P36"}, number=3), claim(item("P36", "Q4"), number=4)),
        entity("Q4", "someone", claim(
            snak("P1", "wikibase-entityid", {"entity-type": "property", "numeric-id": 31}, "wikibase-property"))),
        entity("Q405", "Moon"),
    ]  # fmt: skip
    build_graph_index([write_dump(tmp_path / "dump.json.bz2", dump)], "t")
    graph = triples()
    point = "Point(-11.4 -43.3)"
    wkt = "http://www.opengis.net/ont/geosparql#wktLiteral"
    assert {one for one in graph if f"<{WD}Q1> <{WDT}P625>" in one} == {
        f'<{WD}Q1> <{WDT}P625> "<{WD}Q405> {point}"^^<{wkt}>'
    }
    assert facts(graph, "Q2") == {f'<wd:Q2> <wdt:P625> "{point}"^^<{wkt}>'}
    assert facts(graph, "Q3") == {"<wd:Q3> <wdt:P36> <wd:Q4>"}  # an unknown value that is preferred goes first
    assert facts(graph, "Q4") == {"<wd:Q4> <wdt:P1> <wd:P31>"}
    shown = names().statement_text(f"{WD}Q1", f"{WDT}P625", f'"<{WD}Q405> {point}"^^<{wkt}>')
    assert shown == f"{point} Moon"


def test_hostile_entities_do_no_harm(tmp_path: Path) -> None:
    bad: list[dict[str, Any]] = [
        {"id": "Q1", "labels": texts(en='a" . <x:a> <x:b> <x:c> .\n\u2028'), "claims": {"P1": "no list", "P2": [None, 3, {}]}},
        entity("Q2", "b", claim(snak("P1> <x:b", "string", "v", "string")), claim(item("P5", "Q1"), number=2) | {"id": 'Q2$"> <x:y>'}),
        entity("Q3", "c", claim(snak("P7", "string", "https://x/<>", "url")), claim(day("P8", "+99999999999999999-01-01T00:00:00Z"))),
        entity("Q4", "d", claim(snak("P9", "quantity", {"amount": "1e999999", "unit": 5}, "quantity")), aliases={"en": "no list"}),
        entity("Q5", "e", claim(snak("P10", "monolingualtext", {"text": "t\ud800", "language": '"@en .'}, "x")), labels={"en": None}),
        entity("Q6", "f", claim(day("P11", "-13798000000-00-00T00:00:00Z", 3)), claim(day("P12", "-0044-03-15T00:00:00Z"), number=2),
               claim(day("P13", "+1950-00-00T00:00:00Z", 8), number=3), claim(day("P14", "+1850-00-00T00:00:00Z", 7), number=4)),
    ]  # fmt: skip
    build_graph_index([write_dump(tmp_path / "d", bad)], "t")
    graph = {triple.replace(WDT, "wdt:").replace(WD, "wd:") for triple in triples()}
    assert not any("<x:" in triple.split('"')[0] for triple in graph)
    assert "<wd:Q2> <wdt:P5> <wd:Q1>" in graph
    assert '<wd:Q3> <wdt:P7> "https://x/<>"' in graph
    assert f'<wd:Q6> <wdt:P11> "-13797999999"^^<{XSD}gYear>' in graph
    assert f'<wd:Q6> <wdt:P12> "-0043-03-15"^^<{XSD}date>' in graph
    assert {'<wd:Q6> <wdt:P13> "1950s"', '<wd:Q6> <wdt:P14> "19th century"'} <= graph


RDF = f"""\
<{WD}Q183> <http://www.w3.org/2000/01/rdf-schema#label> "Germany"@en .
<{WD}Q183> <{WDT}P36> <{WD}Q64> .
<{WD}Q183> <{WDT}P213> "0000" .
<{WD}Q183> <{WDT}P31> <{WD}Q6256> .
<{WD}Q183> <{WDT}P35> _:unknown .
<{WD}Q183> <http://www.wikidata.org/prop/P36> <{WD}statement/Q183-A> .
<{WD}statement/Q183-A> <http://wikiba.se/ontology#rank> <http://wikiba.se/ontology#PreferredRank> .
<{WD}statement/Q183-A> <http://www.wikidata.org/prop/statement/P36> <{WD}Q64> .
<{WD}statement/q183-B> <http://wikiba.se/ontology#rank> <http://wikiba.se/ontology#NormalRank> .
<{WD}statement/q183-B> <http://www.wikidata.org/prop/statement/P36> <{WD}Q586> .
<{WD}statement/q183-B> <http://www.wikidata.org/prop/qualifier/P582> "1990-10-03T00:00:00Z"^^<{XSD}dateTime> .
<{WD}statement/Q183-C> <http://wikiba.se/ontology#rank> <http://wikiba.se/ontology#DeprecatedRank> .
<{WD}statement/Q183-C> <http://www.wikidata.org/prop/statement/P30> <{WD}Q90> .
<{WD}statement/Q183-D> <http://www.wikidata.org/prop/statement/P30> <{WD}Q46> .
<https://en.wikipedia.org/wiki/Germany> <http://schema.org/about> <{WD}Q183> .
<https://en.wikipedia.org/wiki/Germany> <http://schema.org/name> "Germany"@en .
<{WD}Q64> <http://www.w3.org/2000/01/rdf-schema#label> "Berlin"@en .
<{WD}Q64> <{WDT}P31> <{WD}Q515> .
<{WD}Q64> <{WDT}P17> <{WD}Q183> .
<{WD}Q515> <http://www.w3.org/2000/01/rdf-schema#label> "city"@en .
<{WD}Q5555> <http://www.w3.org/2000/01/rdf-schema#label> "unrelated"@en .
<{WD}Q5555> <{WDT}P31> <{WD}Q4444> .
<{WD}P213> <http://wikiba.se/ontology#propertyType> <http://wikiba.se/ontology#ExternalId> .
<{WD}P36> <http://www.w3.org/2000/01/rdf-schema#label> "capital"@en .
rubbish
"""


@pytest.mark.parametrize("suffix", ["nt", "ttl"])
def test_a_slice_of_rdf_with_and_without_plain_facts(tmp_path: Path, suffix: str) -> None:
    file, wanted = tmp_path / f"dump.{suffix}", tmp_path / "w"
    file.write_text(RDF if suffix == "nt" else "@prefix wd: <http://w> .\n" + RDF.replace("rubbish\n", ""))
    wanted.write_text("Q183\n")
    manifest = build_graph_index([file], "t", entities=wanted)
    graph = triples()
    assert facts(graph, "Q183") == {
        "<wd:Q183> <wdt:P36> <wd:Q64>", "<wd:Q183> <wdt:P31> <wd:Q6256>", "<wd:Q183> <wdt:P30> <wd:Q46>",
    }  # fmt: skip
    assert facts(graph, "Q64") == {"<wd:Q64> <wdt:P31> <wd:Q515>"}
    assert {t.split(" ")[2] for t in qualified() if "prop/statement/" in t} == {f"<{WD}Q586>"}
    found = names()
    assert {(found.entity(WD + q) or found).label for q in ("Q183", "Q64", "Q515")} == {"Germany", "Berlin", "city"}  # type: ignore[union-attr]
    assert found.entity(f"{WD}Q5555") is None
    germany = found.entity(f"{WD}Q183")
    assert germany is not None
    assert germany.sitelinks == 1
    # How often a name or a statement counts does not depend on its being said in two forms.
    assert germany.statements == 3
    assert manifest.counts["triples"] == 4


@pytest.mark.parametrize("name", ["Q57160439_truthy.ttl", "Q57160439_not_truthy.ttl"])
def test_turtle_of_wikidata_as_tools_write_it(fixtures: Path, name: str) -> None:
    build_graph_index([fixtures / name], "t")
    graph = facts(triples(), "Q57160439")
    assert len(graph) == 24
    assert {"<wd:Q57160439> <wdt:P31> <wd:Q13442814>", '<wd:Q57160439> <wdt:P478> "93"'} <= graph


def test_json_of_wikidata_as_tools_write_it(fixtures: Path) -> None:
    manifest = build_graph_index([fixtures / "P100.jsonl", fixtures / "Q571604390.jsonl"], "t")
    assert manifest.settings["skipped"]["count"] == 0
    graph = facts(triples(), "Q57160439")
    assert "<wd:Q57160439> <wdt:P31> <wd:Q13442814>" in graph
    assert not any("wdt:P356>" in triple for triple in graph)  # an external identifier
    entity = names().entity(f"{WD}Q57160439")
    assert entity is not None
    assert entity.label.startswith("A quantitative test")


@pytest.mark.slow
def test_lists_of_ids(tmp_path: Path) -> None:
    file = tmp_path / "ids"
    file.write_text("\ufeffQ42\nwd:Q7\n<http://www.wikidata.org/entity/Q9>\thello\n# Q1\n", encoding="utf-8")
    assert list(read_entity_ids(file)) == [7, 9, 42]
    file.write_text("P31\nQ5\n")
    with pytest.raises(InputError, match=r"ids, line 2: no P-id"):
        read_property_ids(file)
    file.write_text("# nothing\n")
    with pytest.raises(InputError, match=r"contains no Q-id"):
        read_entity_ids(file)
    file.write_text("Q999999999999\n")
    with pytest.raises(InputError, match="too great"):
        read_entity_ids(file)
    ids = IdSet([1, 8, 140_000_000, HIGHEST + 1])
    assert (list(ids), len(ids), 2 in ids, HIGHEST + 1 in ids) == ([1, 8, 140_000_000], 3, False, False)
    assert list(IdSet.from_bytes(ids.to_bytes())) == list(ids)


def test_a_slice_of_nothing_is_told(tmp_path: Path) -> None:
    wanted = tmp_path / "w"
    wanted.write_text("Q31337\n")
    with pytest.raises(InputError, match="no facts"):
        build_graph_index([write_dump(tmp_path / "d", DUMP)], "t", entities=wanted)
    with pytest.raises(InputError, match="both"):
        build_graph_index([wanted], "t", entities=wanted, text_index="x")


def text_index(home: Path, articles: list[dict[str, Any]]) -> None:
    from support.fake_embedder import FakeEmbedder

    from atomr_local.indexing.text_index.index import build_text_index

    file = home / "articles.jsonl"
    file.write_text("".join(json.dumps(article) + "\n" for article in articles))
    build_text_index([file], "articles", embedder=FakeEmbedder())


@pytest.mark.parametrize("kind", ["json", "nt"])
def test_the_slice_of_a_text_index_by_id_page_or_label(tmp_path: Path, kind: str) -> None:
    articles = [("Germany", None), ("Some article", "Q64"), ("City", None), ("Nowhere at all", None)]
    text_index(
        tmp_path,
        [{"id": str(n), "title": t, "text": t, **({"qid": q} if q else {})} for n, (t, q) in enumerate(articles)],
    )
    file = write_dump(tmp_path / "d.json.bz2", DUMP)
    if kind == "nt":
        file = tmp_path / "d.nt"
        file.write_text(RDF)
    manifest = build_graph_index([file], "t", text_index="articles")
    graph = triples()
    assert "<wd:Q183> <wdt:P36> <wd:Q64>" in facts(graph, "Q183")
    assert facts(graph, "Q64") == {"<wd:Q64> <wdt:P31> <wd:Q515>", "<wd:Q64> <wdt:P17> <wd:Q183>"}
    assert manifest.settings["slice"] == {"entities": 3, "titles_not_found": 1}
    assert names().entity(f"{WD}Q5555") is None


def test_of_several_entities_with_the_title_as_label_that_with_most_pages_is_taken(tmp_path: Path) -> None:
    from atomr_local.indexing.graph_index.subset import Titles

    found = IdSet()
    with Titles(tmp_path) as titles:
        titles.want(iter([("Mercury", ""), ("Venus", ""), ("Mars", "Q111")]), found)
        for number, links in ((9, 1), (308, 200), (7, 200), (5, 0)):
            titles.label("mercury", number, links)
        titles.label("Venus", 3, 500)
        titles.page("Venus", 313)
        assert (list(titles.resolved()[0]), titles.resolved()[1], list(found)) == ([7, 313], 0, [111])
