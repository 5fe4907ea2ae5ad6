"""A question whose program dies is in the history, as interrupted, once."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from atomr_local.assistant.history.database import QuestionSummary
from atomr_local.assistant.history.pending import note_crash, notes_folder, pending_question
from atomr_local.assistant.history.store import History, record_trace
from atomr_local.cli.main import main
from atomr_local.reasoning.trace.schema import Trace

QUESTION = "Who is it?"
DIES = (
    "from atomr_local.reasoning.trace.schema import Trace\n"
    "import os, signal\nfrom atomr_local.assistant.history.store import record_trace\n"
    "from atomr_local.assistant.history.pending import pending_question\nfrom atomr_local.assistant.history.store import History\n"
    "die = lambda *_: os.kill(os.getpid(), signal.SIGKILL)\n"
    f"trace = Trace({QUESTION!r}, 'atomr', {{}}, status='answered', answer='Me.')\n"
)


def dies(code: str) -> None:
    done = subprocess.run([sys.executable, "-c", DIES + code], timeout=300, check=False)
    assert done.returncode == -signal.SIGKILL


def listed() -> list[QuestionSummary]:
    with History.open() as history:
        return history.entries()


def notes() -> list[Path]:
    return list(notes_folder().iterdir()) if notes_folder().exists() else []


def test_a_killed_program() -> None:
    dies(f"with pending_question({QUESTION!r}, 'rag'):\n    die()")
    (note,) = notes()
    assert note.stat().st_mode & 0o777 == 0o600
    for _ in range(2):
        (entry,) = listed()
        assert (entry.question, entry.status, entry.strategy, entry.origin) == (QUESTION, "interrupted", "rag", "asked")
        assert "ended before the question was answered" in entry.answer
        assert notes() == []
    with History.open() as history:
        assert history.get(entry.id).trace.warnings[0].endswith(f"It was asked at {entry.asked_at}.")


def test_the_same_question_interrupted_twice_is_there_twice() -> None:
    for number in (1, 2):
        dies(f"with pending_question({QUESTION!r}, 'rag'):\n    die()")
        (note,) = notes()
        note.write_text(note.read_text().replace('"asked_at": "20', f'"asked_at": "{number}0'))
        assert len(listed()) == number


def test_one_that_is_answered_or_fails_leaves_no_note() -> None:
    with pending_question(QUESTION, "atomr") as pending:
        assert len(notes()) == 1
        record_trace(Trace(QUESTION, "atomr", {}, status="answered"), pending)
        assert notes() == []
    with pytest.raises(ValueError, match="x"), pending_question(QUESTION, "atomr"):
        raise ValueError("x")
    assert notes() == []
    assert [entry.status for entry in listed()] == ["answered"]


def test_one_that_is_being_answered_is_left_alone() -> None:
    with pending_question(QUESTION, "atomr"):
        assert listed() == []  # the same process
        done = subprocess.run(
            [sys.executable, "-m", "atomr_local", "history", "list", "--json"], capture_output=True, check=True
        )
        assert json.loads(done.stdout) == []
        assert len(notes()) == 1


def test_broken_off_by_the_user_is_interrupted_too() -> None:
    with pytest.raises(KeyboardInterrupt), pending_question(QUESTION, "atomr"):
        raise KeyboardInterrupt
    (note,) = notes()
    assert listed() == []  # this process still holds it
    dies(f"with pending_question({QUESTION!r}, 'atomr'):\n    die()")
    assert note in notes()
    assert [entry.status for entry in listed()] == ["interrupted"]


@pytest.mark.parametrize("moment", ["History.record = die", "from atomr_local.assistant.history import pending\npending.PendingNote.remove = die"])  # fmt: skip
def test_killed_while_it_is_kept_it_is_there_once(moment: str) -> None:
    dies(f"{moment}\nwith pending_question({QUESTION!r}, 'atomr') as note:\n    record_trace(trace, note)")
    for _ in range(2):
        (entry,) = listed()
        assert entry.status == ("interrupted" if "record" in moment else "answered")
    assert notes() == []


def test_the_cause_is_told() -> None:
    dies(f"from atomr_local.assistant.history.pending import note_crash\nwith pending_question({QUESTION!r}, 'atomr'):\n"
         "    note_crash(os.getpid(), 'llama.cpp crashed (SIGSEGV).')\n    die()")  # fmt: skip
    note_crash(1, "not this one")
    (entry,) = listed()
    assert entry.answer == "Interrupted. llama.cpp crashed (SIGSEGV)."


def test_no_note_where_nothing_is_kept() -> None:
    with pending_question(QUESTION, "atomr", keep=False) as pending:
        assert pending is None
        assert notes() == []


def test_a_place_that_cannot_be_written_is_no_error(own_home: Path) -> None:
    (own_home / "history").write_text("a file")
    with pending_question(QUESTION, "atomr") as pending:
        assert pending is None


@pytest.mark.parametrize("content", ["", "{", "[1]", '{"question": 3}', "\0" * 100, '{"question": ""}'])
def test_damaged_notes_go_without_a_word(content: str) -> None:
    notes_folder().mkdir(parents=True)
    (notes_folder() / "1-x.jsonl").write_text(content)
    assert listed() == []
    assert notes() == []


def test_what_is_no_note_is_left_alone(tmp_path: Path) -> None:
    notes_folder().mkdir(parents=True)
    (tmp_path / "other").write_text(json.dumps({"question": "a secret"}))
    (notes_folder() / "1-link.jsonl").symlink_to(tmp_path / "other")
    os.mkfifo(notes_folder() / "1-fifo.jsonl")
    (notes_folder() / "readme").touch()
    assert listed() == []
    assert len(notes()) == 3


def test_the_command_lists_and_deletes_it(capsys: pytest.CaptureFixture[str]) -> None:
    dies(f"with pending_question({QUESTION!r}, 'atomr'):\n    die()")
    for arguments in (["history", "list"], ["history", "delete", "--all", "--yes"]):
        with pytest.raises(SystemExit) as stop:
            main(arguments)
        assert not stop.value.code
    assert f"interrupted  {QUESTION}" in capsys.readouterr().out
    assert listed() == []
