"""Writes the facts as text; a killed run goes on from its last commit."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from atomr_local.indexing.graph_index.linearised.table import FILE, LAYOUT, NAMES_WEIGHT

_SCHEMA = f"""
CREATE TABLE IF NOT EXISTS property(id INTEGER PRIMARY KEY, iri TEXT NOT NULL UNIQUE);
CREATE TABLE IF NOT EXISTS fact(id INTEGER PRIMARY KEY, subject INTEGER NOT NULL, property INTEGER NOT NULL,
  object NOT NULL, qualifiers TEXT);
CREATE TABLE IF NOT EXISTS progress(id INTEGER PRIMARY KEY, entity INTEGER NOT NULL);
CREATE VIRTUAL TABLE IF NOT EXISTS fact_text USING fts5(fact, names, content='',
  tokenize='porter unicode61 remove_diacritics 2');
INSERT INTO fact_text(fact_text, rank) VALUES('rank', 'bm25(1.0, {NAMES_WEIGHT})');
PRAGMA user_version={LAYOUT};
"""


@dataclass(frozen=True, slots=True)
class LinearisedFact:
    """A fact on its way into the table.

    Attributes:
        subject: the entity's number in the name database.
        object: likewise, or an N-Triples term.
        qualifiers: in words, as they are shown.
        text: the words of subject, relation, object and qualifiers.
        names: words of the subject's other names.
    """

    subject: int
    property: str
    object: int | str
    qualifiers: str
    text: str
    names: str


class FactWriter:
    """The table of an index that is being built. What was written lasts from :meth:`commit` on, all of it or none."""

    def __init__(self, directory: Path) -> None:
        self._db = sqlite3.connect(directory / FILE, isolation_level=None)
        self._db.executescript("PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA cache_size=-16384;")
        self._db.executescript(_SCHEMA)
        self._properties: dict[str, int] = dict(self._db.execute("SELECT iri, id FROM property"))
        (last,) = self._db.execute("SELECT coalesce(max(id), 0) FROM fact").fetchone()
        self.count = int(last)
        self._db.execute("BEGIN")

    @property
    def after(self) -> int:
        """The number of the last entity whose facts are in the table for good."""
        row = self._db.execute("SELECT entity FROM progress").fetchone()
        return int(row[0]) if row else 0

    def add(self, facts: Iterable[LinearisedFact]) -> None:
        """Take facts in, in their order."""
        for fact in facts:
            self.count += 1
            row = (self.count, fact.subject, self._number_of(fact.property), fact.object, fact.qualifiers or None)
            self._db.execute("INSERT INTO fact VALUES(?, ?, ?, ?, ?)", row)
            self._db.execute(
                "INSERT INTO fact_text(rowid, fact, names) VALUES(?, ?, ?)", (self.count, fact.text, fact.names)
            )

    def commit(self, entity: int) -> None:
        """Make what was taken in lasting: all facts of entities up to this number."""
        self._db.execute("INSERT OR REPLACE INTO progress VALUES(1, ?)", (entity,))
        self._db.execute("COMMIT")
        self._db.execute("BEGIN")

    def seal(self) -> None:
        """Turn the finished table into one file that readers open, and close it. May be repeated after a kill."""
        self._db.execute("INSERT INTO fact_text(fact_text) VALUES('optimize')")
        self._db.execute("COMMIT")
        self._db.execute("VACUUM")
        self._db.execute("PRAGMA journal_mode=DELETE")
        self._db.close()

    def close(self) -> None:
        """Close the file; what is not committed is given up."""
        self._db.close()

    def _number_of(self, prop: str) -> int:
        if prop not in self._properties:
            number = len(self._properties) + 1
            self._db.execute("INSERT INTO property VALUES(?, ?)", (number, prop))
            self._properties[prop] = number
        return self._properties[prop]
