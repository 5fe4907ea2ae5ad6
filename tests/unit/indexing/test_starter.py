from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from support.fake_embedder import FakeEmbedder
from support.places import PYTHONPATH

from atomr_local.errors import InputError, KnowledgeIndexError
from atomr_local.indexing import store
from atomr_local.indexing.starter import ensure_index
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


def test_a_damaged_starter_is_built_again(shipped: Path) -> None:
    directory = ensure_index("text", "starter", FakeEmbedder)
    (directory / store.MANIFEST).write_text("{")
    ensure_index("text", "starter", FakeEmbedder)
    assert store.read_manifest(directory).counts["articles"] == 1


def test_a_starter_without_its_passages_is_built_again(shipped: Path) -> None:
    import shutil

    directory = ensure_index("text", "starter", FakeEmbedder)
    shutil.rmtree(directory / "passages.lance")
    assert (ensure_index("text", "starter", FakeEmbedder) / "passages.lance").is_dir()


def test_another_embedder_builds_it_again(shipped: Path) -> None:
    directory = ensure_index("text", "starter", FakeEmbedder)
    ensure_index("text", "starter", lambda: FakeEmbedder("fake:2"))
    assert store.read_manifest(directory).settings["embedder"] == "fake:2"


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
