"""A pool of connections to a read-only SQLite file, shared by all threads."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Sequence
from pathlib import Path

_KEPT = 4


class ReadOnlyPool:
    """Read-only connections to `file`, which never changes. Thread-safe.

    A thread that ends leaves nothing open: connections belong to the pool. At most `kept` of them stay open while
    nobody uses them; more are opened for as long as more threads read at once.
    """

    def __init__(self, file: Path, kept: int = _KEPT) -> None:
        self._uri = file.absolute().as_uri() + "?mode=ro&immutable=1"
        self._kept = kept
        self._idle: list[sqlite3.Connection] = []
        self._lock = threading.Lock()
        self._closed = False

    def rows(self, query: str, parameters: Sequence[object] = ()) -> list[tuple[object, ...]]:
        """All rows of a query.

        Raises:
            sqlite3.Error: the file is missing or damaged, or the pool is closed.
        """
        connection = self._borrow()
        try:
            return connection.execute(query, parameters).fetchall()
        finally:
            self._give_back(connection)

    def check(self) -> str:
        """What SQLite finds wrong with the file; "" when it is whole. Raises what :meth:`rows` raises."""
        found = [str(row[0]) for row in self.rows("PRAGMA quick_check(3)")]
        return "" if found == ["ok"] else "; ".join(found)

    def close(self) -> None:
        """Close every connection; one in use is closed when its query ends. Idempotent."""
        with self._lock:
            self._closed = True
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()

    def _borrow(self) -> sqlite3.Connection:
        with self._lock:
            if self._closed:
                raise sqlite3.ProgrammingError("the index has been closed")
            if self._idle:
                return self._idle.pop()
        connection = sqlite3.connect(self._uri, uri=True, check_same_thread=False)
        connection.execute("PRAGMA trusted_schema=OFF")  # an index may come from elsewhere
        return connection

    def _give_back(self, connection: sqlite3.Connection) -> None:
        with self._lock:
            if not self._closed and len(self._idle) < self._kept:
                self._idle.append(connection)
                return
        connection.close()
