from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import click
import pytest
from support.fake_embedder import FakeEmbedder
from support.text_indexes import corpus

from atomr_local.cli.main import atomr
from atomr_local.indexing import store
from atomr_local.indexing.builds.ledger import rebuild_command, rebuild_hint
from atomr_local.indexing.graph_index.index import build_graph_index
from atomr_local.indexing.readers.articles import Columns
from atomr_local.indexing.readers.detect import ReadOptions
from atomr_local.indexing.text_index.index import build_text_index, remove_from_text_index


def entry(name: str) -> store.IndexEntry:
    return next(item for item in store.list_indexes() if item.name == name)


def made(kind: store.IndexKind, inputs: list[str], **settings: Any) -> str:
    """The command for an index with such a manifest."""
    files = [store.InputFile(path, 7, "0" * 64) for path in inputs]
    manifest = store.Manifest(kind, "mine", {}, files, settings)
    return rebuild_command(store.IndexEntry(kind, "mine", Path("mine"), manifest))


def parsed(command: str) -> dict[str, Any]:
    """The command's parameters as the command line takes them, so that no option is misspelled."""
    program, kind, build, *words = shlex.split(command)
    assert (program, build) == ("atomr", "build")
    group = atomr.get_command(click.Context(atomr), kind)
    assert isinstance(group, click.Group)
    return group.commands["build"].make_context("build", words).params


def test_a_text_index_is_built_again_with_all_it_was_built_with(tmp_path: Path) -> None:
    pages = corpus(tmp_path / "my corpus; rm *.jsonl", "Como", "Garda", "Nemi")
    titles = tmp_path / "the titles.txt"
    titles.write_text("Como\nNemi\n")
    build_text_index(
        [pages], "mine", embedder=FakeEmbedder(), format="jsonl", limit=7, titles=["Como", "Nemi"], titles_file=titles
    )
    command = rebuild_command(entry("mine"))
    options = parsed(command)
    assert options["inputs"] == (pages,)
    assert (options["name"], options["format_"], options["limit"], options["titles"]) == ("mine", "jsonl", 7, titles)
    assert (options["engine"], options["add"]) == ("local", False)
    assert f"'{pages}'" in command


def test_a_graph_index_is_built_again_with_all_it_was_built_with(tmp_path: Path) -> None:
    entity = "<http://www.wikidata.org/entity/Q{}>"
    triples = tmp_path / "a b.nt"
    triples.write_text(
        f"{entity.format(1)} <http://www.wikidata.org/prop/direct/P36> {entity.format(2)} .\n"
        f'{entity.format(1)} <http://www.w3.org/2000/01/rdf-schema#label> "Italien"@de .\n'
    )
    entities, properties = tmp_path / "the entities", tmp_path / "properties"
    entities.write_text("Q1\n")
    properties.write_text("P36\n")
    build_graph_index(
        [triples], "mine", format="nt", language="de", entities=entities, properties=properties
    )  # fmt: skip
    options = parsed(rebuild_command(entry("mine")))
    assert options["inputs"] == (triples,)
    assert (options["name"], options["format_"], options["language"]) == ("mine", "nt", "de")
    assert (options["entities"], options["properties"], options["text_index"]) == (entities, properties, None)


def test_columns_and_salvage_are_told(tmp_path: Path) -> None:
    file = tmp_path / "pages.jsonl"
    file.write_text(json.dumps({"key": "1", "head line": "Como", "body": {"text": "A lake."}}) + "\n")
    read = ReadOptions(Columns("key", "head line", "body.text"), salvage=True)
    build_text_index([file], "mine", embedder=FakeEmbedder(), options=read)
    command = rebuild_command(entry("mine"))
    options = parsed(command)
    assert (options["id_column"], options["title_column"], options["text_column"]) == ("key", "head line", "body.text")
    assert options["salvage"] is True
    assert made("text", ["a"], columns=["x"], salvage="yes") == "atomr text build a --name mine"
    assert made("text", ["a"], columns={"id": "-x"}).endswith(" --id -x")
    assert parsed(made("text", ["a"], columns={"id": "-x"}))["id_column"] == "-x"


def test_documents_are_built_again_as_documents(tmp_path: Path) -> None:
    folders = {"roots": [str(tmp_path)], "exclude": ["drafts/"], "hidden": True, "ocr": "deu"}
    command = made("text", [str(tmp_path)], folders=folders, format="documents")
    assert command.endswith("--exclude drafts/ --hidden --ocr deu")
    folders = {"roots": [str(tmp_path / "data.json")], "exclude": [], "hidden": False}
    assert parsed(made("text", ["data.json"], folders=folders))["format_"] == "documents"


def test_nothing_is_told_that_the_command_does_anyway(tmp_path: Path) -> None:
    build_text_index([corpus(tmp_path / "a.jsonl", "Como")], "mine", embedder=FakeEmbedder())
    assert rebuild_command(entry("mine")) == f"atomr text build {tmp_path}/a.jsonl --name mine"
    assert made("graph", ["a.nt"], language="en", formats=["nt"]) == "atomr graph build a.nt --name mine"


def test_manifests_of_earlier_versions_and_from_elsewhere() -> None:
    assert made("text", ["a"], titles={"count": 3, "sha256": "0"}).endswith(" --titles FILE")
    assert made("graph", ["a"], entities="0", properties=["P1"]).endswith(" --entities FILE --properties FILE")
    assert made("graph", ["a"], text_index={"name": "x y"}).endswith(" --text-index 'x y'")
    assert made("graph", ["a"], text_index=3, asked=[], first_inputs="1", last_change=0) == (
        "atomr graph build a --name mine"
    )
    many = [f"{i}.parquet" for i in range(41)]
    assert parsed(made("text", many))["inputs"] == tuple(map(Path, many))
    assert made("text", []) == "atomr text build INPUT... --name mine"
    unknown = store.IndexEntry("text", "mine", Path("mine"), None, "it has no manifest")
    assert rebuild_hint(unknown) == "Build it again: atomr text build INPUT... --name mine"


def test_tables_that_are_found_beside_a_dump_are_not_given(tmp_path: Path) -> None:
    dump = tmp_path / "simplewiki-latest-pages-articles.xml"
    table = tmp_path / "simplewiki-latest-page_props.sql"
    for file in (dump, table):
        file.touch()
    assert parsed(made("text", [str(dump), str(table)]))["inputs"] == (dump,)


@pytest.mark.parametrize("kind", store.KINDS)
def test_the_starter_is_built_by_no_command(kind: store.IndexKind) -> None:
    hint = rebuild_hint(store.IndexEntry(kind, store.STARTER, Path("starter"), None))
    assert hint == "`atomr indexes repair starter` repairs it."


def test_what_was_changed_since_is_told(tmp_path: Path) -> None:
    first = corpus(tmp_path / "first.jsonl", "Como", "Garda")
    second = corpus(tmp_path / "second.jsonl", "Nemi", "Bolsena")
    build_text_index([first], "mine", embedder=FakeEmbedder())
    for file in (second, corpus(tmp_path / "third.jsonl", "Orta")):
        build_text_index([file], "mine", embedder=FakeEmbedder(), add=True)
    assert parsed(rebuild_command(entry("mine")))["inputs"] == (first,)
    assert "repeat what was added" in rebuild_hint(entry("mine"))
    remove_from_text_index("mine", ["Orta"])
    assert parsed(rebuild_command(entry("mine")))["inputs"] == (first,)
