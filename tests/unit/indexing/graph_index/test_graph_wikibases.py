"""Graphs of Wikibases other than Wikidata's, by their own prefixes; and what is passed over, counted and named."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.graph_contents import names, triples
from support.wikidata_items import WD, WDT

from atomr_local.errors import InputError
from atomr_local.indexing.builds.publishing import list_unfinished
from atomr_local.indexing.graph_index.index import build_graph_index
from atomr_local.indexing.store import list_indexes

SDC, OWN = "https://commons.wikimedia.org/entity/", "http://base.example/wb/"
PREFIXES = f"""
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix schema: <http://schema.org/> .
@prefix wikibase: <http://wikiba.se/ontology#> .
@prefix wd: <{WD}> . @prefix wdt: <{WDT}> .
@prefix p: <http://www.wikidata.org/prop/> . @prefix ps: <http://www.wikidata.org/prop/statement/> .
@prefix pq: <http://www.wikidata.org/prop/qualifier/> .
@prefix sdc: <{SDC}> . @prefix sdcs: <{SDC}statement/> .
@prefix sdcdata: <https://commons.wikimedia.org/wiki/Special:EntityData/> .
@prefix own: <{OWN}entity/> . @prefix ownt: <{OWN}prop/direct/> . @prefix owns: <{OWN}entity/statement/> .
@prefix ownp: <{OWN}prop/> . @prefix ownps: <{OWN}prop/statement/> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
"""
COMMONS = (
    PREFIXES
    + """
sdcdata:M5 schema:about sdc:M5 ; schema:version "5"^^xsd:integer .
sdc:M5 a wikibase:Mediainfo ; rdfs:label "Tower of Belem"@en ; schema:caption "Tower of Belem"@en ;
    wdt:P180 wd:Q215003 ; wdt:P170 _:someone ; p:P6731 sdcs:M5-655486D9-D2CD-427E-99BD-BD5F8986FFDE .
sdcs:M5-655486D9-D2CD-427E-99BD-BD5F8986FFDE a wikibase:Statement ; wikibase:rank wikibase:NormalRank ;
    ps:P6731 wd:Q63348040 ; pq:P580 "2009-04-28T00:00:00Z"^^xsd:dateTime .
wd:Q215003 rdfs:label "Belem Tower"@en .
wd:L7 wikibase:lemma "tower"@en .
"""
)


def written(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def test_structured_data_of_commons_is_taken_and_the_rest_is_named(tmp_path: Path) -> None:
    manifest = build_graph_index([written(tmp_path / "c.ttl", COMMONS)], "t")
    found = triples()
    assert f"<{SDC}M5> <{WDT}P180> <{WD}Q215003>" in found
    assert f"<{SDC}M5> <{WDT}P6731> <{WD}Q63348040>" in found
    assert f'<{SDC}M5> <http://www.w3.org/2000/01/rdf-schema#label> "Tower of Belem"@en' in found
    assert not [line for line in found if "Special:EntityData" in line or "wikiba.se" in line or "caption" in line]
    assert manifest.counts["triples"] == 2
    assert manifest.counts["qualifiers"] == 3
    assert names().by_key("tower of belem")[0].entity.iri == f"{SDC}M5"
    assert manifest.settings["passed_over"] == {
        "statements of an unknown value or none": 1, "triples about lexemes": 1,
    }  # fmt: skip


def test_any_wikibase_keeps_its_own_prefix(tmp_path: Path) -> None:
    text = (
        PREFIXES
        + f"""
own:Q1 rdfs:label "Acme"@en ; ownt:P3 own:Q2 ; ownp:P4 owns:Q1-AB , owns:Q1-CD .
own:Q2 rdfs:label "Springfield"@en . own:P3 rdfs:label "seat"@en .
owns:Q1-AB wikibase:rank wikibase:PreferredRank ; ownps:P4 "new" .
owns:Q1-CD wikibase:rank wikibase:NormalRank ; ownps:P4 "old" .
<{OWN}reference/{"a" * 40}> ownp:P9 "reference" .
"""
    )
    build_graph_index([written(tmp_path / "o.ttl", text)], "t")
    found = {line for line in triples() if "rdf-schema#" not in line}
    assert found == {
        f"<{OWN}entity/Q1> <{OWN}prop/direct/P3> <{OWN}entity/Q2>",
        f'<{OWN}entity/Q1> <{OWN}prop/direct/P4> "new"',
    }
    assert {row.iri: row.label for row in names().properties()}[f"{OWN}prop/direct/P3"] == "seat"


def test_other_vocabularies_are_no_wikibase(tmp_path: Path) -> None:
    text = "<http://x.example/value/5> <http://x.example/entity/has> <http://x.example/entity/thing> .\n"
    build_graph_index([written(tmp_path / "x.nt", text)], "t")
    assert triples() == {"<http://x.example/value/5> <http://x.example/entity/has> <http://x.example/entity/thing>"}


def test_media_in_json_are_those_of_commons(tmp_path: Path) -> None:
    snak = {
        "snaktype": "value", "property": "P180",
        "datavalue": {"type": "wikibase-entityid", "value": {"entity-type": "item", "id": "Q2"}},
    }  # fmt: skip
    unknown = {"snaktype": "somevalue", "property": "P170"}
    media = {
        "type": "mediainfo", "id": "M7", "labels": {"en": {"language": "en", "value": "A photo"}},
        "statements": {
            "P180": [{"mainsnak": snak, "rank": "normal", "id": "M7$1"}],
            "P170": [{"mainsnak": unknown, "rank": "normal", "id": "M7$2"}],
        },
    }  # fmt: skip
    manifest = build_graph_index([written(tmp_path / "m.json", json.dumps(media, indent=1))], "t")
    assert f"<{SDC}M7> <{WDT}P180> <{WD}Q2>" in triples()
    assert manifest.settings["passed_over"] == {"statements of an unknown value or none": 1}
    item = written(tmp_path / "i.txt", "Q7\n")  # the number of an item is not that of a medium
    with pytest.raises(InputError, match="no facts"):
        build_graph_index([tmp_path / "m.json"], "s", entities=item)


def test_a_file_of_lexemes_says_what_it_is_and_leaves_nothing(tmp_path: Path) -> None:
    file = written(tmp_path / "l.ttl", PREFIXES + 'wd:L1 wikibase:lemma "a"@en . wd:L1-F1 rdfs:label "as"@en .')
    with pytest.raises(InputError, match=r"2 triples about lexemes were passed over"):
        build_graph_index([file], "t")
    assert not list_unfinished()
    assert not list_indexes()


def test_a_damaged_input_leaves_no_build_that_could_not_go_on(tmp_path: Path) -> None:
    good = written(tmp_path / "a.jsonl", '{"s": "a", "p": "b", "o": "c"}\n')
    bad = written(tmp_path / "b.nt", "<a:b> <a:c> <a:d> .\n" + "x" * (17 << 20))
    with pytest.raises(InputError, match=r"b\.nt"):
        build_graph_index([good, bad], "t", format="auto")
    assert not list_unfinished()
