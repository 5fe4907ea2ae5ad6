"""A build that dies between any two steps ends with the index of an undisturbed one."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from support.edited_folder import index_content
from support.fake_embedder import DIMENSIONS, FakeEmbedder
from support.text_indexes import content, hidden, rows, written_articles

from atomr_local.errors import Cancelled, KnowledgeIndexError
from atomr_local.indexing import store
from atomr_local.indexing.builds import publishing
from atomr_local.indexing.builds.ledger import Ledger
from atomr_local.indexing.text_index import build as text_build
from atomr_local.indexing.text_index.catalog import Catalog
from atomr_local.indexing.text_index.documents import build_documents_index, sync_documents_index
from atomr_local.indexing.text_index.index import build_text_index
from atomr_local.indexing.text_index.shards import Shard, Shards, write_shard
from atomr_local.indexing.text_index.table import PassageTable
from atomr_local.system.cancellation import Cancellation

# The steps of a build that change something on the disk.
STEPS: list[tuple[Any, str]] = [
    (text_build, "write_shard"),
    (Catalog, "commit"),
    (Ledger, "commit"),
    *((PassageTable, name) for name in ("delete", "append", "index", "forget", "check_indexed")),
    (Catalog, "settle"),
    (publishing, "record"),
]


class Killed(BaseException):
    """Stands for the death of the process."""


@contextmanager
def killed_at(step: int) -> Iterator[list[str]]:
    """Die instead of the step of this number, from 0; gives the names of the steps that were come to."""
    taken: list[str] = []

    def watched(name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **options: Any) -> Any:
            taken.append(name)
            if len(taken) > step:
                raise Killed
            return real(*arguments, **options)

        return call

    with pytest.MonkeyPatch.context() as patch:
        for owner, name in STEPS:
            patch.setattr(owner, name, watched(name, getattr(owner, name)))
        yield taken


def kill_everywhere(run: Callable[[], object], prepare: Callable[[], object], check: Callable[[], object]) -> set[str]:
    """Kill `run` at its first step, its second and so on, let it go on each time; the steps at which it was killed."""
    seen: set[str] = set()
    step = 0
    while True:
        prepare()
        with killed_at(step) as taken:
            try:
                run()
            except Killed:
                seen.add(taken[step])
            else:
                return seen
        run()
        check()
        assert hidden() == []
        step += 1


@pytest.fixture(autouse=True)
def small_shards(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_build, "BATCH", 4)
    monkeypatch.setattr(text_build, "COMPACT_EVERY", 2)


def build(file: Path, name: str = "mine", **options: Any) -> store.Manifest:
    return build_text_index([file], name, embedder=FakeEmbedder(), **options)


@pytest.mark.slow
def test_a_build_that_dies_anywhere(tmp_path: Path) -> None:
    file = written_articles(tmp_path / "a.jsonl", {"A": "a*3", "B": "b*6", "C": "c*1"})
    build(file, "whole")

    def gone() -> None:
        if store.index_path("text", "mine").exists():
            publishing.remove("text", "mine")

    def same() -> None:
        assert content("mine") == content("whole")

    seen = kill_everywhere(lambda: build(file), gone, same)
    assert seen == {"write_shard", "commit", "append", "delete", "index", "forget", "check_indexed", "settle", "record"}


@pytest.mark.slow
def test_an_addition_that_dies_anywhere(tmp_path: Path) -> None:
    old = written_articles(tmp_path / "a.jsonl", {"A": "a*3", "B": "b*6", "C": "c*1"})
    new = written_articles(tmp_path / "b.jsonl", {"A": "x*5", "B": "b*6", "C": "y*2", "D": "d*4", "E": "e*1"})

    def whole(name: str) -> dict[str, Any]:
        found = content(name)
        found["settings"]["last_change"].pop("at")
        found["settings"].pop("base", None)
        return found | {"passages": sorted(found["passages"], key=lambda row: str(row["id"]))}

    build(old, "whole")
    build(new, "whole", add=True)
    expected = whole("whole")

    def same() -> None:
        assert whole("mine") == expected

    seen = kill_everywhere(lambda: build(new, add=True), lambda: build(old), same)
    assert {"write_shard", "delete", "append", "index"} <= seen


@pytest.mark.slow
def test_a_sync_that_dies_anywhere_while_its_folder_changes(tmp_path: Path) -> None:
    folder = tmp_path / "notes"
    folder.mkdir()
    texts = {"a.txt": "Lakes are deep. " * 90, "b.txt": "Rivers are long.", "c.txt": "Hills are high. " * 50}
    changed = {"a.txt": "Seas are deep. " * 80, "c.txt": "", "d.txt": "Towers are high. " * 60}
    turn = 0

    def prepare() -> None:
        for name in ("a.txt", "b.txt", "c.txt", "d.txt"):
            (folder / name).unlink(missing_ok=True)
        for name, text in texts.items():
            (folder / name).write_text(text)
        build_documents_index([folder], "mine", embedder=FakeEmbedder())
        for name, text in changed.items():
            (folder / name).write_text(text)

    def run() -> None:
        nonlocal turn
        turn += 1
        if turn % 2 == 0:  # between the run that dies and the one that goes on
            (folder / "d.txt").write_text(f"Towers fell in the year {turn}. " * 60)
        sync_documents_index("mine", embedder=FakeEmbedder())

    def same() -> None:
        build_documents_index([folder], "fresh", embedder=FakeEmbedder())
        assert index_content("mine") == index_content("fresh")

    seen = kill_everywhere(run, prepare, same)
    assert {"write_shard", "delete", "append", "index"} <= seen


def test_the_old_kind_of_unfinished_build_is_begun_anew(tmp_path: Path) -> None:
    file = written_articles(tmp_path / "a.jsonl", {"A": "a*3", "B": "b*6"})
    stop = Cancellation()
    with pytest.raises(Cancelled):
        build(file, cancellation=stop, progress=lambda _: stop.cancel())
    scratch = publishing.unfinished_path("text", "mine")
    ledger = json.loads((scratch / publishing.LEDGER).read_text())
    state = {"stage": "reading", "version": 3, "rows": 4, "forgetting": False}
    (scratch / publishing.LEDGER).write_text(json.dumps(ledger | {"schema": 1, "state": state}))
    told: list[str] = []
    assert build(file, tell=told.append).counts == {"articles": 2, "passages": 9}
    assert told == ["an unfinished build of another version was discarded; this one starts over"]


def test_shards_lie_beside_no_index_and_in_none(tmp_path: Path) -> None:
    manifest = build(written_articles(tmp_path / "a.jsonl", {"A": "a*3", "B": "b*6"}))
    directory = store.index_path("text", "mine")
    assert not list(directory.rglob("shard-*"))
    beside = sum((directory / name).stat().st_size for name in (store.MANIFEST, store.DIGESTS))
    assert manifest.bytes == store.directory_size(directory) - beside
    left = directory / "shard-0.arrow"  # of a process that died right after it had published
    left.write_bytes(b"x")
    assert publishing.compare(directory).added == []
    assert build(written_articles(tmp_path / "b.jsonl", {"C": "c"}), add=True).counts["articles"] == 3
    assert not left.exists() and len(rows()) == 10


def test_runs_of_shards(tmp_path: Path) -> None:
    def row(name: str) -> dict[str, Any]:
        return {"id": name, "searched": name, "start": 0, "end": 1}

    shards = Shards(tmp_path)
    written = [
        Shard([row("a"), row("b")]), Shard([]), Shard([row("c")], ["a"]), Shard([], ["x", "y"]), Shard([row("d")]),
    ]  # fmt: skip
    for number, shard in enumerate(written):
        write_shard(shard, shards.file(number), DIMENSIONS, FakeEmbedder())
    found = [
        (gone, [name for batch in batches for name in batch["id"].to_pylist()]) for gone, batches in shards.runs(5)
    ]
    assert found == [([], ["a", "b"]), (["a"], ["c"]), (["x", "y"], ["d"])]
    again = tmp_path / "again.arrow"
    write_shard(Shard([row("a"), row("b")]), again, DIMENSIONS, FakeEmbedder())
    assert again.read_bytes() == shards.file(0).read_bytes()
    assert list(Shards(tmp_path / "none").runs(0)) == []
    shards.file(3).unlink()
    assert shards.missing(5) == [shards.file(3)]
    with pytest.raises(KnowledgeIndexError):
        shards.check(5)
