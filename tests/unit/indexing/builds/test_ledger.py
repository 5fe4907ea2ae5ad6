from __future__ import annotations

import errno
import hashlib
import json
import os
from pathlib import Path

import pytest

from atomr_local.errors import Cancelled, InputError, KnowledgeIndexError
from atomr_local.indexing import store
from atomr_local.indexing.builds import ledger as ledger_module
from atomr_local.indexing.builds import publishing
from atomr_local.indexing.builds.ledger import Ledger, read_ledger
from atomr_local.system.cancellation import Cancellation


@pytest.fixture
def inputs(tmp_path: Path) -> list[Path]:
    files = [tmp_path / "a.jsonl", tmp_path / "b.jsonl"]
    for file in files:
        file.write_text(f"content of {file.name}")
    return files


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    (tmp_path / "build").mkdir()
    return tmp_path / "build"


def test_inputs_are_named_from_the_root(
    directory: Path, inputs: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    ledger = Ledger.open(directory, "text", [Path("a.jsonl")], {})
    assert [item.path for item in ledger.inputs] == [str(inputs[0])]


def test_what_was_committed_is_found_again(directory: Path, inputs: list[Path]) -> None:
    first = Ledger.open(directory, "text", inputs, {"limit": 3, "names": ("a", "b")})
    assert (first.state, first.resumed, first.note) == ({}, False, "")
    assert read_ledger(directory) is None
    first.commit({"file": 0, "record": 7})
    first.commit({"file": 1, "record": 2})
    (directory / "data").write_text("half")

    again = Ledger.open(directory, "text", inputs, {"limit": 3, "names": ("a", "b")})
    assert (again.state, again.resumed, again.note) == ({"file": 1, "record": 2}, True, "")
    assert (directory / "data").exists()
    assert [(i.path, i.size, i.sha256) for i in again.inputs] == [
        (str(f), f.stat().st_size, hashlib.sha256(f.read_bytes()).hexdigest()) for f in inputs
    ]
    assert read_ledger(directory) == again.__class__(
        directory, "text", again.inputs, again.settings, again.state, _stamps=again._stamps
    )


@pytest.mark.parametrize("what", ["content", "order", "fewer", "settings", "kind"])
def test_another_build_begins_anew_and_says_so(directory: Path, inputs: list[Path], what: str) -> None:
    Ledger.open(directory, "text", inputs, {"limit": 3}).commit({"record": 7})
    (directory / "table").mkdir()
    (directory / "table" / "data").write_text("half")
    (directory / publishing.LOCK).write_text("")
    settings, kind, files = {"limit": 3}, "text", list(inputs)
    if what == "content":
        stamp = inputs[1].stat()
        inputs[1].write_text("CONTENT of b.jsonl")
        os.utime(inputs[1], ns=(stamp.st_atime_ns, stamp.st_mtime_ns + 1))
    elif what == "order":
        files.reverse()
    elif what == "fewer":
        files.pop()
    elif what == "settings":
        settings = {"limit": 4}
    else:
        kind = "graph"
    ledger = Ledger.open(directory, kind, files, settings)  # type: ignore[arg-type]
    assert (ledger.state, ledger.resumed) == ({}, False)
    assert "discarded" in ledger.note
    assert [path.name for path in directory.iterdir()] == [publishing.LOCK]


def test_a_file_that_was_moved_or_touched_is_still_the_same(
    directory: Path, inputs: list[Path], tmp_path: Path
) -> None:
    Ledger.open(directory, "text", inputs, {}).commit({"record": 7})
    moved = inputs[0].rename(tmp_path / "moved.jsonl")
    os.utime(inputs[1], ns=(1, 1))
    ledger = Ledger.open(directory, "text", [moved, inputs[1]], {})
    assert ledger.resumed
    assert ledger.inputs[0].path == str(moved)


@pytest.mark.parametrize(
    "damage",
    [b"", b"{", b"[]", b"\xff", b"[" * 100_000, b'{"schema": 1}', b'{"schema": 99, "kind": "text"}',
     b'{"schema": 2, "kind": "text", "inputs": 5, "settings": {}, "state": {}}',
     b'{"schema": 2, "kind": "text", "inputs": [], "settings": {}, "state": 7}'],
)  # fmt: skip
def test_a_damaged_ledger_is_not_believed(directory: Path, inputs: list[Path], damage: bytes) -> None:
    (directory / publishing.LEDGER).write_bytes(damage)
    (directory / "data").write_text("half")
    assert read_ledger(directory) is None
    ledger = Ledger.open(directory, "text", inputs, {})
    assert (ledger.state, ledger.resumed) == ({}, False)
    assert "discarded" in ledger.note
    assert list(directory.iterdir()) == []


def test_a_missing_input_is_named_and_nothing_is_thrown_away(directory: Path, inputs: list[Path]) -> None:
    Ledger.open(directory, "text", inputs, {}).commit({"record": 7})
    (directory / "data").write_text("half")
    inputs[0].unlink()
    with pytest.raises(InputError, match=r"a\.jsonl cannot be read"):
        Ledger.open(directory, "text", inputs, {})
    assert (directory / "data").exists()


def test_hashing_is_told_and_can_be_cancelled(
    directory: Path, inputs: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ledger_module, "_CHUNK", 10)
    seen: list[int] = []
    Ledger.open(directory, "text", inputs, {}, hashing=seen.append)
    assert seen == [10, 18, 28, 36]
    cancellation = Cancellation()
    with pytest.raises(Cancelled):
        Ledger.open(directory, "text", inputs, {}, cancellation=cancellation, hashing=lambda _: cancellation.cancel())


def test_an_input_that_changes_meanwhile_is_found_out(directory: Path, inputs: list[Path]) -> None:
    ledger = Ledger.open(directory, "text", inputs, {})
    ledger.check_inputs()
    inputs[1].write_text("something longer than before")
    with pytest.raises(InputError, match=r"b\.jsonl was changed"):
        ledger.check_inputs()


@pytest.mark.parametrize("call", ["fsync", "replace"])
@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EIO])
def test_a_failed_commit_leaves_the_one_before(
    directory: Path, inputs: list[Path], monkeypatch: pytest.MonkeyPatch, call: str, number: int
) -> None:
    ledger = Ledger.open(directory, "text", inputs, {})
    ledger.commit({"record": 7})

    def failing(*_: object) -> None:
        raise OSError(number, os.strerror(number))

    with monkeypatch.context() as patch:
        owner = os if call == "fsync" else Path
        patch.setattr(owner, call, failing)
        with pytest.raises(OSError, match=os.strerror(number)):
            ledger.commit({"record": 8})
    assert ledger.state == {"record": 7}
    assert [path.name for path in directory.iterdir()] == [publishing.LEDGER]
    assert Ledger.open(directory, "text", inputs, {}).state == {"record": 7}


# The directory that it lies in.


def test_a_build_directory_outlives_a_failure_only_with_a_ledger() -> None:
    with pytest.raises(RuntimeError), publishing.resumable("graph", "mine") as scratch:
        (scratch / "data").write_text("half")
        raise RuntimeError
    assert not scratch.exists()
    with pytest.raises(RuntimeError), publishing.resumable("graph", "mine") as scratch:
        Ledger.open(scratch, "graph", [], {}).commit({"done": 1})
        (scratch / "data").write_text("half")
        raise RuntimeError
    assert scratch == publishing.unfinished_path("graph", "mine")
    (left,) = publishing.list_unfinished()
    assert (left.kind, left.name, left.resumable, left.running) == ("graph", "mine", True, False)
    assert store.list_indexes() == []

    with publishing.resumable("graph", "mine") as scratch:
        assert Ledger.open(scratch, "graph", [], {}).state == {"done": 1}
        assert (scratch / "data").read_text() == "half"
        directory = publishing.publish(scratch, store.Manifest("graph", "mine", {"triples": 1}, []))
    assert not scratch.exists()
    assert sorted(path.name for path in directory.iterdir()) == ["data", store.DIGESTS, store.MANIFEST]
    assert store.read_manifest(directory).bytes == 4
    assert publishing.list_unfinished() == []


def test_two_builds_of_one_name_cannot_run_together() -> None:
    with publishing.resumable("text", "mine") as scratch:
        (left,) = publishing.list_unfinished()
        assert left.running
        told = pytest.raises(KnowledgeIndexError, match="another process is building the text index 'mine'")
        with told, publishing.resumable("text", "mine"):
            pytest.fail("both run")
        with pytest.raises(KnowledgeIndexError, match="another process"):
            publishing.remove("text", "mine")
        assert scratch.exists()
        with publishing.resumable("text", "other"), publishing.resumable("graph", "mine"):
            pass


def test_removing_frees_the_index_and_what_was_left_of_it() -> None:
    for name in ("mine", "other"):
        with publishing.resumable("text", name) as scratch:
            (scratch / "data").write_bytes(b"x" * 1000)
            publishing.publish(scratch, store.Manifest("text", name, {"passages": 1}, []))
    with pytest.raises(RuntimeError), publishing.resumable("text", "mine") as scratch:
        Ledger.open(scratch, "text", [], {}).commit({"done": 1})
        raise RuntimeError
    dropped = publishing.remove("text", "mine", unfinished_only=True)
    assert 0 < dropped < 1000
    assert publishing.list_unfinished() == []
    assert [entry.name for entry in store.list_indexes()] == ["mine", "other"]
    with pytest.raises(KnowledgeIndexError, match="no unfinished build"):
        publishing.remove("text", "mine", unfinished_only=True)
    assert publishing.remove("text", "mine") > 1000
    assert [entry.name for entry in store.list_indexes()] == ["other"]
    with pytest.raises(KnowledgeIndexError, match="no text index named 'mine'"):
        publishing.remove("text", "mine")
    assert [path.name for path in store.index_path("text", "mine").parent.iterdir()] == ["other"]


def test_a_damaged_index_and_a_link_can_be_removed(tmp_path: Path) -> None:
    directory = store.index_path("text", "broken")
    directory.mkdir(parents=True)
    (directory / store.MANIFEST).write_text("{")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "kept").write_text("x")
    store.index_path("text", "link").symlink_to(elsewhere)
    publishing.remove("text", "broken")
    publishing.remove("text", "link")
    assert (elsewhere / "kept").exists()
    assert list(directory.parent.iterdir()) == []


def test_the_ledger_is_plain_json(directory: Path, inputs: list[Path]) -> None:
    Ledger.open(directory, "text", inputs, {"a": 1}).commit({"record": 7})
    data = json.loads((directory / publishing.LEDGER).read_text())
    assert set(data) == {"schema", "kind", "inputs", "settings", "state"}
    assert data["settings"] == {"a": 1}
