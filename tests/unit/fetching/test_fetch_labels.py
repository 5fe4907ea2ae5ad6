"""`atomr fetch wikidata --labels-for`, against an API on this machine; and what an index without labels says."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path
from urllib.parse import parse_qs

import click
import pytest
import support.faulty_server as faulty
from support.command_line import Atomr
from support.faulty_server import FaultyServer

from atomr_local.fetching.wikidata import unlabelled_in
from atomr_local.indexing.graph_index.index import build_graph_index
from atomr_local.indexing.store import index_path
from atomr_local.sources.graph import GraphSource
from atomr_local.sources.protocol import Request, Value
from atomr_local.system.cancellation import Cancellation
from atomr_local.tree.nodes import Operator

API = "/w/api.php"
NAMES = {"Q239": "Brussels", "Q11570": "kilogram", "P36": "capital", "P2067": "mass"}
FACTS = """
<http://www.wikidata.org/entity/Q31> <http://www.w3.org/2000/01/rdf-schema#label> "Belgium"@en .
<http://www.wikidata.org/entity/Q31> <http://www.wikidata.org/prop/direct/P36> <http://www.wikidata.org/entity/Q239> .
<http://base.example/entity/Q7> <http://www.wikidata.org/prop/direct/P36> <http://www.wikidata.org/entity/Q239> .
"""


def api(handler: faulty.Handler) -> bytes:
    asked = {name: values[0] for name, values in parse_qs(handler.path.partition("?")[2]).items()}
    assert set(asked["props"].split("|")) == {"info", "labels", "descriptions", "aliases", "datatype"}
    entities = {}
    for identifier in asked["ids"].split("|"):
        kind = "item" if identifier[0] == "Q" else "property"
        label = {"en": {"language": "en", "value": NAMES[identifier]}}
        entities[identifier] = {"type": kind, "id": identifier, "labels": label}
    return json.dumps({"entities": entities}).encode()


@pytest.fixture
def server(server: FaultyServer) -> FaultyServer:
    server.pages[API] = api
    return server


@pytest.fixture
def labels(server: FaultyServer, capsys: pytest.CaptureFixture[str]) -> Atomr:
    """The command, up to the index that lacks them."""
    return Atomr(capsys, "fetch", "wikidata", "--base-url", server.url + API, "--yes", "--labels-for")


@pytest.fixture
def facts(tmp_path: Path) -> Path:
    file = tmp_path / "facts.nt"
    file.write_text(FACTS, encoding="utf-8")
    return file


def capital() -> tuple[list[str], str]:
    with closing(GraphSource.open(index_path("graph", "t"))) as source:
        wanted = (Value("Belgium"), Value("capital"))
        request = Request("What is the capital of Belgium?", "Belgium capital", Operator.RELATE, wanted)
        found = source.retrieve(request, Cancellation())
    return [value.text for value in found.values], "\n".join([*found.dropped, *(e.text for e in found.evidence)])


def test_the_labels_that_lack_are_fetched_and_built_in(
    facts: Path, server: FaultyServer, atomr: Atomr, labels: Atomr
) -> None:
    told = atomr("graph", "build", str(facts), "--name", "t").err
    assert "3 entities, units and properties have no label in en, such as Q7, Q239, P36" in told
    assert "atomr fetch wikidata --labels-for t" in told
    answers, notes = capital()
    assert answers == ["Q239 (no label)"], "an id is no name"
    assert "Belgium — capital: Q239 (no label)." in notes
    assert "Q239: no label in this graph: `atomr fetch wikidata --labels-for t` adds labels" in notes

    options = ("t", "--build", "t", "--contact", "you@example.org")
    assert "1 without a label are not Wikidata's" in labels(*options).err
    assert [request[0] for request in server.requests] == ["GET", "GET"], "one for items, one for properties"
    answers, notes = capital()
    assert answers == ["Brussels"]
    assert "no label" not in notes
    found = unlabelled_in("t")
    assert (len(found.items), len(found.properties), found.others) == (0, 0, 1)

    labels(*options)
    assert len(server.requests) == 2, "nothing lacks any more"


def test_without_build_the_command_is_told(facts: Path, labels: Atomr, tmp_path: Path) -> None:
    build_graph_index([facts], "t")
    target = tmp_path / "labels.jsonl"
    assert labels("t", "--to", str(target)).out == f"atomr graph build {facts} {target} --name t\n"
    assert [json.loads(line)["id"] for line in target.read_text().splitlines()] == ["Q239", "P36"]


def test_what_cannot_be_done_is_told_before_anything_is_asked(facts: Path, server: FaultyServer, labels: Atomr) -> None:
    assert "no graph index named 'none'" in labels("none", status=1).err
    labels("t", "--entities", str(facts), status=2)
    labels("t", "--build", "other", status=2)
    assert not server.requests


def test_units_without_a_label_are_counted(tmp_path: Path) -> None:
    amount = {"type": "quantity", "value": {"amount": "+3", "unit": "http://www.wikidata.org/entity/Q999"}}
    snak = {"snaktype": "value", "property": "P2067", "datavalue": amount}
    item = {"type": "item", "id": "Q1", "labels": {"en": {"language": "en", "value": "thing"}}}
    file = tmp_path / "a.jsonl"
    file.write_text(json.dumps(item | {"claims": {"P2067": [{"mainsnak": snak, "rank": "normal", "id": "Q1$1"}]}}))
    manifest = build_graph_index([file], "t")
    assert manifest.settings["unlabelled"]["count"] == 2
    found = unlabelled_in("t")
    assert (list(found.items), list(found.properties)) == ([999], [2067])


def test_a_refusal_leaves_a_part_that_is_gone_on_with(facts: Path, server: FaultyServer, labels: Atomr) -> None:
    build_graph_index([facts], "t")
    server.faults[API] = [faulty.status(403)]
    assert "status 403" in click.unstyle(labels("t", status=1).err)
    labels("t")
