"""Advice where the system runs out of something, whatever wrapped the error."""

from __future__ import annotations

import errno
import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from atomr_local.assistant.history.store import History
from atomr_local.errors import KnowledgeIndexError, SourceError
from atomr_local.indexing.builds.space import write_error

resource = pytest.importorskip("resource")
_WRONG = "Build the index again."


def wrapped(error: BaseException) -> KnowledgeIndexError:
    """As every wall does it, twice."""
    try:
        try:
            raise error
        except Exception as inner:
            raise SourceError("it cannot be read", hint=_WRONG) from inner
    except SourceError as inner:
        try:
            raise KnowledgeIndexError(inner.message, hint=_WRONG) from inner
        except KnowledgeIndexError as outer:
            return outer


@pytest.mark.parametrize(
    ("error", "advice"),
    [
        (OSError(errno.EMFILE, "Too many open files"), "ulimit -n"),
        (OSError(errno.ENFILE, "Too many open files in system"), "Close other programs"),
        (RuntimeError("lance error: LanceError(IO): Too many open files (os error 24)"), "ulimit -n"),
        (OSError(errno.ENOMEM, "Cannot allocate memory"), "smaller model"),
        (MemoryError(), "smaller model"),
        (RuntimeError("std::bad_alloc"), "smaller model"),
        (OSError(errno.ENOSPC, "No space left on device"), "Free some space"),
        (ValueError("Generic LocalFileSystem error: No space left on device (os error 28)"), "Free some space"),
        (RuntimeError("can't start new thread"), "no more threads"),
    ],
)
def test_a_shortage_is_told_as_what_it_is(error: BaseException, advice: str) -> None:
    assert advice in wrapped(error).hint


@pytest.mark.parametrize(
    "error",
    [OSError(errno.EACCES, "Permission denied"), RuntimeError("corrupt block"), ValueError("bad magic"), KeyError("x")],
)
def test_other_failures_keep_their_advice(error: BaseException) -> None:
    assert wrapped(error).hint == _WRONG


def test_what_is_known_better_of_a_full_disk_stays() -> None:
    try:
        raise OSError(errno.ENOSPC, "No space left on device")
    except OSError as error:
        assert write_error("the index", error, resumable=True).hint.endswith("it resumes where it stopped.")


@pytest.fixture
def no_descriptor_left() -> Iterator[None]:
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    held = [os.open(os.devnull, os.O_RDONLY)]
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(held[0] + 20, 64), before[1]))
    try:
        while True:
            held.append(os.dup(held[0]))
    except OSError:
        pass
    try:
        yield
    finally:
        for descriptor in held:
            os.close(descriptor)
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


def test_sqlite_does_not_say_so_and_is_understood(tmp_path: Path, no_descriptor_left: None) -> None:
    with pytest.raises(sqlite3.OperationalError, match="unable to open") as raised:
        sqlite3.connect(tmp_path / "x.sqlite")
    assert "ulimit -n" in wrapped(raised.value).hint


def test_a_history_that_cannot_be_opened_for_want_of_descriptors(tmp_path: Path, no_descriptor_left: None) -> None:
    with pytest.raises(Exception, match="Too many open files") as raised:
        History(tmp_path / "h" / "history.sqlite")
    assert "ulimit -n" in raised.value.hint  # type: ignore[attr-defined]
