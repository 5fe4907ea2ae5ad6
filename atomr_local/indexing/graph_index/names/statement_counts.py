"""Counts the statements of each entity during a build.

To add to each entity's row at once would write most rows of the name database again for every piece of a build.
"""

from __future__ import annotations

import sqlite3

import numpy as np
from numpy.typing import NDArray

from atomr_local.language.properties import ENTITY

Numbers = NDArray[np.int64]

# Some 100 bytes of memory each while they are summed up.
_MOST_NOTED = 500_000
_NOTES = """
CREATE TABLE IF NOT EXISTS noted(id INTEGER PRIMARY KEY, entries INTEGER NOT NULL, items BLOB NOT NULL,
  counts BLOB NOT NULL);
"""
_ADD = (
    "INSERT INTO entity(iri, statements) VALUES(?, ?) ON CONFLICT(iri) DO UPDATE "
    "SET statements = statements + excluded.statements"
)


class StatementCounts:
    """The notes in a name database; whoever opened it commits."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db
        self._met: list[Numbers] = []
        db.executescript(_NOTES)

    def add(self, items: Numbers) -> None:
        """Items (by the number of their Q-ids) that statements name, each as often as they do."""
        self._met.append(items)

    def note(self) -> None:
        """Write down what was added; sum up where much is noted."""
        if not self._met:
            return
        items, counts = np.unique(np.concatenate(self._met), return_counts=True)
        self._met.clear()
        self._db.execute(
            "INSERT INTO noted(entries, items, counts) VALUES(?, ?, ?)",
            (len(items), items.astype(np.int64).tobytes(), counts.astype(np.int64).tobytes()),
        )
        (entries,) = self._db.execute("SELECT sum(entries) FROM noted").fetchone()
        if entries >= _MOST_NOTED:
            self.sum_up()

    def sum_up(self) -> None:
        """Add what is noted to the entities' rows, and forget the notes."""
        notes = self._db.execute("SELECT items, counts FROM noted").fetchall()
        if not notes:
            return
        items, place = np.unique(
            np.concatenate([np.frombuffer(note[0], np.int64) for note in notes]), return_inverse=True
        )
        sums = np.bincount(place, weights=np.concatenate([np.frombuffer(note[1], np.int64) for note in notes]))
        # Sorted as text, so that neighbours in the index are written together.
        order = np.argsort(items.astype("S12"))
        iris = (f"{ENTITY}Q{item}" for item in items[order].tolist())
        self._db.executemany(_ADD, zip(iris, sums[order].astype(np.int64).tolist(), strict=True))
        self._db.execute("DELETE FROM noted")

    def remove(self) -> None:
        """Leave nothing of the notes; nothing may be added any more."""
        self._db.execute("DROP TABLE IF EXISTS noted")
