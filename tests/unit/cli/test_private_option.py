"""`--private`: indexes of one's own documents are private from the start, and nothing of a private one is sent."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from support.fake_embedder import FakeEmbedder
from support.faulty_server import faulty_server

from atomr_local.cli.main import main
from atomr_local.indexing.embedding import embedder as embedding
from atomr_local.indexing.store import index_names, index_path
from atomr_local.settings.schema import load_settings

Capture = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("ATOMR_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(embedding, "SentenceEmbedder", lambda *_, **__: FakeEmbedder())
    return tmp_path / "home"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    root = tmp_path / "notes"
    root.mkdir()
    (root / "boat.txt").write_text("Ann Lee rented the yellow boat.")
    return root


@pytest.fixture
def articles(tmp_path: Path) -> Path:
    file = tmp_path / "articles.jsonl"
    file.write_text(json.dumps({"id": "1", "title": "Como", "text": "Como is a lake."}) + "\n")
    return file


def run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as stop:
        main(list(arguments))
    return int(stop.value.code or 0)


def private() -> list[str]:
    return index_names(load_settings().privacy.indexes)


def test_a_new_index_of_a_folder_is_private_until_the_user_says_otherwise(folder: Path, capsys: Capture) -> None:
    assert run("text", "build", str(folder), "--name", "notes") == 0
    assert "The index notes is private" in capsys.readouterr().err
    assert private() == ["notes"]
    assert run("indexes", "private", "notes", "--off") == 0
    assert run("text", "sync", "notes") == 0
    assert run("text", "build", str(folder), "--name", "notes") == 0
    assert private() == []


def test_the_user_decides_at_the_build(folder: Path, articles: Path) -> None:
    assert run("text", "build", str(folder), "--name", "notes", "--no-private") == 0
    assert private() == []
    assert run("text", "build", str(articles), "--name", "wiki") == 0
    assert private() == []
    assert run("text", "build", str(articles), "--name", "wiki", "--private") == 0
    assert private() == ["wiki"]
    assert run("text", "build", str(articles), "--name", "wiki") == 0
    assert private() == ["wiki"]


def test_a_graph_and_an_imported_index_can_be_private(tmp_path: Path) -> None:
    facts = tmp_path / "facts.jsonl"
    facts.write_text('{"s": "Como", "p": "country", "o": "Italy"}\n')
    assert run("graph", "build", str(facts), "--name", "facts", "--private") == 0
    assert private() == ["facts"]
    file = tmp_path / "facts.tar.zst"
    assert run("indexes", "export", "facts", str(file)) == 1
    assert run("indexes", "export", "facts", str(file), "--share-private") == 0
    assert run("indexes", "import", str(file), "--name", "theirs", "--private") == 0
    assert private() == ["facts", "theirs"]


def test_a_build_that_makes_nothing_leaves_no_mark(tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    assert run("text", "build", str(empty), "--name", "notes") == 1
    assert private() == []
    assert run("text", "build", str(tmp_path / "gone.jsonl"), "--name", "wiki", "--private") == 1
    assert private() == []


def test_titles_of_a_private_index_are_not_sent(articles: Path, tmp_path: Path, capsys: Capture) -> None:
    assert run("text", "build", str(articles), "--name", "wiki", "--private") == 0
    with faulty_server() as server:
        asked = ("fetch", "wikidata", "--text-index", "wiki", "--base-url", f"{server.url}/api.php", "--yes")
        command = (*asked, "--contact", "me@example.org", "--to", str(tmp_path / "facts.jsonl"))
        assert run(*command) == 1
        told = capsys.readouterr().err
        assert "the index wiki is private, and the titles and ids of its articles would go to" in told
        assert "--share-private" in told
        assert not server.requests
        run(*command, "--share-private")
        assert server.requests


def test_ids_of_a_private_graph_are_not_sent(tmp_path: Path, capsys: Capture) -> None:
    facts = tmp_path / "facts.nt"
    facts.write_text(
        "<http://www.wikidata.org/entity/Q1> <http://www.wikidata.org/prop/direct/P17> "
        "<http://www.wikidata.org/entity/Q38> .\n"
    )
    assert run("graph", "build", str(facts), "--name", "facts", "--private") == 0
    with faulty_server() as server:
        base = f"{server.url}/api.php"
        assert (
            run("fetch", "wikidata", "--labels-for", "facts", "--base-url", base, "--yes", "--contact", "a@b.org") == 1
        )
        assert "the index facts is private" in capsys.readouterr().err
        assert not server.requests


def test_articles_of_a_private_index_do_not_go_to_a_cluster(
    articles: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.setenv("RAY_ADDRESS", "ray://cluster.example.org:10001")
    assert run("text", "build", str(articles), "--name", "wiki", "--private", "--engine", "ray") == 1
    assert "would go to the Ray cluster ray://cluster.example.org:10001" in capsys.readouterr().err
    assert not index_path("text", "wiki").exists()
