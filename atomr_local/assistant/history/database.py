"""Opens the SQLite file of the history and migrates it to the current schema."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import re
import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from importlib import resources
from pathlib import Path
from typing import Any, Literal

from atomr_local.assistant.history import pending as conversations
from atomr_local.errors import AtomrError
from atomr_local.reasoning.trace.schema import Trace
from atomr_local.system.sanitize import sanitize, sanitize_line

# Kept questions as they are listed and as they are read.

Origin = Literal["asked", "imported"]
SUMMARY_COLUMNS = "id, asked_at, origin, question, answer, status, strategy, confidence, seconds"


@dataclass(frozen=True, slots=True)
class QuestionSummary:
    """One kept question as it is listed. The texts are sanitised.

    Attributes:
        id: its number; never given again once deleted.
        asked_at: ISO 8601, UTC; of an imported one, when it was imported.
        seconds: how long answering took.
        follows: of a follow-up question, the number of the first kept question of its conversation.
    """

    id: int
    asked_at: str
    origin: Origin
    question: str
    answer: str
    status: str
    strategy: str
    confidence: float | None
    seconds: float
    follows: int | None = None

    @property
    def local_time(self) -> str:
        """When it was asked, in local time to the minute; what is no time, as it is."""
        try:
            return datetime.fromisoformat(self.asked_at).astimezone().strftime("%Y-%m-%d %H:%M")
        except (ValueError, OverflowError):
            return sanitize_line(self.asked_at)[:16]


@dataclass(frozen=True, slots=True)
class StoredQuestion:
    """One kept question with its trace.

    Attributes:
        document: the trace's JSON object as it was kept, with keys that a later version may have added.
    """

    summary: QuestionSummary
    trace: Trace
    document: dict[str, Any]


def summary_of(row: Sequence[Any], follows: int | None = None) -> QuestionSummary:
    """The row of :data:`SUMMARY_COLUMNS`; its texts sanitised."""
    texts: Sequence[Any] = [sanitize(value) if isinstance(value, str) else value for value in row]
    number, asked_at, origin, question, answer, status, strategy, confidence, seconds = texts
    return QuestionSummary(number, asked_at, origin, question, answer, status, strategy, confidence, seconds, follows)


# What can go wrong with the history.


class HistoryError(AtomrError):
    """The history, or one question in it, cannot be read or written."""

    title = "History not usable"


class HistoryDamaged(HistoryError):
    """SQLite finds the file itself damaged."""


class HistoryReadOnly(HistoryError):
    """The file, or what SQLite needs beside it, cannot be written."""

    def __init__(self, path: Path) -> None:
        super().__init__(
            f"{path} cannot be written: permission denied, or the disk is read-only",
            hint="Check the permissions of the directory. Kept questions can be read: `atomr history list`.",
        )


# "atmr": tells a history from any other program's SQLite file.
APPLICATION_ID = 0x61746D72
WAIT = 30.0
SEARCH_VERSION = 2
COMPANIONS = ("-wal", "-shm")
_DAMAGED = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}
_IN_USE = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}
# A table that the schema promises is not there, or not as FTS5 left it. SQLite has no number of its own for that.
_MISSING = re.compile(
    r"questions_search|fts5:|invalid fts5|vtable constructor failed|no such table: (?:main\.)?questions\b"
)
_NOT_WRITABLE = {errno.EROFS, errno.EACCES, errno.EPERM}
# So long that a count that grows is written in place, in one go.
_REMAINS = 40


def is_damage(error: sqlite3.Error) -> bool:
    """Whether SQLite says by it that the file is damaged, or no SQLite file."""
    code = _code(error)
    return code in _DAMAGED or (code == sqlite3.SQLITE_ERROR and _MISSING.search(str(error)) is not None)


def in_use(error: sqlite3.Error) -> bool:
    """Whether another program holds the file."""
    return _code(error) in _IN_USE


def _code(error: sqlite3.Error) -> int:
    return getattr(error, "sqlite_errorcode", 0) & 0xFF  # the primary code of an extended one


@contextlib.contextmanager
def history_errors(path: Path) -> Iterator[None]:
    """SQLite's and the system's errors as errors of the history.

    Raises:
        HistoryDamaged: the file is damaged, or no SQLite file.
        HistoryReadOnly: it, or what lies beside it, cannot be written.
        HistoryError: anything else.
    """
    try:
        yield
    except sqlite3.Error as error:
        if is_damage(error):
            raise HistoryDamaged(f"{path} is damaged: {error}") from error
        if in_use(error):
            raise HistoryError(
                f"{path} is in use by another program", hint="Try again when that program has finished with it."
            ) from error
        if _code(error) == sqlite3.SQLITE_READONLY:
            raise HistoryReadOnly(path) from error
        raise HistoryError(
            f"{path} cannot be used: {error}", hint="Check the free disk space and the permissions of the file."
        ) from error
    except OSError as error:
        if error.errno in _NOT_WRITABLE:
            raise HistoryReadOnly(path) from error
        raise HistoryError(
            f"{path} cannot be used: {error.strerror or error}", hint="Check the permissions of the directory."
        ) from error


def connect(path: Path, *, wait: float = WAIT) -> sqlite3.Connection:
    """Open or begin the file, with its schema brought up to date; made readable for its owner only.

    Args:
        wait: seconds to wait for another program that is writing.

    Raises:
        HistoryDamaged: the file is damaged, or no SQLite file.
        HistoryReadOnly: it, or what lies beside it, cannot be written.
        HistoryError: it is of a newer version or another program's, or cannot be opened.
    """
    with history_errors(path):
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with exclusive(path), history_errors(path):
        os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
        connection = opened(path, wait)
        try:
            migrate(connection, path)
        except BaseException:
            connection.close()
            raise
        return connection


def opened(path: Path | str, wait: float = WAIT, *, uri: bool = False) -> sqlite3.Connection:
    """The file as it is. Transactions are begun and ended explicitly; threads share it under a lock of the caller."""
    connection = sqlite3.connect(path, timeout=wait, isolation_level=None, check_same_thread=False, uri=uri)
    connection.text_factory = lambda data: data.decode("utf-8", "replace")
    return connection


@contextlib.contextmanager
def exclusive(path: Path) -> Iterator[None]:
    """One program at a time opens the file or sets it aside; writing needs no such lock."""
    with history_errors(path), _lock_file(path).open("a") as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)
        yield


def migrations() -> list[tuple[int, str]]:
    """(version, SQL) of every step of the schema, in order."""
    steps = [item for item in resources.files(__package__).joinpath("migrations").iterdir() if item.name[:4].isdigit()]
    return sorted((int(item.name[:4]), item.read_text(encoding="utf-8")) for item in steps)


def known_version(connection: sqlite3.Connection, path: Path) -> int:
    """The version of the file's schema; 0 for a file that has none yet.

    Raises:
        HistoryError: it is of a newer version or another program's.
    """
    latest, found = migrations()[-1][0], _version(connection)
    if found > latest:
        raise HistoryError(
            f"{path} was written by a newer version (schema {found}; this one knows {latest})",
            hint="Update atomr-local. The file is left as it is.",
        )
    if found and connection.execute("PRAGMA application_id").fetchone()[0] != APPLICATION_ID:
        raise HistoryError(f"{path} is a database of another program", hint="Move it away.")
    return found


def migrate(connection: sqlite3.Connection, path: Path) -> None:
    """Bring the file to the schema of this version; see :func:`connect`."""
    if not known_version(connection, path):
        if connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
            raise HistoryError(f"{path} is a database of another program", hint="Move it away.")
        connection.execute("PRAGMA auto_vacuum = FULL")
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    for pragma in ("journal_mode = WAL", "synchronous = FULL", "secure_delete = ON", "cell_size_check = ON"):
        connection.execute(f"PRAGMA {pragma}")
    connection.execute("BEGIN IMMEDIATE")
    with transaction(connection):
        for version, script in migrations():
            if version > _version(connection):
                for statement in statements(script):
                    connection.execute(statement)
                connection.execute(f"PRAGMA user_version = {version}")
        conversations.prepare(connection)
        connection.execute(
            "INSERT INTO questions_search (rowid, question, answer) SELECT id, question, answer FROM questions"
            " WHERE id > (SELECT coalesce(max(id), 0) FROM questions_search_docsize)"
        )


def _version(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


@contextlib.contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """Commit the transaction that was begun; take it back on any error."""
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        # Some errors make SQLite take it back itself.
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def statements(script: str) -> Iterator[str]:
    """The SQL statements of a script, one by one."""
    pending = ""
    for line in script.splitlines(keepends=True):
        pending += line
        if sqlite3.complete_statement(pending):
            yield pending
            pending = ""


def note_counts(path: Path, connection: sqlite3.Connection) -> None:
    """Note beside the file how many questions it holds, so that a file that is emptied is not taken for a new one."""
    with contextlib.suppress(sqlite3.Error, OSError):  # a question is kept without that note too
        count, highest = connection.execute(
            "SELECT (SELECT count(*) FROM questions), coalesce((SELECT seq FROM sqlite_sequence), 0)"
        ).fetchone()
        text = f"{count} {highest}".encode().ljust(_REMAINS) + b"\n"
        lock = _lock_file(path)
        if lock.read_bytes() != text:
            lock.write_bytes(text)


def noted_counts(path: Path) -> tuple[int, int]:
    """What :func:`note_counts` noted last: the questions then kept and the highest number given; 0 if nobody knows."""
    try:
        count, highest = map(int, _lock_file(path).read_bytes()[: _REMAINS + 1].split())
    except (OSError, ValueError):
        return 0, 0
    return max(0, count), max(0, min(highest, 2**62))


def _lock_file(path: Path) -> Path:
    return path.with_name(path.name + ".lock")
