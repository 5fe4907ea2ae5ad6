"""`--private`: indexes of one's own documents are private from the start, and nothing of a private one is sent."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from support.command_line import Atomr, exit_status
from support.fake_embedder import FakeEmbedder
from support.faulty_server import faulty_server

from atomr_local.indexing.builds.publishing import is_private
from atomr_local.indexing.embedding import embedder as embedding
from atomr_local.indexing.store import index_names, index_path
from atomr_local.indexing.text_index.documents import DocumentsBuild
from atomr_local.settings.schema import load_settings

flush = DocumentsBuild._flush


@pytest.fixture(autouse=True)
def fake_embedder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedding, "SentenceEmbedder", lambda *_, **__: FakeEmbedder())


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


def private() -> list[str]:
    return index_names(load_settings().privacy.indexes)


def test_a_new_index_of_a_folder_is_private_until_the_user_says_otherwise(folder: Path, atomr: Atomr) -> None:
    assert "The index notes is private" in atomr("text", "build", str(folder), "--name", "notes").err
    assert private() == ["notes"]
    atomr("indexes", "private", "notes", "--off")
    atomr("text", "sync", "notes")
    atomr("text", "build", str(folder), "--name", "notes")
    assert private() == []


def test_the_user_decides_at_the_build(atomr: Atomr, folder: Path, articles: Path) -> None:
    atomr("text", "build", str(folder), "--name", "notes", "--no-private")
    assert private() == []
    atomr("text", "build", str(articles), "--name", "wiki")
    assert private() == []
    atomr("text", "build", str(articles), "--name", "wiki", "--private")
    assert private() == ["wiki"]
    atomr("text", "build", str(articles), "--name", "wiki")
    assert private() == ["wiki"]


def test_a_graph_and_an_imported_index_can_be_private(atomr: Atomr, tmp_path: Path) -> None:
    facts = tmp_path / "facts.jsonl"
    facts.write_text('{"s": "Como", "p": "country", "o": "Italy"}\n')
    atomr("graph", "build", str(facts), "--name", "facts", "--private")
    assert private() == ["facts"]
    file = tmp_path / "facts.tar.zst"
    assert "--share-private" in atomr("indexes", "export", "facts", str(file), status=1).err
    assert not file.exists()
    atomr("indexes", "export", "facts", str(file), "--share-private")
    atomr("indexes", "import", str(file), "--name", "theirs", "--private")
    assert private() == ["facts", "theirs"]


def modes(directory: Path) -> set[str]:
    """The permissions of what is there, of files and of folders."""
    found = [directory, *directory.rglob("*")]
    return {f"{'folder' if path.is_dir() else 'file'} {path.stat().st_mode & 0o777:o}" for path in found}


def test_only_the_owner_may_read_a_private_index_and_its_archive(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, atomr: Atomr
) -> None:
    private_modes = {"folder 700", "file 600"}
    before, begun = os.umask(0o022), list[set[str]]()
    try:
        monkeypatch.setattr(
            DocumentsBuild, "_flush", lambda self: (begun.append(modes(self.ledger.directory)), flush(self))
        )
        for name, option in (("notes", ()), ("open", ("--no-private",))):
            atomr("text", "build", str(folder), "--name", name, "--vectors", "later", *option)
        assert all("folder 700" in one for one in begun[: len(begun) // 2])
        assert modes(index_path("text", "open")) == {"folder 755", "file 644"}
        assert modes(index_path("text", "notes")) == private_modes
        (folder / "new.txt").write_text("New.")
        atomr("text", "sync", "notes")
        atomr("text", "embed", "notes", "--limit", "1")
        assert modes(index_path("text", "notes") / "vectors.sqlite") == {"file 600"}
        assert index_path("text", "notes").stat().st_mode & 0o777 == 0o700
        file = tmp_path / "notes.tar.zst"
        atomr("indexes", "export", "notes", str(file), "--share-private")
        assert modes(file) == {"file 600"}
        atomr("indexes", "private", "open")
        assert modes(index_path("text", "open")) == private_modes
    finally:
        os.umask(before)


def test_an_index_counts_as_private_while_the_settings_cannot_be_read(own_home: Path) -> None:
    assert not is_private("notes")
    (own_home / "config.toml").write_text("model = ")
    assert is_private("notes")


def test_an_exported_index_is_private_where_it_is_taken_in(folder: Path, tmp_path: Path, atomr: Atomr) -> None:
    atomr("text", "build", str(folder), "--name", "notes")
    file = tmp_path / "notes.tar.zst"
    atomr("indexes", "export", "notes", str(file), "--share-private")
    assert "The index theirs is private" in atomr("indexes", "import", str(file), "--name", "theirs").err
    assert private() == ["notes", "theirs"]
    atomr("indexes", "import", str(file), "--name", "open", "--no-private")
    assert private() == ["notes", "theirs"]
    atomr("indexes", "export", "open", str(file), "--replace")
    atomr("indexes", "import", str(file), "--name", "again")
    assert private() == ["notes", "theirs"], "it was no longer private where it was written"


def test_a_build_that_makes_nothing_leaves_no_mark(atomr: Atomr, tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    atomr("text", "build", str(empty), "--name", "notes", status=1)
    assert private() == []
    atomr("text", "build", str(tmp_path / "gone.jsonl"), "--name", "wiki", "--private", status=1)
    assert private() == []


def test_titles_of_a_private_index_are_not_sent(articles: Path, tmp_path: Path, atomr: Atomr) -> None:
    atomr("text", "build", str(articles), "--name", "wiki", "--private")
    with faulty_server() as server:
        asked = ("fetch", "wikidata", "--text-index", "wiki", "--base-url", f"{server.url}/api.php", "--yes")
        command = (*asked, "--contact", "me@example.org", "--to", str(tmp_path / "facts.jsonl"))
        told = atomr(*command, status=1).err
        assert "the index wiki is private, and the titles and ids of its articles would go to" in told
        assert "--share-private" in told
        assert not server.requests
        exit_status(*command, "--share-private")
        assert server.requests


def test_ids_of_a_private_graph_are_not_sent(tmp_path: Path, atomr: Atomr) -> None:
    facts = tmp_path / "facts.nt"
    facts.write_text(
        "<http://www.wikidata.org/entity/Q1> <http://www.wikidata.org/prop/direct/P17> "
        "<http://www.wikidata.org/entity/Q38> .\n"
    )
    atomr("graph", "build", str(facts), "--name", "facts", "--private")
    with faulty_server() as server:
        base = f"{server.url}/api.php"
        err = atomr(
            "fetch", "wikidata", "--labels-for", "facts", "--base-url", base, "--yes", "--contact", "a@b.org", status=1
        ).err
        assert "the index facts is private" in err
        assert not server.requests


def test_articles_of_a_private_index_do_not_go_to_a_cluster(
    articles: Path, monkeypatch: pytest.MonkeyPatch, atomr: Atomr
) -> None:
    monkeypatch.setenv("RAY_ADDRESS", "ray://cluster.example.org:10001")
    err = atomr("text", "build", str(articles), "--name", "wiki", "--private", "--engine", "ray", status=1).err
    assert "would go to the Ray cluster ray://cluster.example.org:10001" in err
    assert not index_path("text", "wiki").exists()
