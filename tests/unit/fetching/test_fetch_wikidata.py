"""`atomr fetch wikidata`, against an API on this machine that misbehaves."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import click
import pytest
import support.faulty_server as faulty
from support.command_line import Atomr
from support.faulty_server import FaultyServer

from atomr_local.assistant.wishes import WikidataWish
from atomr_local.cli.fetch import fetch_wikidata, wikidata, wikidata_wish
from atomr_local.errors import AtomrError
from atomr_local.fetching import wikidata as slices
from atomr_local.fetching import wikidata as wikibase
from atomr_local.fetching.client import Client, FetchError, Limiter
from atomr_local.indexing.readers.base import Article
from atomr_local.indexing.readers.facts.json_lines import read_entities
from atomr_local.indexing.readers.lines import LineReader, Skipped
from atomr_local.indexing.store import index_path
from atomr_local.indexing.text_index.catalog import Catalog

API = "/w/api.php"


def snak(pid: str, value: Any, datatype: str = "wikibase-item") -> dict[str, Any]:
    kind = {"wikibase-item": "wikibase-entityid", "quantity": "quantity"}.get(datatype, "string")
    return {"snaktype": "value", "property": pid, "datavalue": {"value": value, "type": kind}, "datatype": datatype}


def item(number: int, *claims: dict[str, Any], page: str = "", **qualifiers: list[dict[str, Any]]) -> dict[str, Any]:
    grouped: dict[str, list[dict[str, Any]]] = {}
    for place, claim in enumerate(claims):
        statement = {
            "mainsnak": claim, "type": "statement", "id": f"Q{number}$S{place}", "rank": "normal",
            "qualifiers": qualifiers, "references": [{"snaks": {"P854": [snak("P854", "https://x.example", "url")]}}],
        }  # fmt: skip
        grouped.setdefault(claim["property"], []).append(statement)
    links = {"enwiki": {"site": "enwiki", "title": page, "badges": ["Q17437796"]}} if page else {}
    return {
        "pageid": number, "ns": 0, "lastrevid": 1, "type": "item", "id": f"Q{number}",
        "labels": {"en": {"language": "en", "value": f"thing {number}"}}, "descriptions": {}, "aliases": {},
        "claims": grouped, "sitelinks": links,
    }  # fmt: skip


def prop(number: int) -> dict[str, Any]:
    labels = {"en": {"language": "en", "value": f"property {number}"}}
    return {"type": "property", "datatype": "wikibase-item", "id": f"P{number}", "labels": labels, "claims": {}}


def link(number: int) -> dict[str, Any]:
    return {"entity-type": "item", "numeric-id": number, "id": f"Q{number}"}


WORLD = {
    entity["id"]: entity
    for entity in [
        *(item(n, snak("P57", link(100 + n)), snak("P345", "tt1", "external-id"), page=f"Film {n}") for n in range(1, 8)),
        item(8, snak("P2044", {"amount": "+3", "unit": "http://www.wikidata.org/entity/Q11573"}, "quantity")),
        item(9, snak("P57", link(55)), P3831=[snak("P3831", link(120))]),
        *(item(n, snak("P31", link(5)), snak("P27", link(30))) for n in [*range(101, 108), 120]),
        item(5, snak("P279", link(6))), item(30), item(60, snak("P31", link(5))), item(11573),
        *(prop(n) for n in (31, 57, 279, 2044, 3831)),
    ]
}  # fmt: skip
MERGED = {"Q55": "Q60", "Q70": "Q1"}


class Api:
    """wbgetentities over WORLD. Attributes: asked: the parameters of each request."""

    def __init__(self) -> None:
        self.asked: list[dict[str, str]] = []

    def __call__(self, handler: faulty.Handler) -> bytes:
        raw = handler.posted.decode() if handler.command == "POST" else handler.path.partition("?")[2]
        asked = {name: values[0] for name, values in parse_qs(raw).items()}
        self.asked.append(asked)
        entities: dict[str, Any] = {}
        for title in asked.get("titles", "").split("|") if "titles" in asked else ():
            found = next(
                (e for e in WORLD.values() if e.get("sitelinks", {}).get("enwiki", {}).get("title") == title), None
            )
            if found is None or asked["sites"] != "enwiki":
                entities[f"-{len(entities) + 1}"] = {"site": asked["sites"], "title": title, "missing": ""}
            else:
                entities[found["id"]] = {key: found[key] for key in ("type", "id", "sitelinks")}
        for identifier in asked.get("ids", "").split("|") if "ids" in asked else ():
            if len(identifier) > 8:
                return json.dumps(
                    {"error": {"code": "no-such-entity", "info": "Could not find it", "id": identifier}}
                ).encode()
            own = MERGED.get(identifier, identifier)
            if own not in WORLD:
                entities[identifier] = {"id": identifier, "missing": ""}
                continue
            props = set(asked["props"].split("|"))
            entity = {k: v for k, v in WORLD[own].items() if k in props or k in ("type", "id", "datatype")}
            if own != identifier:
                entity["redirects"] = {"from": identifier, "to": own}
            entities[identifier] = entity
        return json.dumps({"entities": entities, "success": 1}).encode()


@pytest.fixture
def api() -> Api:
    return Api()


@pytest.fixture
def server(api: Api, server: FaultyServer) -> FaultyServer:
    server.pages[API] = api
    return server


@pytest.fixture
def slept() -> list[float]:
    return []


@pytest.fixture
def client(slept: list[float]) -> Iterator[Client]:
    with Client(sleep=slept.append, clock=lambda: sum(slept), timeout=60, tries=3) as found:
        yield found


@pytest.fixture
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slices, "BATCH", 3)
    monkeypatch.setattr(slices, "_TITLES_SAVED", 3)
    monkeypatch.setattr(slices.os, "fsync", lambda _: None)  # what it guards against is a power cut


def arguments(options: list[str]) -> WikidataWish:
    params = wikidata.make_context("wikidata", list(options)).params
    return wikidata_wish(
        **{name: value for name, value in params.items() if name not in ("contact", "build", "labels_for")}
    )


def given(server: FaultyServer, tmp_path: Path, *options: str, ids: str = "Q1 Q2 Q3 Q4 Q5 Q6 Q7 Q8 Q9") -> WikidataWish:
    listed = tmp_path / "list.txt"
    listed.write_text(ids.replace(" ", "\n"))
    about = [] if "--text-index" in options else ["--entities", str(listed)]
    fixed = ["--base-url", server.url + API, "--to", str(tmp_path / "out.jsonl"), "--yes"]
    return arguments([*about, *fixed, *options])


def lines(path: Path) -> dict[str, dict[str, Any]]:
    skipped = Skipped()
    found = [entity for record in read_entities(LineReader(path), skipped) for entity in record.entities]
    assert skipped.count == 0
    assert len({entity["id"] for entity in found}) == len(found)
    return {entity["id"]: entity for entity in found}


def test_a_folder_with_the_name_of_the_file_is_told(tmp_path: Path) -> None:
    (tmp_path / "list.txt").write_text("Q1")
    (tmp_path / "wikidata-list.jsonl").mkdir()
    asked = ["--entities", str(tmp_path / "list.txt"), "--to"]
    with pytest.raises(click.UsageError, match=r"wikidata-list\.jsonl is a folder"):
        arguments([*asked, str(tmp_path)])
    assert arguments([*asked, str(tmp_path / "new.jsonl")]).to == tmp_path / "new.jsonl"


def test_the_slice(
    server: FaultyServer, client: Client, api: Api, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fetch_wikidata(client, given(server, tmp_path, ids="Q1 Q8 Q9 Q404"))
    found = lines(tmp_path / "out.jsonl")
    assert list(found) == [
        "Q1", "Q8", "Q9",
        "Q55", "Q101", "Q120", "Q11573",  # what they point to, a merged one under the id that is pointed to
        "Q5",  # what these are
        "P31", "P57", "P2044", "P3831",
    ]  # fmt: skip
    assert list(found["Q1"]["claims"]) == ["P57"]
    (statement,) = found["Q1"]["claims"]["P57"]
    assert "references" not in statement
    assert statement["mainsnak"] == snak("P57", link(101))
    assert found["Q1"]["sitelinks"] == {"enwiki": {"site": "enwiki", "title": "Film 1"}}
    assert list(found["Q101"]["claims"]) == ["P31"]
    assert found["Q55"]["labels"]["en"]["value"] == "thing 60"
    assert found["Q5"]["claims"] == {}
    assert found["P57"]["datatype"] == "wikibase-item"
    assert (tmp_path / "out.jsonl.entities.txt").read_text() == "Q1\nQ8\nQ9\n"
    told = capsys.readouterr()
    assert "1 of the entities do not exist" in told.err
    assert all(asked["maxlag"] == "5" and asked["languages"] == "en|mul" for asked in api.asked)
    assert all(
        h["user-agent"].startswith("atomr-local/") and h["accept-encoding"] == "gzip" for _, _, h in server.requests
    )


def test_batches_of_fifty(server: FaultyServer, client: Client, api: Api, tmp_path: Path) -> None:
    fetch_wikidata(client, given(server, tmp_path, ids=" ".join(["Q1", *(f"Q{n}" for n in range(1000, 1060))])))
    assert [len(asked["ids"].split("|")) for asked in api.asked][:2] == [50, 11]


def test_all_statements(server: FaultyServer, client: Client, tmp_path: Path) -> None:
    fetch_wikidata(client, given(server, tmp_path, "--all-statements", ids="Q1"))
    assert set(lines(tmp_path / "out.jsonl")["Q1"]["claims"]) == {"P57", "P345"}


def text_index(*articles: tuple[str, str | None]) -> None:
    directory = index_path("text", "films")
    directory.mkdir(parents=True)
    catalog = Catalog(directory)
    for number, (title, qid) in enumerate(articles, 1):
        article = Article(id=str(number), title=title, text="x", qid=qid, metadata={})
        catalog.add(number, article, b"", 1)
    catalog.commit()
    catalog.close()


def test_a_text_index_by_id_and_by_title(
    server: FaultyServer, client: Client, api: Api, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text_index(("One", "Q1"), ("Film_2", None), ("Film 3", None), ("Nowhere", None), ("a|b", None))
    fetch_wikidata(client, given(server, tmp_path, "--text-index", "films"))
    assert (tmp_path / "out.jsonl.entities.txt").read_text() == "Q1\nQ2\nQ3\n"
    told = capsys.readouterr()
    assert "2 of the titles" in told.err
    assert given(server, tmp_path, "--text-index", "films").stem == "films"
    assert api.asked[0]["sites"] == "enwiki"
    assert [method for method, _, _ in server.requests][:2] == ["POST", "GET"]


def test_titles_of_another_wiki(server: FaultyServer, client: Client, tmp_path: Path) -> None:
    text_index(("Film 2", None))
    with pytest.raises(FetchError, match="none of the entities"):
        fetch_wikidata(client, given(server, tmp_path, "--text-index", "films", "--site", "dewiki"))
    assert not (tmp_path / "out.jsonl").exists()


def test_no_such_text_index(server: FaultyServer, client: Client, tmp_path: Path) -> None:
    with pytest.raises(AtomrError, match="films"):
        fetch_wikidata(client, given(server, tmp_path, "--text-index", "films"))


@pytest.mark.usefixtures("small_batches")
def test_stopped_anywhere_it_goes_on_to_the_same_bytes(
    server: FaultyServer, client: Client, api: Api, tmp_path: Path
) -> None:
    text_index(
        *((f"Film {number}", None) for number in (1, 2, 5, 7)), *(("x", f"Q{number}") for number in (3, 4, 8, 9, 70))
    )
    options = given(server, tmp_path, "--text-index", "films")
    out, listed = tmp_path / "out.jsonl", tmp_path / "out.jsonl.entities.txt"
    fetch_wikidata(client, options)
    whole = out.read_bytes(), listed.read_bytes()
    count = len(api.asked)
    assert count > 10
    for place in range(count):
        out.unlink()
        listed.unlink()
        server.faults[API] = [*[None] * place, *[faulty.status(502)] * 3]
        with pytest.raises(FetchError, match="502"):
            fetch_wikidata(client, options)
        assert not out.exists()
        with (tmp_path / "out.jsonl.part").open("ab") as part:
            part.write(b'{"type":"item","id":"Q7')  # what a kill may leave behind
        api.asked.clear()
        fetch_wikidata(client, options)
        assert (out.read_bytes(), listed.read_bytes()) == whole
        assert len(api.asked) <= count - place + 1
        assert sorted(path.name for path in tmp_path.glob("out*")) == ["out.jsonl", "out.jsonl.entities.txt"]


@pytest.mark.usefixtures("small_batches")
def test_other_entities_begin_anew(server: FaultyServer, client: Client, tmp_path: Path) -> None:
    server.faults[API] = [None, *[faulty.status(500)] * 3]
    with pytest.raises(FetchError):
        fetch_wikidata(client, given(server, tmp_path))
    fetch_wikidata(client, given(server, tmp_path, ids="Q8"))
    assert "Q1" not in lines(tmp_path / "out.jsonl")


def error(code: str, *headers: tuple[str, str]) -> faulty.Fault:
    body = json.dumps({"error": {"code": code, "info": "told\x1b[2J so"}}).encode()

    def fault(handler: faulty.Handler, _: bytes) -> None:
        handler.send([("content-length", str(len(body))), *headers], body)

    return fault


def answer(body: bytes) -> faulty.Fault:
    return lambda handler, _: handler.send([("content-length", str(len(body)))], body)


@pytest.mark.parametrize(
    ("fault", "pause"),
    [
        (error("maxlag", ("retry-after", "5")), 5),
        (error("ratelimited"), 2),
        (error("internal_api_error_DBQueryError"), 2),
        (faulty.status(429, ("retry-after", "30")), 30),
        (faulty.breaks_after(40), 2),
        (faulty.without_length(cut=30), 2),
        (answer(b""), 2),
        (answer(b"[]"), 2),
        (answer(b"<html>busy</html>"), 2),
        (answer(b'{"entities": {}}'), 2),
        (answer(b'{"entities": {"Q2": {"type": "item", "id": "Q2", "labels": {}}}}'), 2),
        (answer(b'{"entities": {"Q1": {"type": "item", "id": "Q2", "labels": {}}}}'), 2),
        (answer(b'{"entities": {"Q1": {"type": "item", "id": "../x", "labels": {}}}}'), 2),
        (answer(b'{"entities": {"Q1": []}}'), 2),
        (faulty.recoded, 2),
    ],
)
def test_answers_that_are_asked_for_again(
    server: FaultyServer, client: Client, tmp_path: Path, slept: list[float], fault: faulty.Fault, pause: float
) -> None:
    server.faults[API] = [fault]
    fetch_wikidata(client, given(server, tmp_path, "--rate", "10", ids="Q1"))
    assert next(iter(lines(tmp_path / "out.jsonl"))) == "Q1"
    assert pause in slept


@pytest.mark.parametrize(
    "fault", [error("badvalue"), answer(b'{"error": "no"}'), faulty.status(403), faulty.redirect("/x")]
)
def test_refusals(
    server: FaultyServer, client: Client, tmp_path: Path, slept: list[float], fault: faulty.Fault
) -> None:
    server.faults[API] = [fault]
    with pytest.raises(FetchError) as caught:
        fetch_wikidata(client, given(server, tmp_path, ids="Q1"))
    assert "\x1b" not in caught.value.message
    assert not (tmp_path / "out.jsonl").exists()


def test_an_id_that_the_api_does_not_take_spoils_no_other(server: FaultyServer, client: Client, tmp_path: Path) -> None:
    fetch_wikidata(client, given(server, tmp_path, ids="Q1 Q2 Q12345678 Q8"))
    assert (tmp_path / "out.jsonl.entities.txt").read_text() == "Q1\nQ2\nQ8\n"


def test_merged_entities_are_written_once(server: FaultyServer, client: Client, tmp_path: Path) -> None:
    fetch_wikidata(client, given(server, tmp_path, ids="Q1 Q70"))
    assert (tmp_path / "out.jsonl.entities.txt").read_text() == "Q1\n"


def test_a_file_that_is_there_is_left_alone(server: FaultyServer, client: Client, tmp_path: Path) -> None:
    (tmp_path / "out.jsonl").write_text("mine")
    with pytest.raises(FetchError, match="already exists"):
        fetch_wikidata(client, given(server, tmp_path))
    assert (tmp_path / "out.jsonl").read_text() == "mine"
    assert server.requests == []


def test_a_damaged_part_is_named(server: FaultyServer, client: Client, tmp_path: Path) -> None:
    server.faults[API] = [None, *[faulty.status(500)] * 3]
    with pytest.raises(FetchError):
        fetch_wikidata(client, given(server, tmp_path))
    part = tmp_path / "out.jsonl.part"
    part.write_bytes(b"\0" * part.stat().st_size)
    with pytest.raises(FetchError, match="damaged"):
        fetch_wikidata(client, given(server, tmp_path))


def test_keeps_to_the_rate(server: FaultyServer, client: Client, api: Api, tmp_path: Path, slept: list[float]) -> None:
    fetch_wikidata(client, given(server, tmp_path, "--rate", "0.5"))
    assert sum(slept) == pytest.approx(2 * len(api.asked))


def test_size_and_time_are_told_before_anything_is_fetched(
    server: FaultyServer, client: Client, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = given(server, tmp_path)
    options.yes = False
    with pytest.raises(AtomrError, match="no terminal to confirm on"):
        fetch_wikidata(client, options)
    assert re.search(r"9 entities .* An estimate: 1 requests, \d+\.\d kB on disk", capsys.readouterr().err)
    assert server.requests == []


@pytest.mark.parametrize(
    "options",
    [
        [],
        ["--entities", "x", "--text-index", "y"],
        ["--entities", "x", "--languages", "en|de"],
        ["--entities", "x", "--site", "../x"],
        ["--entities", "x", "--rate", "0"],
        ["--entities", "x", "--rate", "nan"],
    ],
)
def test_wrong_usage(options: list[str]) -> None:
    with pytest.raises(click.UsageError):
        arguments(options)


def test_languages() -> None:
    assert arguments(["--entities", "x", "--languages", "de, en"]).languages == ["de", "en", "mul"]


def test_an_address_that_is_none(client: Client) -> None:
    with pytest.raises(FetchError, match="not an address"):
        wikibase.Wikibase(client, "file:///etc/passwd", ["en"], Limiter(1, client.clock, client.sleep))


def test_where_it_goes(tmp_path: Path, own_home: Path) -> None:
    assert arguments(["--text-index", "films"]).to == own_home / "downloads" / "wikidata-films.jsonl"
    assert arguments(["--entities", "a b.txt", "--to", str(tmp_path)]).to == tmp_path / "wikidata-a-b.jsonl"


@pytest.mark.slow
def test_fetched_and_built_and_built_again(server: FaultyServer, tmp_path: Path, own_home: Path, atomr: Atomr) -> None:
    listed = tmp_path / "list.txt"
    listed.write_text("Q1\nQ8\n")
    command = ("fetch", "wikidata", "--entities", str(listed), "--base-url", server.url + API, "--yes")
    assert "facts on" in atomr(*command, "--build", "films").out
    assert (own_home / "indexes" / "graph" / "films" / "manifest.json").is_file()
    count = len(server.requests)
    assert "already exists" in atomr(*command, "--build", "more").err
    assert len(server.requests) == count  # an index that is built later asks nobody
    assert (own_home / "indexes" / "graph" / "more" / "manifest.json").is_file()
    out = tmp_path / "out.jsonl"
    assert atomr(*command, "--to", str(out), "--languages", "de").out == (
        f"atomr graph build {out} --entities {out}.entities.txt --name list --language de\n"
    )
