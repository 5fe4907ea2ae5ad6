"""Indexes built words first, several at once, and private ones, on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from atomr_local.cli.main import main
from atomr_local.errors import MissingPartError
from atomr_local.indexing import store
from atomr_local.models.catalog.find import starter_embedder_path
from atomr_local.settings.schema import load_settings
from atomr_local.tui.screens.library.forms import library_items

Capture = pytest.CaptureFixture[str]


def atomr(*arguments: str) -> int:
    with pytest.raises(SystemExit) as stop:
        main(list(arguments))
    return int(stop.value.code or 0)


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
def test_words_first_then_vectors(corpora: tuple[str, str], capsys: Capture) -> None:
    wiki, notes = corpora
    assert atomr("text", "build", wiki, "--name", "wiki", "--vectors", "later") == 0
    assert "It answers at once; `atomr text embed wiki`" in capsys.readouterr().err
    assert atomr("indexes", "list") == 0
    assert "words first: no vectors yet" in capsys.readouterr().out
    (item,) = [item for item in library_items(load_settings()) if item.name == "wiki"]
    assert item.fillable
    assert "words first" in item.details[1]
    assert atomr("doctor") in (0, 1)
    assert "words first: no vectors yet (`atomr text embed wiki` makes them)" in capsys.readouterr().out

    assert atomr("text", "build", notes, "--name", "notes") == 0
    capsys.readouterr()
    assert atomr("text", "search", "who had a boat on Lake Como", "--text-index", "wiki,notes", "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert (found[0]["title"], found[0]["locator"]["index"]) == ("Notes", "notes")
    assert atomr("text", "search", "boat", "--text-index", "wiki,notes") == 0
    assert "(notes: 1#0)" in capsys.readouterr().out
    assert atomr("indexes", "list", "--json") == 0
    listed = {item["name"]: item["vectors"] for item in json.loads(capsys.readouterr().out)}
    assert (listed["wiki"]["state"], listed["notes"]["state"]) == ("part", "all")

    assert atomr("text", "embed", "wiki") == 0
    assert capsys.readouterr().out == "wiki: all 1 passages have a vector\n"
    assert "vectors" not in store.read_manifest(store.index_path("text", "wiki")).settings
    assert atomr("text", "embed", "nothing") == 1
    assert "no text index named 'nothing'" in capsys.readouterr().err


@pytest.mark.slow
def test_private_indexes(corpora: tuple[str, str], capsys: Capture) -> None:
    assert atomr("text", "build", corpora[1], "--name", "notes") == 0
    assert atomr("indexes", "private", "nothing") == 1
    assert "no index named 'nothing'" in capsys.readouterr().err
    assert atomr("indexes", "private", "notes") == 0
    assert load_settings().privacy.indexes == "notes"
    capsys.readouterr()
    assert atomr("indexes", "list") == 0
    assert "; private" in capsys.readouterr().out
    ask = ("ask", "Who rented a boat?", "--web", "--strategy", "rag", "--sources", "text", "--text-index", "notes")
    assert atomr(*ask) == 1
    assert "the index notes is private, and web search is on" in capsys.readouterr().err
    assert atomr("indexes", "private", "notes", "--off") == 0
    assert load_settings().privacy.indexes == ""
