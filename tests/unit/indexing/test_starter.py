from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from support.fake_embedder import FakeEmbedder
from support.places import PYTHONPATH

from atomr_local.errors import InputError, KnowledgeIndexError
from atomr_local.indexing import starter as in_use
from atomr_local.indexing import store
from atomr_local.indexing.graph_index.index import build_graph_index
from atomr_local.indexing.starter import IndexesInUse, ensure_index
from atomr_local.indexing.store import IndexKind, index_path
from atomr_local.system import paths


def ship(folder: Path, title: str = "Como") -> None:
    folder.mkdir(exist_ok=True)
    (folder / "articles.jsonl").write_text(json.dumps({"id": "1", "title": title, "text": f"{title} is a lake."}))
    (folder / "facts.jsonl.gz").write_text(json.dumps({"s": title, "p": "country", "o": "Italy"}))


@pytest.fixture
def shipped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "shipped"
    ship(folder)
    monkeypatch.setattr(paths, "starter_knowledge_dir", lambda: folder)
    return folder


def built_file(directory: Path) -> int:
    return (directory / store.MANIFEST).stat().st_ino


@pytest.mark.parametrize("kind", ["text", "graph"])
def test_built_on_first_use_and_again_when_what_ships_changes(shipped: Path, kind: store.IndexKind) -> None:
    directory = ensure_index(kind, "starter", FakeEmbedder)
    assert directory == store.index_path(kind, "starter")
    first = store.read_manifest(directory)
    assert first.inputs[0].path.startswith(str(shipped))
    before = built_file(directory)
    ensure_index(kind, "starter", FakeEmbedder)
    assert built_file(directory) == before, "an index that is current is left alone"
    ship(shipped, "Garda")
    ensure_index(kind, "starter", FakeEmbedder)
    assert store.read_manifest(directory).inputs[0].sha256 != first.inputs[0].sha256


@pytest.mark.parametrize(
    "harm",
    [
        lambda directory: (directory / store.MANIFEST).write_text("{"),
        lambda directory: shutil.rmtree(directory / "passages.lance"),
        lambda _: None,
    ],
    ids=["damaged", "without passages", "another embedder"],
)
def test_what_cannot_be_used_is_built_again(shipped: Path, harm: Callable[[Path], object]) -> None:
    directory = ensure_index("text", "starter", lambda: FakeEmbedder("fake:2"))
    harm(directory)
    ensure_index("text", "starter", FakeEmbedder)
    manifest = store.read_manifest(directory)
    assert (manifest.counts["articles"], manifest.settings["embedder"]) == (1, "fake:1")
    assert (directory / "passages.lance").is_dir()


def test_without_an_embedder_a_built_one_is_used_and_none_is_built(shipped: Path) -> None:
    with pytest.raises(KnowledgeIndexError, match="no embedder"):
        ensure_index("text", "starter")
    directory = ensure_index("text", "starter", FakeEmbedder)
    assert ensure_index("text", "starter") == directory


@pytest.mark.parametrize("kind", ["text", "graph"])
def test_missing_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: store.IndexKind) -> None:
    monkeypatch.setattr(paths, "starter_knowledge_dir", lambda: tmp_path / "absent")
    with pytest.raises(KnowledgeIndexError, match="absent") as caught:
        ensure_index(kind, "starter", FakeEmbedder)
    assert caught.value.hint


def test_another_index_is_only_checked(shipped: Path) -> None:
    with pytest.raises(KnowledgeIndexError, match="no finished index"):
        ensure_index("text", "mine", FakeEmbedder)


def test_a_place_that_cannot_be_written(shipped: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    blocked = tmp_path / "blocked"
    blocked.write_text("a file where a folder is wanted")
    monkeypatch.setenv("ATOMR_HOME", str(blocked))
    with pytest.raises(KnowledgeIndexError, match="cannot be written"):
        ensure_index("text", "starter", FakeEmbedder)


TOGETHER = """
import sys
from pathlib import Path
from support.fake_embedder import FakeEmbedder
from atomr_local.system import paths
from atomr_local.indexing.text_index import index as text_index
from atomr_local.indexing.starter import ensure_index
folder = Path(sys.argv[1])
paths.starter_knowledge_dir = lambda: folder
build = text_index.build_text_index
def counted(*args, **options):
    print("built", flush=True)
    return build(*args, **options)
text_index.build_text_index = counted
sys.stdin.readline()
ensure_index("text", "starter", FakeEmbedder)
"""


@pytest.mark.slow
def test_two_processes_at_once_build_it_once(shipped: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": PYTHONPATH}
    both = [
        subprocess.Popen(
            [sys.executable, "-c", TOGETHER, str(shipped)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment,
        )
        for _ in range(2)
    ]  # fmt: skip
    for process in both:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    done = [process.communicate(timeout=300) for process in both]
    assert [process.returncode for process in both] == [0, 0], [error for _, error in done]
    assert sorted(output for output, _ in done) == ["", "built\n"]
    assert store.read_manifest(store.index_path("text", "starter")).counts["articles"] == 1


class TestOwnFacts:
    def test_they_take_the_place_of_what_ships(self, shipped: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        before = store.read_manifest(ensure_index("graph", "starter")).inputs[0].sha256
        own = paths.own_facts_file()
        own.parent.mkdir(parents=True, exist_ok=True)
        own.write_text('{"s": "como", "p": "Country", "o": "Lombardy"}\n{"s": "Como", "p": "depth", "o": "410 m"}\n')
        manifest = store.read_manifest(ensure_index("graph", "starter"))
        assert manifest.inputs[0].sha256 != before
        told = Path(manifest.inputs[0].path).read_text()
        assert "Lombardy" in told and "410 m" in told and "Italy" not in told
        own.unlink()
        assert store.read_manifest(ensure_index("graph", "starter")).inputs[0].sha256 == before

    def test_a_line_that_is_no_fact_is_named(self, shipped: Path) -> None:
        own = paths.own_facts_file()
        own.parent.mkdir(parents=True, exist_ok=True)
        own.write_text('{"s": "Como"}\n')
        with pytest.raises(InputError, match=r'facts\.jsonl, line 1: no "p"'):
            ensure_index("graph", "starter")


# Whether the index that is open is still the one to be used.

AUTOMATIC: dict[IndexKind, str] = {"text": "", "graph": ""}


@pytest.fixture
def other_starter(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that is not the real one, built as any other."""
    monkeypatch.setattr(in_use, "ensure_index", lambda kind, name, _embedder: index_path(kind, name))


def build(name: str, folder: Path) -> None:
    file = folder / "facts.jsonl"
    file.write_text(json.dumps({"s": "Peru", "p": "capital", "o": "Lima"}) + "\n")
    build_graph_index([file], name)


def opened(configured: str) -> IndexesInUse:
    indexes = IndexesInUse()

    def no_embedder() -> None:
        raise AssertionError("not needed")

    indexes.directories("graph", configured, no_embedder, stage=print, notify=print)  # type: ignore[arg-type]
    return indexes


@pytest.mark.usefixtures("other_starter")
def test_the_first_index_of_ones_own_takes_the_place_of_the_starter(tmp_path: Path) -> None:
    build("starter", tmp_path)
    indexes = opened("")
    assert indexes.names["graph"] == "starter"
    assert indexes.changed(AUTOMATIC) == []
    build("mine", tmp_path)
    assert indexes.changed(AUTOMATIC) == ["graph"]
    assert opened("").names["graph"] == "mine"


@pytest.mark.usefixtures("other_starter")
def test_a_second_one_changes_nothing_until_the_user_chooses(tmp_path: Path) -> None:
    build("mine", tmp_path)
    indexes = opened("")
    build("other", tmp_path)
    assert indexes.changed(AUTOMATIC) == []


@pytest.mark.usefixtures("other_starter")
def test_the_starter_that_the_user_has_chosen_stays(tmp_path: Path) -> None:
    build("starter", tmp_path)
    indexes = opened("starter")
    build("mine", tmp_path)
    assert indexes.changed({"text": "", "graph": "starter"}) == []


@pytest.mark.usefixtures("other_starter")
def test_one_that_is_built_again_is_another(tmp_path: Path) -> None:
    build("mine", tmp_path)
    indexes = opened("")
    build("mine", tmp_path)
    assert indexes.changed(AUTOMATIC) == ["graph"]
