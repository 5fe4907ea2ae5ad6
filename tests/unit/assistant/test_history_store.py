"""The kept questions: nothing is lost by kills, damage, other programs or other versions; what is deleted is gone."""

from __future__ import annotations

import os
import random
import signal
import sqlite3
import stat
import subprocess
import sys
import threading
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from support.history_fakes import ESCAPES, a_trace
from support.places import TESTS

from atomr_local.assistant.history import database
from atomr_local.assistant.history import opening as repair
from atomr_local.assistant.history.database import HistoryError
from atomr_local.assistant.history.pending import encode
from atomr_local.assistant.history.store import History, history_file
from atomr_local.errors import InputError
from atomr_local.reasoning.trace.schema import EvidenceTrace, Trace

WRITER = """
import sys
sys.path.insert(0, {tests!r})
from pathlib import Path
from support.history_fakes import a_trace
from atomr_local.assistant.history.store import History
history = History(Path(sys.argv[1]))
for number in range(int(sys.argv[2])):
    print(history.record(a_trace(f"Question {{number}} of {{sys.argv[3]}}?")), flush=True)
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "history" / "history.sqlite"


def written_by_another(file: Path, count: int, name: str) -> subprocess.Popen[str]:
    code = WRITER.format(tests=str(TESTS))
    return subprocess.Popen(
        [sys.executable, "-c", code, str(file), str(count), name], stdout=subprocess.PIPE, text=True
    )


def bytes_of(file: Path) -> bytes:
    return b"".join(found.read_bytes() for found in file.parent.iterdir())


@pytest.mark.parametrize("size", [10, 100_000])
def test_a_trace_comes_back_whole(file: Path, size: int) -> None:
    trace = a_trace(evidence=[*a_trace().evidence, EvidenceTrace("e9", "text", "t", "w " * size, 0.5, "q", {})])
    with History.open(file) as history:
        number = history.record(trace)
    with History.open(file) as history:
        kept = history.get(number)
    assert kept.trace == trace
    assert kept.document == trace.to_dict()
    assert kept.summary.question == trace.question
    assert kept.summary.origin == "asked"
    assert file.stat().st_size < 100_000  # large ones are deflated


def test_it_lies_beside_the_settings_and_is_private(own_home: Path) -> None:
    with History.open() as history:
        history.record(a_trace())
        assert history.path == history_file() == own_home.resolve() / "history" / "history.sqlite"
        for path in (history.path.parent, *history.path.parent.glob("history.sqlite*")):
            assert not stat.S_IMODE(path.stat().st_mode) & 0o077 or path.suffix == ".lock"


def test_the_latest_come_first_and_numbers_are_never_given_again(file: Path) -> None:
    with History.open(file) as history:
        numbers = [history.record(a_trace(f"Question {i}?")) for i in range(3)]
        assert [item.id for item in history.entries()] == numbers[::-1]
        assert [item.question for item in history.entries(limit=1)] == ["Question 2?"]
        history.delete([numbers[-1]])
        assert history.record(a_trace("A new one?")) > numbers[-1]
        assert history.count() == 3


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("frankenstein", 1),
        ("FRANK", 1),
        ("zürich", 1),
        ("zurich", 1),
        ("wollstone who", 2),
        ("author zurich", 0),
        ('" OR x', 0),
        ("NEAR(", 0),
        ("mary*", 2),
        ("col:x", 0),
    ],
)
def test_search_finds_words_of_question_and_answer(file: Path, words: str, found: int) -> None:
    with History.open(file) as history:
        history.record(a_trace())
        history.record(a_trace("Who was born in Zürich?"))
        assert len(history.entries(search=words)) == found


@pytest.mark.parametrize("words", ["", "  ", "?!", ESCAPES])
def test_a_search_without_words_is_refused(file: Path, words: str) -> None:
    with History.open(file) as history, pytest.raises(InputError, match="no word"):
        history.entries(search=words)


def test_listed_texts_and_what_json_cannot_write(file: Path) -> None:
    with History.open(file) as history:
        number = history.record(
            a_trace(f"Who{ESCAPES}?\udc80", answer=f"He{ESCAPES}", confidence=float("nan"), warnings=["\udc80"])
        )
        kept = history.get(number)
    assert (kept.summary.question, kept.summary.answer) == ("Who?", "He")
    assert kept.trace.confidence is None
    assert kept.trace.warnings == ["\udc80"]


def test_what_is_deleted_is_in_no_file(file: Path) -> None:
    secret = "Xylophonist"
    with History.open(file) as history:
        stays = history.record(a_trace("Who stays?"))
        goes = [history.record(a_trace(f"Is {secret} {i}?", answer=secret)) for i in range(20)]
        assert secret.encode() in bytes_of(file)
        assert secret.lower().encode() in bytes_of(file)  # the words for searching
        assert history.delete(goes) == (20, True)
        assert [item.id for item in history.entries()] == [stays]
        assert history.entries(search=secret) == []
        assert secret.lower().encode() not in bytes_of(file).lower()
        assert history.delete(None) == (1, True)
        assert b"stays" not in bytes_of(file)
        assert history.entries() == []


def test_deleting_is_all_or_nothing(file: Path) -> None:
    with History.open(file) as history:
        number = history.record(a_trace())
        with pytest.raises(InputError, match="no question 77"):
            history.delete([number, 77])
        assert history.get(number).trace == a_trace()
        assert len(history.entries(search="frankenstein")) == 1
        with pytest.raises(InputError, match="no question 77"):
            history.get(77)


def test_deleting_beside_a_reader_says_that_the_log_remains(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("atomr_local.assistant.history.store._CHECKPOINT_WAIT", 50)
    with History.open(file) as history, closing(sqlite3.connect(file, isolation_level=None)) as reader:
        number = history.record(a_trace("Is it Xylophonist?"))
        reader.execute("BEGIN")
        reader.execute("SELECT * FROM questions").fetchall()
        assert history.delete([number]) == (1, False)
        reader.execute("COMMIT")
    assert b"xylophonist" not in bytes_of(file).lower()


@pytest.mark.slow
def test_a_killed_writer_loses_nothing_that_it_was_told_is_kept(file: Path) -> None:
    choose = random.Random(1)
    acknowledged: list[int] = []
    for round_ in range(3):
        writer = written_by_another(file, 10_000, f"round {round_}")
        assert writer.stdout is not None
        for _ in range(choose.randrange(1, 60)):
            acknowledged.append(int(writer.stdout.readline()))
        os.kill(writer.pid, signal.SIGKILL)
        acknowledged += [int(line) for line in writer.stdout.read().splitlines()]
        writer.wait()
        writer.stdout.close()
    with History.open(file) as history:
        assert history.notes == []
        assert set(acknowledged) <= {item.id for item in history.entries()}
        assert all(history.get(number).trace.plan == a_trace().plan for number in acknowledged)
        assert len(history.entries(search="round")) == history.count()
    with closing(sqlite3.connect(file)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]


def test_programs_and_threads_write_at_once(file: Path) -> None:
    writers = [written_by_another(file, 30, name) for name in ("one", "two")]
    with History.open(file) as history:
        threads = [threading.Thread(target=lambda: [history.record(a_trace()) for _ in range(10)]) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for writer in writers:
            assert len(writer.communicate()[0].splitlines()) == 30
            assert writer.returncode == 0
        assert history.count() == len(history.entries(search="question OR frankenstein")) + 80
        assert len(history.entries(search="one")) == len(history.entries(search="two")) == 30


def test_a_writer_waits_for_another_one_and_then_says_so(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "WAIT", 0.05)
    real = database.connect
    monkeypatch.setattr(database, "connect", lambda path: real(path, wait=0.05))
    with History.open(file) as history, closing(sqlite3.connect(file, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(HistoryError, match="in use by another program"):
            history.record(a_trace())
        assert history.entries() == []  # reading goes on
        other.execute("COMMIT")
        history.record(a_trace())


@pytest.mark.parametrize("damage", ["not a database", "torn"])
def test_a_damaged_file_is_set_aside_with_all_its_bytes(file: Path, damage: str) -> None:
    with History.open(file) as history:
        for _ in range(50):
            history.record(a_trace())
    whole = file.read_bytes()
    broken = (
        b"no database at all " * 1000 if damage == "not a database" else whole[:4096] + b"\xa5" * (len(whole) - 4096)
    )
    file.write_bytes(broken)
    with History.open(file) as history:
        number = history.record(a_trace("Who is kept after it?"))
        assert [item.id for item in history.entries()] == [number]
        (note,) = history.notes
    (aside,) = repair.damaged_files(file)
    assert aside.read_bytes() == broken
    assert aside.name in note


def test_damage_met_while_reading_is_told_and_what_can_be_read_is_saved(file: Path) -> None:
    with History.open(file) as history:
        for number in range(50):
            history.record(a_trace(f"Question {number}?"))
    data = file.read_bytes()
    pages = [data[start : start + 4096] for start in range(0, len(data), 4096)]
    broken = b"".join(b"\xa5" * 4096 if b"Question 0?" in page else page for page in pages)
    assert broken != data
    file.write_bytes(broken)
    with History.open(file) as history:
        assert history.entries(limit=1)[0].question == "Question 49?"  # the damage lies elsewhere
        assert history.notes == []
        read = history.entries()
        (note,) = history.notes
    (aside,) = repair.damaged_files(file)
    assert aside.read_bytes() == broken
    lost = 50 - len(read)
    assert 0 < lost < 10
    assert f"kept as {aside.name}, beside a new history. {len(read)} questions were saved, {lost} could not" in note
    with History.open(file) as history:  # said once
        assert history.notes == []
        assert history.entries() == read
        assert all(history.get(item.id).trace == a_trace(item.question) for item in read)
        assert len(history.entries(search="question")) == len(read)
        assert history.record(a_trace()) == 51  # no number is given twice
        assert history.check() == []


def test_damaged_search_words_are_made_again(file: Path) -> None:
    with History.open(file) as history:
        number = history.record(a_trace())
    with closing(sqlite3.connect(file, isolation_level=None)) as connection:
        connection.execute("DELETE FROM questions_search_data WHERE id > 10")
    with History.open(file) as history:
        assert [item.id for item in history.entries(search="frankenstein")] == [number]
    assert repair.damaged_files(file) == []


@pytest.mark.parametrize(
    "change",
    [
        "trace = x'00'",
        "trace = substr(trace, 1, 100)",
        "digest = ''",
        "encoding = 'zlib'",
        "trace = 'text instead of bytes'",
        'trace = CAST(\'{"schema": "atomr.trace/1"}\' AS BLOB),'
        " digest = '902437a22fc0a162b0220cef41d8db946f1716af39648cf0abf75dc1831d4193'",
    ],
)
def test_a_damaged_question_is_told_and_the_others_stay(file: Path, change: str) -> None:
    with History.open(file) as history:
        hurt, sound = history.record(a_trace()), history.record(a_trace("Another?"))
    with closing(sqlite3.connect(file, isolation_level=None)) as connection:
        connection.execute(f"UPDATE questions SET {change} WHERE id = ?", (hurt,))
    with History.open(file) as history:
        with pytest.raises(HistoryError, match=f"question {hurt} is damaged") as caught:
            history.get(hurt)
        assert "stays" in caught.value.hint
        assert history.get(sound).trace == a_trace("Another?")
        assert len(history.entries()) == 2
        history.delete([hurt])


def test_a_newer_schema_and_a_foreign_database_are_left_alone(file: Path) -> None:
    with History.open(file) as history:
        history.record(a_trace())
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("PRAGMA user_version = 99")
    before = file.read_bytes()
    with pytest.raises(HistoryError, match=r"newer version \(schema 99"):
        History.open(file)
    assert file.read_bytes() == before
    for setup in ("CREATE TABLE theirs (x)", "CREATE TABLE theirs (x); PRAGMA user_version = 1"):
        foreign = file.with_name(f"foreign{len(setup)}.sqlite")
        with closing(sqlite3.connect(foreign)) as connection:
            connection.executescript(setup)
        before = foreign.read_bytes()
        with pytest.raises(HistoryError, match="another program"):
            History.open(foreign)
        assert foreign.read_bytes() == before


def test_a_schema_step_that_fails_leaves_the_old_state(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with History.open(file) as history:
        number = history.record(a_trace())
    steps = database.migrations()
    broken = (3, "CREATE TABLE more (x);\nCREATE TABLE more (x);\n")
    monkeypatch.setattr(database, "migrations", lambda: [*steps, broken])
    with pytest.raises(HistoryError):
        History.open(file)
    monkeypatch.setattr(database, "migrations", lambda: [*steps, (3, "CREATE TABLE more (x);\n")])
    with History.open(file) as history:
        assert history.get(number).trace == a_trace()
    monkeypatch.undo()
    with pytest.raises(HistoryError, match="newer version"):
        History.open(file)


def test_the_same_trace_from_elsewhere_is_taken_in_once(file: Path) -> None:
    with History.open(file) as history:
        number, new = history.import_trace(a_trace())
        assert new
        assert history.import_trace(a_trace()) == (number, False)
        assert history.get(number).summary.origin == "imported"
        assert encode(history.get(number).trace) == encode(a_trace())


def test_a_directory_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "blocked").write_text("a file", encoding="utf-8")
    with pytest.raises(HistoryError, match="blocked"):
        History.open(tmp_path / "blocked" / "history.sqlite")


def test_one_small_question_taken_out_of_a_full_page_leaves_no_trace_of_it(file: Path) -> None:
    """What the pages keep is not cut off then: only overwriting (secure_delete) takes it away."""
    with History.open(file) as history:
        short = [
            history.record(Trace(f"Is it word{number}x?", "atomr", {}, answer=f"word{number}x")) for number in range(9)
        ]
        assert bytes_of(file).count(b"word4x")
        assert history.delete([short[4]]) == (1, True)
        assert b"word4x" not in bytes_of(file).lower()
        assert b"word5x" in bytes_of(file)
        log = file.with_name(file.name + "-wal")
        assert not log.exists() or log.stat().st_size == 0  # the log still held the page as it was
    assert not log.exists()


def test_pages_of_the_list(file: Path) -> None:
    with History.open(file) as history:
        numbers = [history.record(a_trace(f"Question {number} {'odd' if number % 2 else ''}?")) for number in range(7)]
        history.delete([numbers[3]])
        assert [item.id for item in history.entries(limit=2)] == [numbers[6], numbers[5]]
        assert [item.id for item in history.entries(limit=3, before=numbers[5])] == [numbers[4], numbers[2], numbers[1]]
        assert [item.id for item in history.entries(limit=3, before=numbers[3])] == [numbers[2], numbers[1], numbers[0]]
        assert [item.id for item in history.entries(search="odd", limit=9, before=numbers[5])] == [numbers[1]]
        assert history.entries(before=numbers[0]) == []


def test_a_conversation_is_read_from_any_of_its_questions(tmp_path: Path) -> None:
    with History(tmp_path / "history.sqlite") as history:
        first = history.record(replace(a_trace("Who painted it?"), id="a"))
        history.record(replace(a_trace("Another topic?"), id="z"))
        second = history.record(replace(a_trace("and when?"), id="b", conversation="a"))
        assert [kept.summary.id for kept in history.conversation(first)] == [first, second]
        assert [kept.trace.id for kept in history.conversation()] == ["a", "b"], "that of the question asked last"
        history.delete([first])
        assert [kept.trace.id for kept in history.conversation()] == ["b"]


def test_a_question_of_an_earlier_version_is_a_conversation_of_its_own(tmp_path: Path) -> None:
    with History(tmp_path / "history.sqlite") as history:
        assert history.conversation() == []
        history.record(a_trace("Who painted it?"))
        history.record(a_trace("Who built it?"))
        assert [kept.trace.question for kept in history.conversation()] == ["Who built it?"]


def test_a_follow_up_names_the_first_question_of_its_conversation(file: Path) -> None:
    with History(file) as history:
        first = history.record(replace(a_trace("Who painted it?"), id="a"))
        other = history.record(replace(a_trace("Another topic?"), id="z"))
        second = history.record(replace(a_trace("and when?"), id="b", conversation="a"))
        third = history.record(replace(a_trace("why?"), id="c", conversation="a"))
        assert [(item.id, item.follows) for item in history.entries()] == [
            (third, first), (second, first), (other, None), (first, None),
        ]  # fmt: skip
        assert history.get(third).summary.follows == first
        assert history.named(["b", "gone", "a"]) == {"b": "and when?", "a": "Who painted it?"}
        history.delete([first])
        assert {item.id: item.follows for item in history.entries()} == {other: None, second: None, third: second}


def test_a_file_of_an_earlier_version_gets_what_conversations_need(file: Path) -> None:
    with History(file) as history:
        history.record(a_trace("Who painted it?"))
    with closing(sqlite3.connect(file)) as connection:
        connection.executescript(
            "DROP INDEX questions_by_trace_id; DROP INDEX questions_by_conversation;"
            "ALTER TABLE questions DROP COLUMN trace_id; ALTER TABLE questions DROP COLUMN conversation"
        )
    with History(file) as history:
        first = history.record(replace(a_trace("Who built it?"), id="a"))
        second = history.record(replace(a_trace("and when?"), id="b", conversation="a"))
        assert [item.follows for item in history.entries()] == [first, None, None]
        assert [kept.summary.id for kept in history.conversation(second)] == [first, second]


def test_conversations_are_known_again_in_a_file_that_was_saved_from_a_damaged_one(file: Path) -> None:
    with History(file) as history:
        history.record(replace(a_trace("Who painted it?"), id="a"))
        history.record(replace(a_trace("and when? " + "w " * 5000), id="b", conversation="a"))
    with file.open("r+b") as stream:
        stream.write(bytes(100))  # the file's header
    with History(file) as history:
        assert history.notes
        assert [item.follows for item in history.entries()] == [1, None]
