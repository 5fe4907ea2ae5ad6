"""Maps the labels of facts to entities, before the facts are loaded."""

from __future__ import annotations

import sqlite3
from functools import lru_cache
from pathlib import Path

from atomr_local.indexing.graph_index.names.writer import NamesWriter
from atomr_local.indexing.graph_index.statements.terms import OBJECT
from atomr_local.indexing.readers.facts.json_lines import Fact
from atomr_local.language.properties import ENTITY

FILE = "labels.sqlite"


class LabelIds:
    """Which Wikidata ids stand beside which label, so that lines without an id can join those with one.

    On disk, so that memory stays bounded however many facts there are.
    """

    def __init__(self, directory: Path, names: NamesWriter) -> None:
        self._db = sqlite3.connect(directory / FILE, check_same_thread=False)
        self._db.executescript(
            "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;"
            "CREATE TABLE IF NOT EXISTS known(label TEXT, qid TEXT, subject INTEGER, PRIMARY KEY(label, qid, subject)) "
            "WITHOUT ROWID"
        )
        self._names = names
        self.id_of = lru_cache(maxsize=100_000)(self._id_of)

    def close(self) -> None:
        self._db.close()

    def clear(self) -> None:
        """Forget what a run that was cut short has collected."""
        self._db.execute("DELETE FROM known")

    def add(self, fact: Fact) -> None:
        rows = [
            (term.label, term.qid, subject)
            for term, subject in ((fact.subject, 1), (fact.object, 0))
            if term.qid is not None
        ]
        if rows:
            self._db.executemany("INSERT OR IGNORE INTO known VALUES(?, ?, ?)", rows)

    def commit(self) -> None:
        self._db.commit()

    def _id_of(self, label: str) -> str | None:
        """The IRI of the only entity known by this label, or None.

        What is written about (as a subject) outweighs what is only mentioned: objects are often given by a word
        for them ("Italian" for Italy).
        """
        found = self._db.execute(
            "SELECT qid, max(subject) FROM known WHERE label = ? GROUP BY qid", (label,)
        ).fetchall()
        subjects = [qid for qid, subject in found if subject]
        ids = subjects or [qid for qid, _ in found]
        if ids:
            return ENTITY + ids[0] if len(ids) == 1 else None
        named = self._names.iris_named(label, OBJECT)
        return named[0] if len(named) == 1 else None
