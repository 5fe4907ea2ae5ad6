from __future__ import annotations

import json
import os
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.processes import dead_process

from atomr_local.errors import InputError, KnowledgeIndexError
from atomr_local.indexing import store
from atomr_local.indexing.builds import publishing
from atomr_local.indexing.builds.ledger import changing
from atomr_local.indexing.verify import verify_indexes
from atomr_local.system import paths
from atomr_local.system.files import exchange


def publish(name: str, content: str = "x", kind: store.IndexKind = "text") -> Path:
    with publishing.resumable(kind, name) as scratch:
        (scratch / "data").write_text(content)
        return publishing.publish(scratch, store.Manifest(kind, name, {"articles": 1, "passages": 2}, []))


def hidden(kind: str = "text") -> list[str]:
    return sorted(path.name for path in (paths.indexes_dir() / kind).iterdir() if path.name.startswith("."))


@pytest.mark.parametrize("name", ["a", "2wiki", "A.b_c-d", "x" * 64])
def test_names(name: str) -> None:
    assert store.check_name(name) == name


@pytest.mark.parametrize(
    "name", ["", ".", "..", ".hidden", "a/b", "../a", "a b", "-a", "a\n", "é", "x" * 65, "\x1b[2J"]
)
def test_what_cannot_name_an_index(name: str) -> None:
    with pytest.raises(InputError):
        store.index_path("text", name)


def test_publish_then_replace() -> None:
    directory = publish("mine", "old")
    assert (directory / "data").read_text() == "old"
    assert publish("mine", "new") == directory
    assert (directory / "data").read_text() == "new"
    assert store.read_manifest(directory).bytes == 3
    assert hidden() == []


def test_a_build_that_fails_changes_nothing() -> None:
    directory = publish("mine", "old")
    with pytest.raises(RuntimeError), publishing.resumable("text", "mine") as scratch:
        (scratch / "data").write_text("new")
        raise RuntimeError
    assert (directory / "data").read_text() == "old"
    assert hidden() == []


def test_the_old_index_comes_back_when_publishing_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    directory = publish("mine", "old")
    rename = Path.rename

    def failing(self: Path, target: Path) -> Path:
        if self.name.endswith(".building"):
            raise OSError("no space")
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", failing)
    with pytest.raises(OSError, match="no space"):
        publish("mine", "new")
    assert (directory / "data").read_text() == "old"
    assert hidden() == []


def test_a_reader_finds_an_index_at_every_moment_of_publishing() -> None:
    directory = publish("mine", "0")
    if not _can_exchange(directory.parent):
        pytest.skip("this file system cannot exchange two names")
    problems: list[Exception] = []
    read, done = threading.Event(), threading.Event()

    def keep_reading() -> None:
        while not done.is_set():
            try:
                store.read_manifest(directory)
                (directory / "data").read_text()
            except Exception as error:
                problems.append(error)
            read.set()

    reader = threading.Thread(target=keep_reading)
    reader.start()
    try:
        assert read.wait(10)
        for number in range(1, 30):
            publish("mine", str(number))
    finally:
        done.set()
        reader.join(10)
    assert problems == []
    assert (directory / "data").read_text() == "29"
    assert hidden() == [] and not (directory / publishing.LOCK).exists()


def _can_exchange(folder: Path) -> bool:
    one, other = folder / ".one", folder / ".other"
    one.mkdir()
    other.mkdir()
    try:
        return exchange(one, other)
    finally:
        one.rmdir()
        other.rmdir()


def test_without_an_exchange_of_names_the_old_index_is_set_aside(monkeypatch: pytest.MonkeyPatch) -> None:
    directory = publish("mine", "old")
    monkeypatch.setattr(publishing, "exchange", lambda _one, _other: False)
    publish("mine", "new")
    assert (directory / "data").read_text() == "new"
    assert hidden() == [] and not (directory / publishing.LOCK).exists()


def test_what_a_process_left_that_died_between_exchange_and_clearing_up_is_no_build() -> None:
    directory = publish("mine", "new")
    left = publishing.unfinished_path("text", "mine")
    left.mkdir()
    (left / "data").write_text("old")
    (left / publishing.LOCK).touch()
    (left / store.MANIFEST).write_text((directory / store.MANIFEST).read_text())
    publishing.clear_leftovers("text", "mine")
    assert hidden() == []
    (left / "data").parent.mkdir()
    (left / "data").write_text("old")
    with changing("text", "mine") as scratch:
        assert [path.name for path in scratch.iterdir()] == [publishing.LOCK]
    assert (directory / "data").read_text() == "new"
    assert hidden() == []


def test_leftovers_of_dead_processes_go_and_those_of_living_ones_stay() -> None:
    dead_pid = dead_process()
    base = publish("mine").parent
    dead = [f".mine.building-{dead_pid}-abc_12", f".mine.old-{dead_pid}-abc_12"]
    kept = [
        f".mine.building-{os.getpid()}-abc_12",
        f".mine.building-{os.getppid()}-abc_12",
        f".other.building-{dead_pid}-abc_12",
        f".mine.building-{dead_pid}-a.building-{dead_pid}-x",
        ".mine.building-x-abc",
    ]
    for name in dead + kept:
        (base / name).mkdir()
        (base / name / "data").write_text("half")
    publish("mine", "new")
    assert hidden() == sorted(kept)


def test_an_index_set_aside_by_a_process_that_died_is_put_back() -> None:
    dead_pid = dead_process()
    directory = publish("mine", "old")
    directory.rename(directory.with_name(f".mine.old-{dead_pid}-abc"))
    with pytest.raises(RuntimeError), publishing.resumable("text", "mine"):
        raise RuntimeError
    assert (directory / "data").read_text() == "old"
    assert store.read_manifest(directory).name == "mine"


def test_a_name_that_holds_the_marker_is_published() -> None:
    dead_pid = dead_process()
    name = f"a.building-{dead_pid}-b"
    publish(name, "old")
    directory = publish(name, "new")
    assert (directory / "data").read_text() == "new"
    assert hidden() == []


def good_manifest() -> dict:
    return {
        "kind": "text", "name": "mine", "counts": {"articles": 1}, "inputs": [], "settings": {}, "built_at": "today",
        "bytes": 1, "schema": store.SCHEMA,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (None, "no finished index"),
        (b"", "cannot be read"),
        (b"{", "cannot be read"),
        (b"[]", "cannot be read"),
        (b"\xff\xff", "cannot be read"),
        (b"[" * 100_000, "cannot be read"),
        ({"schema": 99}, "another version"),
        ({"counts": []}, "not of its type"),
        ({"counts": {"articles": "many"}}, "not of its type"),
        ({"bytes": "7"}, "not of its type"),
        ({"kind": "../x"}, "not of its type"),
        ({"built_at": 5}, "not of its type"),
        ({"settings": None}, "not of its type"),
        ({"inputs": [{"path": 1, "size": 1, "sha256": ""}]}, "not of its type"),
        ({"inputs": [{"path": "a"}]}, "cannot be read"),
        ({"inputs": None}, "cannot be read"),
        ({"surprise": 1}, "cannot be read"),
    ],
)
def test_damage_is_explained_in_the_list(content: bytes | dict | None, problem: str) -> None:
    directory = publish("whole").with_name("mine")
    directory.mkdir()
    if isinstance(content, dict):
        content = json.dumps(good_manifest() | content).encode()
    if content is not None:
        (directory / store.MANIFEST).write_bytes(content)
    damaged, whole = store.list_indexes()
    assert (damaged.name, damaged.manifest, whole.name, whole.problem) == ("mine", None, "whole", None)
    assert problem in (damaged.problem or "")
    with pytest.raises(KnowledgeIndexError, match=problem):
        store.resolve("text", "mine")


def test_an_undamaged_manifest_passes() -> None:
    directory = paths.indexes_dir() / "text" / "mine"
    directory.mkdir(parents=True)
    (directory / store.MANIFEST).write_text(json.dumps(good_manifest()))
    assert store.read_manifest(directory).counts == {"articles": 1}


def test_the_list_goes_by_kind_and_name_and_leaves_out_what_is_hidden() -> None:
    assert store.list_indexes() == []
    for kind, name in (("graph", "b"), ("text", "z"), ("text", "a")):
        publish(name, kind=kind)  # type: ignore[arg-type]
    (paths.indexes_dir() / "text" / ".z.building-1-x").mkdir()
    (paths.indexes_dir() / "text" / "file").write_text("")
    assert [(entry.kind, entry.name) for entry in store.list_indexes()] == [
        ("text", "a"),
        ("text", "z"),
        ("graph", "b"),
    ]


def test_which_index_is_used() -> None:
    assert store.resolve("text") == "starter"
    publish("starter")
    assert store.resolve("text") == "starter"
    publish("mine")
    publish("facts", kind="graph")
    assert store.resolve("text") == "mine"
    assert store.resolve("text", "starter") == "starter"
    publish("yours")
    with pytest.raises(KnowledgeIndexError, match="mine, yours") as caught:
        store.resolve("text")
    assert "--text-index" in caught.value.hint
    assert store.resolve("text", "yours") == "yours"
    with pytest.raises(KnowledgeIndexError, match="'facts'") as caught:
        store.resolve("text", "facts")
    assert "mine, starter, yours" in caught.value.hint


def test_an_unusable_index_is_not_passed_over_in_silence() -> None:
    (publish("mine") / store.MANIFEST).unlink()
    told: list[str] = []
    assert store.resolve("text", tell=told.append) == "starter"
    (note,) = told
    assert "mine cannot be used, starter is used instead" in note
    assert "`atomr indexes verify mine`" in note
    publish("other")
    assert store.resolve("text", tell=told.append) == "other"
    assert "other is used instead" in told[1]
    assert store.resolve("text", "other", told.append) == "other"
    assert len(told) == 2  # who names an index gets what was named


def test_a_directory_that_may_not_be_read_is_told_as_that(monkeypatch: pytest.MonkeyPatch) -> None:
    base = publish("mine").parent
    iterdir = Path.iterdir

    def closed(self: Path) -> Iterator[Path]:
        if self == base:
            raise PermissionError(13, "Permission denied", str(self))
        return iterdir(self)

    monkeypatch.setattr(Path, "iterdir", closed)
    for look in (store.list_indexes, publishing.list_unfinished, lambda: store.resolve("text")):
        with pytest.raises(KnowledgeIndexError, match="Permission denied") as caught:
            look()
        assert str(base) in caught.value.message
        assert "may read it" in caught.value.hint


def test_a_file_that_may_not_be_read_needs_no_new_build(monkeypatch: pytest.MonkeyPatch) -> None:
    directory = publish("mine")
    file = directory / store.MANIFEST
    opened, access = store.read_text, os.access

    def closed(path: Path, most: int) -> str:
        if path == file:
            raise PermissionError(13, "Permission denied", str(path))
        return opened(path, most)

    monkeypatch.setattr(store, "read_text", closed)
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path) != file and access(path, mode))
    with pytest.raises(KnowledgeIndexError, match="Permission denied") as caught:
        store.resolve("text", "mine")
    assert caught.value.hint == f"{file} may not be read by this user: change its permissions."
    (report,) = verify_indexes("mine")
    assert report.hint == caught.value.hint


def test_the_parts_that_an_index_cannot_be_without() -> None:
    directory = publish("mine", kind="graph")
    (entry,) = store.list_indexes()
    assert entry.damage() == "oxigraph and names.sqlite are missing"
    (directory / "oxigraph").mkdir()
    assert entry.damage() == "names.sqlite is missing"
    (directory / "names.sqlite").touch()
    assert entry.damage() == ""
