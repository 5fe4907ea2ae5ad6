"""The entities of a text index: by the Wikidata id of each article, or by its title."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from atomr_local.errors import KnowledgeIndexError
from atomr_local.indexing.graph_index.ids import IdSet

_QID = re.compile(r"Q([1-9]\d{0,11})")
FILE = "titles.sqlite"
_BATCH = 10_000


def read_articles(directory: Path) -> Iterator[tuple[str, str]]:
    """(title, Wikidata id or "") of every passage of the text index in `directory`, in no particular order.

    Raises:
        KnowledgeIndexError: the index cannot be read.
    """
    from atomr_local.indexing.text_index.table import TABLE, connect

    try:
        table: Any = connect(directory).open_table(TABLE)
        for batch in table.search().select(["title", "qid"]).to_batches(batch_size=_BATCH):
            columns = batch.to_pydict()
            for title, qid in zip(columns["title"], columns["qid"], strict=True):
                yield title or "", qid or ""
    except (OSError, RuntimeError, ValueError, KeyError) as error:
        raise KnowledgeIndexError(f"{directory} cannot be read: {error}", hint="Build the text index again.") from error


def title_key(title: str) -> str:
    """A title as a sitelink and a label write it alike: spaces for underscores, the first letter capital."""
    text = " ".join(title.replace("_", " ").split())
    return text[:1].upper() + text[1:]


class Titles:
    """The titles that still need an entity, on disk, and the entities found so far. What is added twice counts once."""

    def __init__(self, directory: Path) -> None:
        self._db = sqlite3.connect(directory / FILE, isolation_level=None)
        self._db.executescript(
            "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;"
            "CREATE TABLE IF NOT EXISTS title(key TEXT PRIMARY KEY, page INTEGER, named INTEGER, links INTEGER) "
            "WITHOUT ROWID"
        )
        self._db.execute("BEGIN")

    def __enter__(self) -> Titles:
        return self

    def __exit__(self, *_: object) -> None:
        self._db.close()

    def want(self, articles: Iterator[tuple[str, str]], found: IdSet) -> None:
        """Put articles with an id into `found`, the titles of the others down as wanted."""

        def keys() -> Iterator[tuple[str]]:
            for title, qid in articles:
                match = _QID.fullmatch(qid)
                if match is not None:
                    found.add(int(match[1]))
                elif title:
                    yield (title_key(title),)

        self._db.executemany("INSERT OR IGNORE INTO title(key) VALUES(?)", keys())
        self.commit()

    def commit(self) -> None:
        self._db.execute("COMMIT")
        self._db.execute("BEGIN")

    def __len__(self) -> int:
        (count,) = self._db.execute("SELECT count(*) FROM title").fetchone()
        return int(count)

    def page(self, title: str, number: int) -> None:
        """The page of this title is about the entity."""
        self._db.execute("UPDATE title SET page = ? WHERE key = ?", (number, title_key(title)))

    def label(self, label: str, number: int, links: int) -> None:
        """The entity is labelled so; of several, the one with most pages is taken, then that of the lowest number."""
        self._db.execute(
            "UPDATE title SET named = ?1, links = ?2 WHERE key = ?3 "
            "AND (named IS NULL OR links < ?2 OR (links = ?2 AND named > ?1))",
            (number, links, title_key(label)),
        )

    def resolved(self) -> tuple[IdSet, int]:
        """The entities of the titles, by page before label, and how many titles have none."""
        found = IdSet(row[0] for row in self._db.execute("SELECT coalesce(page, named) FROM title") if row[0])
        (missing,) = self._db.execute("SELECT count(*) FROM title WHERE page IS NULL AND named IS NULL").fetchone()
        return found, int(missing)
