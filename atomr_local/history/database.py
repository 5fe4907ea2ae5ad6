"""The history's SQLite file: opened, brought to the schema of this version, set aside when it is damaged."""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Iterator
from datetime import UTC, datetime
from importlib import resources
from pathlib import Path

from atomr_local.history.errors import HistoryDamaged, HistoryError

# "atmr": tells a history from any other program's SQLite file.
APPLICATION_ID = 0x61746D72
WAIT = 30.0
_SEARCH_VERSION = 2
_COMPANIONS = ("-wal", "-shm")
_DAMAGED = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}
_IN_USE = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}


@contextlib.contextmanager
def told(path: Path) -> Iterator[None]:
    """SQLite's and the system's errors as errors of the history.

    Raises:
        HistoryDamaged: the file is damaged, or no SQLite file.
        HistoryError: anything else.
    """
    try:
        yield
    except sqlite3.Error as error:
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF  # the primary code of an extended one
        if code in _DAMAGED:
            raise HistoryDamaged(f"{path} is damaged: {error}") from error
        if code in _IN_USE:
            raise HistoryError(
                f"{path} is in use by another program", hint="Try again when that program has finished with it."
            ) from error
        raise HistoryError(
            f"{path} cannot be used: {error}", hint="Look at the disk's free space and the file's permissions."
        ) from error
    except OSError as error:
        raise HistoryError(
            f"{path} cannot be used: {error.strerror or error}", hint="Look at the directory's permissions."
        ) from error


def has_fts5() -> bool:
    """Whether this Python's SQLite has full-text search."""
    with contextlib.closing(sqlite3.connect(":memory:")) as connection:
        try:
            connection.execute("CREATE VIRTUAL TABLE probe USING fts5 (word)")
        except sqlite3.OperationalError:
            return False
    return True


def connect(path: Path, *, search: bool, wait: float = WAIT) -> sqlite3.Connection:
    """Open or begin the file, with its schema brought up to date; made readable for its owner only.

    Args:
        search: whether full-text search is to be kept up (see :func:`has_fts5`).
        wait: seconds to wait for another program that is writing.

    Raises:
        HistoryDamaged: the file is damaged, or no SQLite file.
        HistoryError: it is of a newer version or another program's, or cannot be opened.
    """
    with told(path):
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with _alone(path), told(path):
        os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
        connection = _opened(path, wait)
        try:
            _migrate(connection, path, search)
        except BaseException:
            connection.close()
            raise
        return connection


def _opened(path: Path, wait: float) -> sqlite3.Connection:
    # The caller holds a lock of its own around the connection; transactions are begun and ended in so many words.
    connection = sqlite3.connect(path, timeout=wait, isolation_level=None, check_same_thread=False)
    connection.text_factory = lambda data: data.decode("utf-8", "replace")
    return connection


@contextlib.contextmanager
def _alone(path: Path) -> Iterator[None]:
    """One program at a time opens the file or sets it aside; writing needs no such lock."""
    with told(path), path.with_name(path.name + ".lock").open("a") as stream:
        with contextlib.suppress(ImportError):  # Windows; SQLite's own locks do there
            import fcntl

            fcntl.flock(stream, fcntl.LOCK_EX)
        yield


def migrations() -> list[tuple[int, str]]:
    """(version, SQL) of every step of the schema, in order."""
    steps = [item for item in resources.files(__package__).joinpath("migrations").iterdir() if item.name[:4].isdigit()]
    return sorted((int(item.name[:4]), item.read_text(encoding="utf-8")) for item in steps)


def _migrate(connection: sqlite3.Connection, path: Path, search: bool) -> None:
    steps = migrations()
    found = _version(connection)
    if found > steps[-1][0]:
        raise HistoryError(
            f"{path} was written by a newer version (schema {found}; this one knows {steps[-1][0]})",
            hint="Update atomr-local. The file is left as it is.",
        )
    if not found:
        if connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
            raise HistoryError(f"{path} is a database of another program", hint="Move it away.")
        connection.execute("PRAGMA auto_vacuum = FULL")
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    elif connection.execute("PRAGMA application_id").fetchone()[0] != APPLICATION_ID:
        raise HistoryError(f"{path} is a database of another program", hint="Move it away.")
    for pragma in ("journal_mode = WAL", "synchronous = FULL", "secure_delete = ON", "cell_size_check = ON"):
        connection.execute(f"PRAGMA {pragma}")
    connection.execute("BEGIN IMMEDIATE")
    with ended(connection):
        for version, script in steps:
            if version > _version(connection) and (search or version < _SEARCH_VERSION):
                for statement in _statements(script):
                    connection.execute(statement)
                connection.execute(f"PRAGMA user_version = {version}")
        if search:
            connection.execute(
                "INSERT INTO questions_search (rowid, question, answer) SELECT id, question, answer FROM questions"
                " WHERE id > (SELECT coalesce(max(id), 0) FROM questions_search_docsize)"
            )


def _version(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def indexed(connection: sqlite3.Connection) -> bool:
    """Whether the file holds words for full-text search, by whatever SQLite they were put in."""
    return _version(connection) >= _SEARCH_VERSION


@contextlib.contextmanager
def ended(connection: sqlite3.Connection) -> Iterator[None]:
    """Commit the transaction that was begun; take it back on any error."""
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        # Some errors make SQLite take it back itself.
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def _statements(script: str) -> Iterator[str]:
    pending = ""
    for line in script.splitlines(keepends=True):
        pending += line
        if sqlite3.complete_statement(pending):
            yield pending
            pending = ""


def set_aside(path: Path) -> Path | None:
    """Move a damaged file, with what belongs to it, to a name beside it. Nothing is deleted.

    Returns:
        Its new path; None where the file is sound after all, because another program has already set the damaged
        one aside, or because only the words for searching were damaged, which are then made again.

    Raises:
        HistoryError: it cannot be moved.
    """
    with _alone(path), told(path):
        if _sound(path):
            return None
        stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
        aside, count = path.with_name(f"{path.stem}.damaged-{stamp}{path.suffix}"), 1
        while aside.exists():
            count += 1
            aside = path.with_name(f"{path.stem}.damaged-{stamp}-{count}{path.suffix}")
        # The file itself last: a write-ahead log that outlived its file would be played into the next one.
        for ending in (*_COMPANIONS, ""):
            with contextlib.suppress(FileNotFoundError):
                path.with_name(path.name + ending).rename(aside.with_name(aside.name + ending))
        return aside


def _sound(path: Path) -> bool:
    connection = _opened(path, WAIT)
    try:
        if connection.execute("PRAGMA quick_check(1)").fetchone()[0] != "ok":
            return False
        if indexed(connection):
            connection.execute("INSERT INTO questions_search (questions_search) VALUES ('rebuild')")
    except sqlite3.DatabaseError as error:
        if getattr(error, "sqlite_errorcode", 0) & 0xFF in _DAMAGED:
            return False
        raise
    finally:
        connection.close()
    return True


def damaged_files(path: Path) -> list[Path]:
    """The damaged files that were set aside beside `path`."""
    return sorted(path.parent.glob(f"{path.stem}.damaged-*{path.suffix}"))
