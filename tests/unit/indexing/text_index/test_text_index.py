from __future__ import annotations

import gzip
import hashlib
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from support.fake_embedder import DIMENSIONS, FakeEmbedder
from support.places import PYTHONPATH

from atomr_local.errors import Cancelled, InputError, KnowledgeIndexError
from atomr_local.indexing import store
from atomr_local.indexing.text_index import build as text_build
from atomr_local.indexing.text_index import index as text_index
from atomr_local.indexing.text_index.build import TextBuildProgress
from atomr_local.indexing.text_index.index import build_text_index
from atomr_local.indexing.text_index.table import TABLE, connect
from atomr_local.system import paths
from atomr_local.system.cancellation import Cancellation


def corpus(folder: Path, *titles: str, name: str = "corpus.jsonl") -> Path:
    file = folder / name
    rows = [
        {"id": f"{name} {i}", "title": title, "text": f"{title} is here. " * 3, "lang": "en"}
        for i, title in enumerate(titles)
    ]
    file.write_text("\n".join(json.dumps(row) for row in rows), encoding="utf-8")
    return file


def build(*files: Path, name: str = "mine", **options) -> store.Manifest:
    return build_text_index(files, name, embedder=FakeEmbedder(), **options)


def titles(name: str = "mine") -> list[str]:
    table = connect(store.index_path("text", name)).open_table(TABLE)
    return sorted(table.to_arrow().column("title").to_pylist())


def hidden() -> list[str]:
    return [path.name for path in (paths.indexes_dir() / "text").iterdir() if path.name.startswith(".")]


def test_the_manifest_says_what_was_built_from_what(tmp_path: Path) -> None:
    file = corpus(tmp_path, "Como", "Garda")
    with file.open("ab") as stream:
        stream.write(b"\n{broken")
    manifest = build(file)
    assert manifest == store.read_manifest(store.index_path("text", "mine"))
    assert manifest.counts == {"articles": 2, "passages": 2}
    assert manifest.inputs == [
        store.InputFile(str(file), file.stat().st_size, hashlib.sha256(file.read_bytes()).hexdigest())
    ]
    assert manifest.settings["embedder"] == "fake:1"
    assert manifest.settings["dimensions"] == DIMENSIONS
    assert manifest.settings["skipped"]["count"] == 1
    assert manifest.settings["skipped"]["samples"][0][1] == 3
    assert manifest.bytes > 1000
    assert hidden() == []


def test_passages_point_into_their_article(tmp_path: Path) -> None:
    text = "First sentence here. " * 100
    file = tmp_path / "corpus.jsonl"
    file.write_text(json.dumps({"id": "a", "title": "Long", "text": text, "qid": "Q1", "source": "x"}))
    assert build(file).counts == {"articles": 1, "passages": 3}
    rows = connect(store.index_path("text", "mine")).open_table(TABLE).to_arrow().to_pylist()
    assert [row["id"] for row in rows] == ["a#0", "a#1", "a#2"]
    for row in rows:
        assert row["text"] == text[row["start"] : row["end"]]
        assert (row["article"], row["qid"], json.loads(row["metadata"])) == ("a", "Q1", {"source": "x"})


def test_several_inputs_a_limit_and_progress(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_build, "BATCH", 2)
    first = corpus(tmp_path, "A", "B", "C")
    second = tmp_path / "second.gz"
    second.write_bytes(gzip.compress(corpus(tmp_path, "D", "E", name="plain").read_bytes()))
    states: list[TextBuildProgress] = []
    assert build(first, second, progress=states.append).counts["articles"] == 5
    assert titles() == ["A", "B", "C", "D", "E"]
    assert [state.stage for state in states] == ["embedding"] * 3 + ["indexing"]
    assert [state.done for state in states] == sorted(state.done for state in states)
    assert states[-1].done == states[-1].total == first.stat().st_size + second.stat().st_size
    assert build(first, second, limit=4).counts["articles"] == 4
    assert titles() == ["A", "B", "C", "D"]


def test_bad_names_and_inputs_change_nothing(tmp_path: Path) -> None:
    good = corpus(tmp_path, "Old")
    build(good)
    no_corpus = tmp_path / "story.txt"
    no_corpus.write_text("Once upon a time\n")
    for files in ((), (tmp_path / "absent",), (no_corpus,)):
        with pytest.raises(InputError):
            build(*files)
    with pytest.raises(InputError):
        build(good, name="../evil")
    assert titles() == ["Old"]
    assert hidden() == []


@pytest.mark.parametrize("error", [RuntimeError("stop"), KeyboardInterrupt()])
def test_an_exception_in_the_middle_leaves_the_old_index(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException
) -> None:
    monkeypatch.setattr(text_build, "BATCH", 1)
    build(corpus(tmp_path, "Old"))

    def progress(state: TextBuildProgress) -> None:
        if state.passages == 2:
            raise error

    with pytest.raises(type(error)):
        build(corpus(tmp_path, "A", "B", "C"), progress=progress)
    assert titles() == ["Old"]
    assert hidden() == [".mine.building"]
    build(corpus(tmp_path, "A", "B", "C"))
    assert titles() == ["A", "B", "C"]
    assert hidden() == []


@pytest.mark.parametrize("stage", ["embedding", "indexing"])
def test_cancelling_leaves_the_old_index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stage: str) -> None:
    monkeypatch.setattr(text_build, "BATCH", 1)
    build(corpus(tmp_path, "Old"))
    cancellation = Cancellation()
    with pytest.raises(Cancelled):
        build(
            corpus(tmp_path, "A", "B"),
            progress=lambda state: cancellation.cancel() if state.stage == stage else None,
            cancellation=cancellation,
        )
    assert titles() == ["Old"]
    assert build(corpus(tmp_path, "A", "B")).counts == {"articles": 2, "passages": 2}
    assert titles() == ["A", "B"]
    assert hidden() == []


KILLED = """
import sys, time
from pathlib import Path
from support.fake_embedder import FakeEmbedder
from atomr_local.indexing.text_index import build as text_build
from atomr_local.indexing.text_index import index as text_index
text_build.BATCH = 1
def progress(state):
    if state.passages == 2:
        print("half", flush=True)
        time.sleep(600)
text_index.build_text_index([Path(sys.argv[1])], "mine", embedder=FakeEmbedder(), progress=progress)
"""


@pytest.mark.slow
def test_a_killed_build_leaves_the_old_index_and_the_next_build_clears_up(tmp_path: Path) -> None:
    build(corpus(tmp_path, "Old"))
    file = corpus(tmp_path, "A", "B", "C")
    process = subprocess.Popen(
        [sys.executable, "-c", KILLED, str(file)],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": PYTHONPATH},
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "half\n"
        beside = hidden()
        assert beside == [".mine.building"]
        assert titles() == ["Old"]
        with pytest.raises(KnowledgeIndexError, match="another process is building"):
            build(file)
    finally:
        process.kill()
        process.wait()
    assert titles() == ["Old"]
    assert hidden() == beside
    assert [entry.problem for entry in store.list_indexes()] == [None]
    build(file)
    assert titles() == ["A", "B", "C"]
    assert hidden() == []


def test_a_failing_store_is_told_plainly(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class FakeEmbedderOfWrongSize(FakeEmbedder):
        def encode(self, texts):
            return super().encode(texts)[:, :3]

    file = corpus(tmp_path, "A")
    with pytest.raises(KnowledgeIndexError, match="cannot be written"):
        build_text_index([file], "mine", embedder=FakeEmbedderOfWrongSize())
    (paths.indexes_dir() / "text" / "mine").parent.mkdir(parents=True, exist_ok=True)
    with monkeypatch.context() as patch:
        patch.setattr(text_index.publishing, "publish", lambda *_: (_ for _ in ()).throw(OSError("a bad disk")))
        with pytest.raises(KnowledgeIndexError, match="a bad disk"):
            build(file)
    assert build(file).counts["articles"] == 1
    assert hidden() == []


def test_hostile_articles_are_stored_as_they_are(tmp_path: Path) -> None:
    file = tmp_path / "corpus.jsonl"
    rows = [
        {"id": "../../x", "title": "\x1b[2J", "text": "\x00 nul", "metadata": {"deep": [[[]]]}},
        {"id": "'; DROP TABLE passages; --", "title": "é😀", "text": "x" * 300_000},
    ]
    file.write_text("\n".join(json.dumps(row) for row in rows))
    started = time.process_time()  # not of the clock: what else the machine does costs nothing
    assert build(file).counts["articles"] == 2
    assert time.process_time() - started < 30
    assert set(titles()) == {"\x1b[2J", "é😀"}
