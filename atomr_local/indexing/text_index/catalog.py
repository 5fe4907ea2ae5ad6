"""The catalogue of a text index: its articles with content hashes and redirects.

One SQLite file beside the passages. While articles are added, an article that is read again gets a row with a
higher number, and the row before it stays until :meth:`Catalog.settle`: so a killed run is undone by numbers alone.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from atomr_local.errors import KnowledgeIndexError
from atomr_local.indexing.builds.space import write_error
from atomr_local.indexing.readers.base import Article, Redirect
from atomr_local.language.names import name_key

CATALOG = "articles.sqlite"
_TABLES = """
CREATE TABLE IF NOT EXISTS articles (
    seq INTEGER PRIMARY KEY, id TEXT NOT NULL, title TEXT NOT NULL, key TEXT NOT NULL, qid TEXT, hash BLOB NOT NULL,
    passages INTEGER NOT NULL);
CREATE INDEX IF NOT EXISTS articles_id ON articles (id);
CREATE TABLE IF NOT EXISTS aliases (
    seq INTEGER PRIMARY KEY, title TEXT NOT NULL, key TEXT NOT NULL, target TEXT NOT NULL);
"""
_LOOKUPS = """
CREATE INDEX IF NOT EXISTS articles_key ON articles (key);
CREATE INDEX IF NOT EXISTS aliases_key ON aliases (key);
"""


@dataclass(frozen=True, slots=True)
class Known:
    """An article of the catalogue; `passages` is how many it was split into."""

    seq: int
    id: str
    title: str
    qid: str | None
    hash: bytes
    passages: int

    def passage_ids(self) -> list[str]:
        return [passage_id(self.id, number) for number in range(self.passages)]


def passage_id(article: str, number: int) -> str:
    return f"{article}#{number}"


def content_hash(article: Article) -> bytes:
    """Of all that an index keeps of the article."""
    sections = [(section.start, section.heading) for section in article.sections]
    content = [article.title, article.text, article.qid, article.metadata, sections]
    return hashlib.sha256(json.dumps(content, sort_keys=True, default=str).encode()).digest()[:16]


class Catalog:
    """The catalogue of an index that is being built; changes last from :meth:`commit` on. Not thread-safe.

    Raises (all methods):
        KnowledgeIndexError: the file cannot be written or read.
    """

    def __init__(self, directory: Path) -> None:
        with _sqlite():
            self._db = sqlite3.connect(directory / CATALOG)
            self._db.execute("PRAGMA synchronous = FULL")
            self._db.executescript(_TABLES)

    def close(self) -> None:
        self._db.close()

    def commit(self) -> None:
        with _sqlite():
            self._db.commit()

    def last(self) -> int:
        """The highest number given so far; articles and aliases are numbered together."""
        with _sqlite():
            ((articles, aliases),) = self._db.execute(
                "SELECT (SELECT max(seq) FROM articles), (SELECT max(seq) FROM aliases)"
            )
        return max(articles or 0, aliases or 0)

    def go_back(self, seq: int) -> None:
        """Undo what was added after the number `seq`."""
        with _sqlite():
            self._db.rollback()
            for table in ("articles", "aliases"):
                self._db.execute(f"DELETE FROM {table} WHERE seq > ?", (seq,))  # noqa: S608
            self._db.commit()

    def find(self, identifier: str) -> Known | None:
        """The article with this id, as it was added last."""
        with _sqlite():
            row = self._db.execute(
                "SELECT seq, id, title, qid, hash, passages FROM articles WHERE id = ? ORDER BY seq DESC LIMIT 1",
                (identifier,),
            ).fetchone()
        return Known(*row) if row else None

    def titled(self, title: str) -> list[Known]:
        """The articles whose title is this one, as it is written; else those whose title has the same key."""
        with _sqlite():
            rows = self._db.execute(
                "SELECT seq, id, title, qid, hash, passages FROM articles WHERE key = ? ORDER BY seq",
                (name_key(title),),
            ).fetchall()
        found = [Known(*row) for row in rows]
        return [known for known in found if known.title == title] or found

    def add(self, seq: int, article: Article, digest: bytes, passages: int) -> None:
        row = (seq, article.id, article.title, name_key(article.title), article.qid, digest, passages)
        with _sqlite():
            self._db.execute("INSERT INTO articles VALUES (?, ?, ?, ?, ?, ?, ?)", row)

    def add_alias(self, seq: int, redirect: Redirect) -> None:
        row = (seq, redirect.title, name_key(redirect.title), name_key(redirect.target))
        with _sqlite():
            self._db.execute("INSERT INTO aliases VALUES (?, ?, ?, ?)", row)

    def remove(self, identifiers: Iterable[str]) -> None:
        with _sqlite():
            self._db.executemany("DELETE FROM articles WHERE id = ?", ((name,) for name in identifiers))

    def settle(self, base: int) -> None:
        """Drop what the rows after number `base` replace, and aliases that lead nowhere or stand twice. Idempotent."""
        with _sqlite():
            self._db.executescript(_LOOKUPS)
            self._db.execute(
                "DELETE FROM articles WHERE seq <= ? AND id IN (SELECT id FROM articles WHERE seq > ?)", (base, base)
            )
            self._db.execute("DELETE FROM aliases WHERE target NOT IN (SELECT key FROM articles) OR key = target")
            self._db.execute("DELETE FROM aliases WHERE seq NOT IN (SELECT min(seq) FROM aliases GROUP BY key, target)")
            self._db.commit()

    def counts(self) -> tuple[int, int, int]:
        """Articles, the passages that they were split into, aliases."""
        with _sqlite():
            ((articles, passages, aliases),) = self._db.execute(
                "SELECT (SELECT count(*) FROM articles), (SELECT coalesce(sum(passages), 0) FROM articles), "
                "(SELECT count(*) FROM aliases)"
            )
        return int(articles), int(passages), int(aliases)


class CatalogReader:
    """The catalogue of a finished index. Thread-safe.

    Raises (all methods):
        KnowledgeIndexError: the file is missing or damaged.
    """

    def __init__(self, directory: Path) -> None:
        file = directory / CATALOG
        if not file.is_file():
            raise KnowledgeIndexError(f"{file} is missing", hint="Build the index again.")
        self._lock = threading.Lock()
        # A finished index is only ever replaced as a whole, so that no lock on the file is needed.
        with _sqlite(file):
            self._db = sqlite3.connect(f"{file.resolve().as_uri()}?immutable=1", uri=True, check_same_thread=False)

    def close(self) -> None:
        self._db.close()

    def articles(self) -> Iterator[Known]:
        """All of them, in the order of reading."""
        after = 0
        while True:
            with _sqlite(), self._lock:
                rows = self._db.execute(
                    "SELECT seq, id, title, qid, hash, passages FROM articles WHERE seq > ? ORDER BY seq LIMIT 1000",
                    (after,),
                ).fetchall()
            if not rows:
                return
            yield from (Known(*row) for row in rows)
            after = rows[-1][0]

    def counts(self) -> tuple[int, int, int]:
        """Articles, the passages that they were split into, aliases."""
        with _sqlite(), self._lock:
            ((articles, passages, aliases),) = self._db.execute(
                "SELECT (SELECT count(*) FROM articles), (SELECT coalesce(sum(passages), 0) FROM articles), "
                "(SELECT count(*) FROM aliases)"
            )
        return int(articles), int(passages), int(aliases)

    def check(self) -> str:
        """What SQLite finds wrong with the file; "" when it is whole."""
        with _sqlite(), self._lock:
            found = [str(row[0]) for row in self._db.execute("PRAGMA quick_check(3)")]
        return "" if found == ["ok"] else "; ".join(found)

    def targets(self, name: str, limit: int = 3) -> list[str]:
        """Titles of the articles that `name` is another name of, or leads to by a redirect."""
        with _sqlite(), self._lock:
            rows = self._db.execute(
                "SELECT DISTINCT articles.title FROM aliases JOIN articles ON articles.key = aliases.target "
                "WHERE aliases.key = ? ORDER BY articles.seq LIMIT ?",
                (name_key(name), limit),
            ).fetchall()
        return [str(title) for (title,) in rows]

    def missing(self, names: Iterable[str]) -> Iterator[str]:
        """Those of the names that are no article's title."""
        for name in names:
            with _sqlite(), self._lock:
                row = self._db.execute("SELECT 1 FROM articles WHERE key = ? LIMIT 1", (name_key(name),)).fetchone()
            if row is None:
                yield name


@contextmanager
def _sqlite(file: Path | None = None) -> Iterator[None]:
    try:
        yield
    except sqlite3.DatabaseError as error:
        if file is not None or not isinstance(error, sqlite3.OperationalError):
            raise KnowledgeIndexError(
                f"the index's list of articles ({file or CATALOG}) cannot be read: {error}",
                hint="Build the index again.",
            ) from error
        raise write_error("the index's list of articles", error, resumable=True) from error
