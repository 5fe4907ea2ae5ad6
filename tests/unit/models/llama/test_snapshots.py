"""States of prompts in memory and on disk: what is kept, what goes, what a damaged or full disk does."""

from __future__ import annotations

import ctypes
import hashlib
import os
from pathlib import Path
from typing import Any

import pytest

from atomr_local.models.llama.prefix_cache import Snapshots, damaged_snapshots

DIGEST = 32
A, B, C = (1, 2, 3), (4, 5, 6), (7, 8, 9)


def state(size: int, fill: int = 7) -> Any:
    """As llama.cpp gives one."""
    return (ctypes.c_uint8 * size)(*([fill] * size))


def store(folder: Path | None, most_bytes: int = 10_000, most_tokens: int = 100) -> Snapshots:
    return Snapshots(most_tokens, folder, most_bytes)


def files(root: Path) -> list[Path]:
    return sorted(path for path in root.rglob("*") if path.is_file())


def date(path: Path, seconds: int) -> None:
    os.utime(path, (seconds, seconds))


def test_memory_keeps_the_states_used_last_by_their_tokens() -> None:
    kept = store(None, most_tokens=6)
    kept.put(A, state(10))
    kept.put(B, state(10))
    assert kept[A] is not None  # now used after B
    kept.put(C, state(10))
    assert list(kept) == [A, C]
    assert not kept.find(B)
    kept.put((1,) * 6, state(10))
    assert list(kept) == [(1,) * 6]


def test_putting_a_state_again_counts_its_tokens_once() -> None:
    kept = store(None, most_tokens=6)
    kept.put(A, state(1))
    kept.put(B, state(1))
    kept.put(A, state(2))
    assert list(kept) == [B, A]
    assert len(kept[A]) == 2


def test_clearing_and_dropping(tmp_path: Path) -> None:
    kept = store(tmp_path / "model")
    kept.put(A, state(10))
    kept.put(B, state(10))
    kept.clear()
    assert list(kept) == []
    assert kept.find(A) and kept.find(B)
    kept.drop(A)
    kept.drop(C)  # never there
    assert list(kept) == [B]
    assert not kept.find(A)
    assert len(files(tmp_path)) == 1


def test_another_start_reads_what_one_wrote(tmp_path: Path) -> None:
    store(tmp_path / "model").put(A, state(50, fill=9))
    later = store(tmp_path / "model")
    assert list(later) == []
    assert not later.find(B)
    assert later.find(A)
    assert list(later) == [A]
    assert isinstance(later[A], ctypes.Array)  # as the engine's `restore` takes it
    assert bytes(later[A]) == bytes([9]) * 50
    assert not store(tmp_path / "another model").find(A)


def test_prefixes_that_begin_alike_are_told_apart(tmp_path: Path) -> None:
    kept = store(tmp_path / "model")
    kept.put((1, 2), state(1, fill=1))
    kept.put((1, 2, 0), state(1, fill=2))
    kept.put((258,), state(1, fill=3))
    later = store(tmp_path / "model")
    found = {prefix: later.find(prefix) and bytes(later[prefix]) for prefix in ((1, 2), (1, 2, 0), (258,))}
    assert found == {(1, 2): b"\1", (1, 2, 0): b"\2", (258,): b"\3"}


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: data[:-1],
        lambda data: data + b"x",
        lambda data: data[: DIGEST - 1],
        lambda data: data[:DIGEST],
        lambda data: hashlib.sha256(b"").digest(),
        lambda data: b"",
        lambda data: bytes([data[0] ^ 1]) + data[1:],
        lambda data: data[:-1] + bytes([data[-1] ^ 1]),
        lambda data: bytes(len(data)),
    ],
)
def test_a_damaged_file_is_deleted_and_not_used(tmp_path: Path, damage: Any) -> None:
    store(tmp_path / "model").put(A, state(50))
    [path] = files(tmp_path)
    path.write_bytes(damage(path.read_bytes()))
    later = store(tmp_path / "model")
    assert not later.find(A)
    assert list(later) == []
    assert not path.exists()
    later.put(A, state(50))
    assert store(tmp_path / "model").find(A)


def test_the_budget_counts_all_folders_and_the_oldest_go(tmp_path: Path) -> None:
    size = 100 - DIGEST
    store(tmp_path / "one", 300).put(A, state(size))
    [first] = files(tmp_path)
    date(first, 1000)
    store(tmp_path / "two", 300).put(B, state(size))
    second = next(path for path in files(tmp_path) if path != first)
    date(second, 2000)
    third = store(tmp_path / "two", 300)
    third.put(C, state(size))
    assert len(files(tmp_path)) == 3  # exactly full
    third.put((1,), state(size))
    assert not first.exists() and second.exists()
    assert sum(path.stat().st_size for path in files(tmp_path)) == 300
    third.put((2,), state(2 * size + DIGEST))  # needs two files' room
    assert not second.exists()
    assert sum(path.stat().st_size for path in files(tmp_path)) <= 300
    assert third.find((2,))


def test_reading_a_file_makes_it_the_one_used_last(tmp_path: Path) -> None:
    size = 100 - DIGEST
    kept = store(tmp_path / "model", 200)
    kept.put(A, state(size))
    [path] = files(tmp_path)
    date(path, 2000)
    kept.put(B, state(size))
    date(next(other for other in files(tmp_path) if other != path), 3000)
    later = store(tmp_path / "model", 200)
    assert later.find(A)
    later.put(C, state(size))
    again = store(tmp_path / "model", 200)
    assert (again.find(A), again.find(B), again.find(C)) == (True, False, True)


def test_a_state_larger_than_the_budget_is_not_written_and_drives_nothing_out(tmp_path: Path) -> None:
    kept = store(tmp_path / "model", 200)
    kept.put(A, state(100))
    kept.put(B, state(200 - DIGEST + 1))
    assert len(files(tmp_path)) == 1
    assert kept.find(B)  # in memory all the same
    assert store(tmp_path / "model", 200).find(A)
    kept.put(B, state(200 - DIGEST))
    assert store(tmp_path / "model", 200).find(B)


def test_nothing_is_written_without_a_folder_a_budget_or_a_prefix(tmp_path: Path) -> None:
    store(None).put(A, state(10))
    store(tmp_path / "model", 0).put(A, state(10))
    kept = store(tmp_path / "model")
    kept.put((), state(10))
    kept.drop(())
    assert not kept.find(())
    assert files(tmp_path) == []


def test_a_folder_that_cannot_be_written_is_silent(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    for folder in (tmp_path / "file", tmp_path / "file" / "model"):
        kept = store(folder)
        kept.put(A, state(10))
        assert kept.find(A)
        kept.drop(A)
        assert not kept.find(A)
    assert files(tmp_path) == [tmp_path / "file"]


def test_a_disk_that_fills_up_leaves_no_half_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(self: Path, target: Path) -> Path:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    kept = store(tmp_path / "model")
    kept.put(A, state(10))
    assert kept.find(A)
    assert files(tmp_path) == []


def test_a_file_that_another_process_deletes_while_room_is_made_stops_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = store(tmp_path / "model", 100)
    kept.put(A, state(100 - DIGEST))
    unlink = Path.unlink

    def raced(self: Path, missing_ok: bool = False) -> None:
        unlink(self)
        unlink(self, missing_ok=missing_ok)

    monkeypatch.setattr(Path, "unlink", raced)
    kept.put(B, state(100 - DIGEST))
    monkeypatch.undo()
    assert len(files(tmp_path)) == 1
    assert store(tmp_path / "model", 100).find(B)


def test_a_state_in_the_place_of_another_is_not_used(tmp_path: Path) -> None:
    """Whole by itself, and the wrong one: answers would change."""
    kept = store(tmp_path / "model")
    kept.put(A, state(10, fill=1))
    [first] = files(tmp_path)
    kept.put(B, state(10, fill=2))
    second = next(path for path in files(tmp_path) if path != first)
    other = tmp_path / "another model" / first.name
    other.parent.mkdir()
    other.write_bytes(first.read_bytes())
    second.write_bytes(first.read_bytes())
    assert not store(tmp_path / "model").find(B)
    assert not store(tmp_path / "another model").find(A)
    assert store(tmp_path / "model").find(A)


def test_damaged_states_are_counted(tmp_path: Path) -> None:
    assert damaged_snapshots(tmp_path) == (0, [])
    kept = store(tmp_path / "model")
    for prefix in (A, B, C):
        kept.put(prefix, state(10))
    assert damaged_snapshots(tmp_path) == (3, [])
    path = files(tmp_path)[0]
    path.write_bytes(path.read_bytes()[:-1])
    assert damaged_snapshots(tmp_path) == (3, [path])
