"""Opens the history: writable, repaired if damaged, or read-only if it cannot be written."""

from __future__ import annotations

import shutil
import sqlite3
import tempfile
from dataclasses import dataclass
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
        scratch: a directory of copies, to be removed when the connection is closed.
    """

    connection: sqlite3.Connection
    read_only: bool = False
    notes: tuple[str, ...] = ()
    scratch: Path | None = None

    def close(self) -> None:
        self.connection.close()
        _remove(self.scratch)


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


def open_read_only(path: Path, *, damaged: bool = False) -> Opening:
    """Open the history for reading; nothing is written in its directory.

    Args:
        damaged: read what can be read of it from a copy.
    """
    scratch: Path | None = None
    try:
        with database.history_errors(path):
            log = path.with_name(path.name + "-wal")
            if not path.exists():
                connection = database.opened(":memory:")
                database.migrate(connection, path)
                return Opening(connection, read_only=True)
            if damaged or (log.exists() and log.stat().st_size):  # what stands in the log only would not be seen
                scratch = Path(tempfile.mkdtemp(prefix="atomr-history-"))
                place = scratch / path.name
                if damaged:
                    salvage(path, place)
                else:
                    shutil.copyfile(path, place)
                    shutil.copyfile(log, place.with_name(log.name))
                connection = database.opened(place)
            else:
                uri = path.absolute().as_uri() + "?mode=ro&immutable=1"
                connection = database.opened(uri, uri=True)
            try:
                database.known_version(connection, path)
                connection.execute("PRAGMA query_only = ON")
                connection.execute("SELECT id FROM questions LIMIT 1").fetchone()
                connection.execute("SELECT rowid FROM questions_search LIMIT 1").fetchone()
            except BaseException:
                connection.close()
                raise
    except HistoryDamaged as error:
        _remove(scratch)
        if damaged:
            raise
        opening = open_read_only(path, damaged=True)
        opening.notes = (
            f"{error.message}. It cannot be repaired, because it cannot be written. Readable questions are shown.",
        )
        return opening
    except BaseException:
        _remove(scratch)
        raise
    return Opening(connection, read_only=True, scratch=scratch)


def _remove(scratch: Path | None) -> None:
    if scratch is not None:
        shutil.rmtree(scratch, ignore_errors=True)
