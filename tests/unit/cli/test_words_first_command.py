"""Indexes built words first, several at once, and private ones, on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.command_line import Atomr

from atomr_local.errors import MissingPartError
from atomr_local.indexing import store
from atomr_local.models.catalog.find import starter_embedder_path
from atomr_local.settings.schema import load_settings
from atomr_local.tui.screens.library.forms import library_items


@pytest.fixture
def corpora(tmp_path: Path) -> tuple[str, str]:
    try:
        starter_embedder_path()
    except MissingPartError as error:
        pytest.skip(f"no embedder: {error}")
    texts = {"wiki": "Lake Como is a deep lake in Lombardy.", "notes": "We rented a yellow boat on Lake Como."}
    for name, text in texts.items():
        (tmp_path / f"{name}.jsonl").write_text(json.dumps({"id": "1", "title": name.title(), "text": text}))
    return str(tmp_path / "wiki.jsonl"), str(tmp_path / "notes.jsonl")


@pytest.mark.slow
def test_words_first_then_vectors(atomr: Atomr, corpora: tuple[str, str]) -> None:
    wiki, notes = corpora
    err = atomr("text", "build", wiki, "--name", "wiki", "--vectors", "later").err
    assert "It answers at once; `atomr text embed wiki`" in err
    assert "words first: no vectors yet" in atomr("indexes", "list").out
    (item,) = [item for item in library_items(load_settings()) if item.name == "wiki"]
    assert item.fillable
    assert "words first" in item.details[1]
    told = atomr("doctor", status=None).out
    assert atomr.status in (0, 1) and "words first: no vectors yet (`atomr text embed wiki` makes them)" in told

    atomr("text", "build", notes, "--name", "notes")
    found = json.loads(
        atomr("text", "search", "who had a boat on Lake Como", "--text-index", "wiki,notes", "--json").out
    )
    assert (found[0]["title"], found[0]["locator"]["index"]) == ("Notes", "notes")
    assert "(notes: 1#0)" in atomr("text", "search", "boat", "--text-index", "wiki,notes").out
    listed = {item["name"]: item["vectors"] for item in json.loads(atomr("indexes", "list", "--json").out)}
    assert (listed["wiki"]["state"], listed["notes"]["state"]) == ("part", "all")

    assert atomr("text", "embed", "wiki").out == "wiki: all 1 passages have a vector\n"
    assert "vectors" not in store.read_manifest(store.index_path("text", "wiki")).settings
    assert "no text index named 'nothing'" in atomr("text", "embed", "nothing", status=1).err


@pytest.mark.slow
def test_private_indexes(atomr: Atomr, corpora: tuple[str, str]) -> None:
    atomr("text", "build", corpora[1], "--name", "notes")
    assert "no index named 'nothing'" in atomr("indexes", "private", "nothing", status=1).err
    atomr("indexes", "private", "notes")
    assert load_settings().privacy.indexes == "notes"
    assert "; private" in atomr("indexes", "list").out
    ask = ("ask", "Who rented a boat?", "--web", "--strategy", "rag", "--sources", "text", "--text-index", "notes")
    assert "the index notes is private, and web search is on" in atomr(*ask, status=1).err
    atomr("indexes", "private", "notes", "--off")
    assert load_settings().privacy.indexes == ""
