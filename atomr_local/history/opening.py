"""Opens the history: writable, repaired if damaged, or read-only if it cannot be written."""

from __future__ import annotations

import contextlib
import shutil
import sqlite3
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from atomr_local.history import database
from atomr_local.history.errors import HistoryDamaged, HistoryReadOnly
from atomr_local.history.recovery.repair import emptied, repair
from atomr_local.history.recovery.salvage import salvage


@dataclass
class Opening:
    """An open history.

    Attributes:
        read_only: nothing can be written.
        notes: what the user should know of the opening.
        copies: the directory of copies that is read, if any; it goes when the connection is closed.
    """

    connection: sqlite3.Connection
    read_only: bool = False
    notes: tuple[str, ...] = ()
    copies: contextlib.ExitStack = field(default_factory=contextlib.ExitStack)

    def close(self) -> None:
        self.connection.close()
        self.copies.close()


def open_history(path: Path) -> Opening:
    """Open the history at `path`, or begin it.

    What is damaged is repaired (see `repair.py`); where nothing can be written there, it is opened for reading.

    Raises:
        HistoryError: it is of a newer version or another program's, or cannot be opened.
    """
    notes: list[str] = []
    try:
        with database.history_errors(path):
            what = emptied(path)
        if what:
            notes += repair(path, what)
        try:
            connection = database.connect(path)
        except HistoryDamaged as error:
            notes += repair(path, error.message)
            connection = database.connect(path)
    except HistoryReadOnly:
        return open_read_only(path)
    database.note_counts(path, connection)
    return Opening(connection, notes=tuple(notes))


def reopen_damaged(path: Path, error: HistoryDamaged) -> Opening:
    """Repair the history, which proved to be damaged while it was open (and has been closed), and open it again."""
    notes = repair(path, error.message)
    opening = open_history(path)
    opening.notes = (*notes, *opening.notes)
    return opening


def open_read_only(path: Path) -> Opening:
    """Open the history for reading; nothing is written in its directory. Of a damaged one a salvaged copy is read."""
    try:
        with contextlib.ExitStack() as stack, database.history_errors(path):
            log = path.with_name(path.name + "-wal")
            if not path.exists():
                connection = database.opened(":memory:")
                database.migrate(connection, path)
            elif log.exists() and log.stat().st_size:  # what stands in the log only would not be seen
                copy = _directory_of_copies(stack) / path.name
                shutil.copyfile(path, copy)
                shutil.copyfile(log, copy.with_name(log.name))
                connection = _checked(stack, database.opened(copy), path)
            else:
                uri = path.absolute().as_uri() + "?mode=ro&immutable=1"
                connection = _checked(stack, database.opened(uri, uri=True), path)
            return Opening(connection, read_only=True, copies=stack.pop_all())
    except HistoryDamaged as error:
        opening = open_salvaged(path)
        opening.notes = (
            f"{error.message}. It cannot be repaired, because it cannot be written. Readable questions are shown.",
        )
        return opening


def open_salvaged(path: Path) -> Opening:
    """Open for reading what can be read of the damaged history, out of a copy."""
    with contextlib.ExitStack() as stack, database.history_errors(path):
        copy = _directory_of_copies(stack) / path.name
        salvage(path, copy)
        connection = _checked(stack, database.opened(copy), path)
        return Opening(connection, read_only=True, copies=stack.pop_all())


def _directory_of_copies(stack: contextlib.ExitStack) -> Path:
    return Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="atomr-history-", ignore_cleanup_errors=True)))


def _checked(stack: contextlib.ExitStack, connection: sqlite3.Connection, path: Path) -> sqlite3.Connection:
    """The connection, which is closed with the stack, if its tables can be read."""
    stack.callback(connection.close)
    database.known_version(connection, path)
    connection.execute("PRAGMA query_only = ON")
    for table in ("questions", "questions_search"):
        connection.execute(f"SELECT rowid FROM {table} LIMIT 1").fetchone()  # noqa: S608 - constants
    return connection
