"""A damaged, emptied or read-only history: what can be read is read, what was lost is said, nothing is overwritten."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from support.history_fakes import a_trace
from support.places import TESTS

from atomr_local.assistant.history import opening as repair
from atomr_local.assistant.history.database import HistoryReadOnly
from atomr_local.assistant.history.store import History

COUNT = 30


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("whole") / "history.sqlite"
    with History.open(path) as history:
        for number in range(COUNT):
            history.record(a_trace(f"Question {number}?"))
    return path.parent


@pytest.fixture
def file(whole: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(whole, tmp_path / "history")) / "history.sqlite"


def sql(*statements: str) -> Callable[[Path], None]:
    def change(file: Path) -> None:
        with closing(sqlite3.connect(file, isolation_level=None)) as connection:
            connection.execute("PRAGMA writable_schema = ON")
            for statement in statements:
                connection.execute(statement)

    return change


@pytest.mark.parametrize(
    "damage",
    [
        sql("DELETE FROM questions_search_config"),
        sql("DROP TABLE questions_search_config"),
        sql("DROP TABLE questions_search_data"),
        sql("UPDATE questions_search_data SET block = x'ff00ff' WHERE id > 1"),
        sql("UPDATE questions_search_data SET block = x'00'"),
        sql("DELETE FROM questions_search_docsize", "DELETE FROM questions_search_idx"),
        sql("DELETE FROM sqlite_master WHERE name = 'questions_search'"),
        sql("DELETE FROM sqlite_master WHERE name LIKE 'questions_search_%'"),
    ],
    ids=["no config", "config dropped", "data dropped", "blocks", "all blocks", "emptied", "no table", "no shadows"],
)
def test_damaged_search_tables_are_made_again_and_no_question_is_lost(
    file: Path, damage: Callable[[Path], None]
) -> None:
    damage(file)
    with History.open(file) as history:
        assert history.count() == len(history.entries()) == COUNT
        assert [item.question for item in history.entries(search="question 7")] == ["Question 7?"]
        number = history.record(a_trace("What comes after it?"))
        assert [item.id for item in history.entries(search="comes after")] == [number]
        assert history.check() == []
        assert all(
            "no question was lost" in note or "30 questions were saved (all of them)" in note for note in history.notes
        )
        assert len(history.notes) <= 1
    with History.open(file) as history:
        assert history.notes == []


def test_a_search_that_finds_nothing_has_its_words_checked(file: Path) -> None:
    sql("DELETE FROM questions_search WHERE rowid = 5")(file)
    with History.open(file) as history:
        assert [item.id for item in history.entries(search="question 4")] == [5]
        assert "no question was lost" in history.notes[0]
        assert history.entries(search="nowhere") == []
        assert len(history.notes) == 1


def test_check_finds_words_that_are_not_those_of_the_questions(file: Path) -> None:
    sql("DELETE FROM questions_search WHERE rowid = 5")(file)
    with History.open(file) as history:
        assert history.check() == []
        (note,) = history.notes
        assert "The search index was rebuilt; no question was lost." in note
        assert [item.id for item in history.entries(search="question 4")] == [5]


@pytest.mark.parametrize("left", [0, 100, 4096, 20_000])
def test_a_file_that_was_cut_short_is_never_taken_for_a_new_one(file: Path, left: int) -> None:
    before = file.read_bytes()[:left]
    os.truncate(file, left)
    with History.open(file) as history:
        kept = history.count()
        (note,) = history.notes
    (aside,) = repair.damaged_files(file)
    assert aside.read_bytes() == before
    assert aside.name in note
    if left == 0:
        assert f"is empty, though {COUNT} questions were kept in it" in note
    assert f"{kept} questions were saved, {COUNT - kept} could not be read" in note
    with History.open(file) as history:
        assert history.notes == []
        assert history.record(a_trace()) == COUNT + 1


def test_a_file_that_is_gone_is_told_and_one_that_held_nothing_is_not(file: Path) -> None:
    file.unlink()
    with History.open(file) as history:
        assert history.entries() == []
        assert "is gone, though 30 questions were kept in it" in history.notes[0]
        history.record(a_trace())
        history.delete(None)
    file.unlink()
    with History.open(file) as history:
        assert history.notes == []


def test_an_emptied_file_gives_back_what_its_log_still_holds(file: Path) -> None:
    """SQLite would delete the log of an empty file without a word."""
    shutil.rmtree(file.parent)
    history = History.open(file)
    for number in range(COUNT):
        history.record(a_trace(f"Question {number}?"))
    log = file.with_name("history.sqlite-wal").read_bytes()
    history.close()
    file.write_bytes(b"")
    file.with_name("history.sqlite-wal").write_bytes(log)
    with History.open(file) as history:
        assert history.count() == COUNT
        assert "30 questions were saved (all of them)" in history.notes[0]
        assert history.check() == []


def test_a_lost_first_page_costs_no_question(file: Path) -> None:
    with file.open("r+b") as stream:
        stream.write(bytes(4096))
    broken = file.read_bytes()
    with History.open(file) as history:
        assert history.count() == COUNT
        assert [history.get(number).trace.question for number in (1, COUNT)] == ["Question 0?", "Question 29?"]
        assert "30 questions were saved (all of them)" in history.notes[0]
    assert repair.damaged_files(file)[0].read_bytes() == broken
    assert [item.name for item in file.parent.iterdir() if item.name.startswith(".salvage")] == []


@pytest.mark.parametrize("page", range(1, 14))
def test_one_damaged_page_costs_at_most_its_own_questions(file: Path, page: int) -> None:
    data = bytearray(file.read_bytes())
    start = page * 4096 % len(data)
    data[start : start + 4096] = bytes(byte ^ 0xA5 for byte in data[start : start + 4096])
    file.write_bytes(data)
    with History.open(file) as history:
        damaged = history.check()
        for item in history.entries():
            if item.id not in damaged:
                assert history.get(item.id).trace == a_trace(f"Question {item.id - 1}?")
        assert COUNT - history.count() + len(damaged) <= 4
        assert history.notes


READER = """
import os, sys
sys.path.insert(0, {tests!r})
from pathlib import Path
from support.history_fakes import a_trace
from atomr_local.errors import AtomrError
from atomr_local.assistant.history import trace_import
from atomr_local.assistant.history.store import History
History(Path(sys.argv[2], "history.sqlite")).close()  # all is imported that root alone might read
if os.geteuid() == 0:  # root may write anywhere
    os.setuid(65534)
with History.open(Path(sys.argv[1])) as history:
    print(history.read_only, history.count(), len(history.entries(search="question")), len(history.questions(9)))
    print(history.get(3).trace.question if history.count() else "", len(history.check()), history.notes)
    for change in (lambda: history.record(a_trace()), lambda: history.delete([3]), lambda: history.import_trace(a_trace("x"))):
        try:
            change()
            print("written")
        except AtomrError as error:
            print(error.message)
"""


def read_without_rights(file: Path) -> list[str]:
    """What a user sees who may read, and write nothing."""
    for item in (file.parent, *file.parent.iterdir()):
        item.chmod(0o555 if item.is_dir() else 0o444)
    code = READER.format(tests=str(TESTS))
    for parent in file.parent.parents:
        if os.geteuid() == 0 and parent.name.startswith(("pytest", "popen-", "test_")):
            parent.chmod(0o755)
    before = {item.name: item.read_bytes() for item in file.parent.iterdir()}
    with tempfile.TemporaryDirectory() as warm:
        command = [sys.executable, "-c", code, str(file), warm]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert {item.name: item.read_bytes() for item in file.parent.iterdir()} == before
    return done.stdout.splitlines()


def test_a_read_only_history_is_read_and_refuses_changes(file: Path) -> None:
    what, question, *refused = read_without_rights(file)
    assert what == f"True {COUNT} {COUNT} 9"
    assert question == "Question 2? 0 []"
    assert refused == [f"{file} cannot be written: permission denied, or the disk is read-only"] * 3


def test_what_stands_in_the_log_only_is_read_too(file: Path) -> None:
    history = History.open(file)
    history.record(a_trace("Question of the log?"))
    copy = file.parent.with_name("copy")
    shutil.copytree(file.parent, copy)
    history.close()
    assert (copy / "history.sqlite-wal").stat().st_size
    assert read_without_rights(copy / "history.sqlite")[0] == f"True {COUNT + 1} {COUNT + 1} 9"


@pytest.mark.parametrize(
    "damage",
    [sql("DROP TABLE questions_search_data"), lambda file: file.write_bytes(bytes(4096) + file.read_bytes()[4096:])],
)
def test_a_damaged_read_only_history_is_read_as_far_as_it_can_be(file: Path, damage: Callable[[Path], None]) -> None:
    damage(file)
    what, told, *_ = read_without_rights(file)
    assert what == f"True {COUNT} {COUNT} 9"
    assert "cannot be repaired, because it cannot be written. Readable questions are shown" in told


def test_no_file_where_none_can_be_written_is_an_empty_history(tmp_path: Path) -> None:
    (tmp_path / "history").mkdir()
    assert read_without_rights(tmp_path / "history" / "history.sqlite")[0] == "True 0 0 0"


def test_a_read_only_file_system_is_told_like_missing_rights(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(path: Path, *_: object, **__: object) -> None:
        raise OSError(30, "Read-only file system", str(path))

    monkeypatch.setattr("atomr_local.assistant.history.database.os.open", refused)
    with History.open(file) as history:
        assert history.read_only
        assert history.count() == COUNT
        with pytest.raises(HistoryReadOnly, match="read-only"):
            history.record(a_trace())
