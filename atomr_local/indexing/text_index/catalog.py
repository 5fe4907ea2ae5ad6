"""The catalogue of a text index: its articles with content hashes and redirects.

One SQLite file beside the passages. While articles are added, an article that is read again gets a row with a
higher number, and the row before it stays until :meth:`Catalog.settle`: so a killed run is undone by numbers alone.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from atomr_local.errors import KnowledgeIndexError
from atomr_local.indexing.builds.space import write_error
from atomr_local.indexing.readers.base import Article, Redirect
from atomr_local.indexing.sqlite_pool import ReadOnlyPool
from atomr_local.indexing.text_index.chunking import Passage
from atomr_local.language.names import KEYS, former_name_key, name_key

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
_ARTICLES = "SELECT seq, id, title, qid, hash, passages FROM articles"
_LOOKED_AT = 500
_COUNTS = (
    "SELECT (SELECT count(*) FROM articles), (SELECT coalesce(sum(passages), 0) FROM articles), "
    "(SELECT count(*) FROM aliases)"
)


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
    sections = [
        (section.start, section.heading, *((section.kind, section.name) if section.kind else ()))
        for section in article.sections
    ]
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
            begun = self._db.execute("SELECT 1 FROM sqlite_master WHERE name = 'articles'").fetchone()
            self._db.executescript(_TABLES if begun else f"{_TABLES} PRAGMA user_version = {KEYS};")
            # A list that an earlier version began goes on with the keys of that version.
            self._key = _key_function(self._db.execute("PRAGMA user_version").fetchall())

    def _rows(self, query: str, parameters: Sequence[object] = ()) -> list[Any]:
        with _sqlite():
            return self._db.execute(query, parameters).fetchall()

    def close(self) -> None:
        self._db.close()

    def commit(self) -> None:
        with _sqlite():
            self._db.commit()

    def last(self) -> int:
        """The highest number given so far; articles and aliases are numbered together."""
        [(articles, aliases)] = self._rows("SELECT (SELECT max(seq) FROM articles), (SELECT max(seq) FROM aliases)")
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
        rows = self._rows(f"{_ARTICLES} WHERE id = ? ORDER BY seq DESC LIMIT 1", (identifier,))
        return Known(*rows[0]) if rows else None

    def titled(self, title: str) -> list[Known]:
        """The articles whose title is this one, as it is written; else those whose title has the same key."""
        found = [Known(*row) for row in self._rows(f"{_ARTICLES} WHERE key = ? ORDER BY seq", (self._key(title),))]
        same = [known for known in found if name_key(known.title) == name_key(title)]
        return [known for known in found if known.title == title] or same

    def add(self, seq: int, article: Article, digest: bytes, passages: int) -> None:
        row = (seq, article.id, article.title, self._key(article.title), article.qid, digest, passages)
        self._rows("INSERT INTO articles VALUES (?, ?, ?, ?, ?, ?, ?)", row)

    def add_alias(self, seq: int, redirect: Redirect) -> None:
        row = (seq, redirect.title, self._key(redirect.title), self._key(redirect.target))
        self._rows("INSERT INTO aliases VALUES (?, ?, ?, ?)", row)

    def remove(self, identifiers: Iterable[str]) -> None:
        for name in identifiers:
            self._rows("DELETE FROM articles WHERE id = ?", (name,))

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

    def counts(self) -> dict[str, int]:
        """ "articles", the "passages" that they were split into, and "aliases" if there are any."""
        return _counts(self._rows(_COUNTS))


class CatalogReader:
    """The catalogue of a finished index. Thread-safe.

    Raises (all methods):
        KnowledgeIndexError: the file is missing or damaged.
    """

    def __init__(self, directory: Path) -> None:
        file = directory / CATALOG
        if not file.is_file():
            raise KnowledgeIndexError(f"{file} is missing", hint="Build the index again.")
        self._pool = ReadOnlyPool(file)
        self._key = _key_function(self._rows("PRAGMA user_version"))

    def _rows(self, query: str, parameters: Sequence[object] = ()) -> list[Any]:
        with _sqlite(reading=True):
            return self._pool.rows(query, parameters)

    def close(self) -> None:
        self._pool.close()

    def articles(self) -> Iterator[Known]:
        """All of them, in the order of reading."""
        after = 0
        while rows := self._rows(f"{_ARTICLES} WHERE seq > ? ORDER BY seq LIMIT 1000", (after,)):
            yield from (Known(*row) for row in rows)
            after = rows[-1][0]

    def counts(self) -> dict[str, int]:
        """As :meth:`Catalog.counts`."""
        return _counts(self._rows(_COUNTS))

    def some_titles(self, number: int) -> list[str]:
        """Titles from all over the list, those of the longest articles first; read quickly however long it is."""
        last = self._rows("SELECT max(seq) FROM articles")[0][0] or 0
        step = max(1, last // number)
        query = "SELECT title, passages FROM articles WHERE seq >= ? ORDER BY seq LIMIT 1"
        found = {str(title): int(size) for at in range(1, last + 1, step) for title, size in self._rows(query, (at,))}
        return sorted(found, key=lambda title: -found[title])[:number]

    def check(self) -> str:
        """What SQLite finds wrong with the file; "" when it is whole."""
        with _sqlite(reading=True):
            return self._pool.check()

    def targets(self, name: str, limit: int = 3) -> list[str]:
        """Titles of the articles that `name` is another name of, or leads to by a redirect."""
        rows = self._rows(
            "SELECT DISTINCT articles.title FROM aliases JOIN articles ON articles.key = aliases.target "
            "WHERE aliases.key = ? ORDER BY articles.seq LIMIT ?",
            (self._key(name), limit),
        )
        return [str(title) for (title,) in rows]

    def titled(self, name: str, only: Collection[str] | None = None) -> Known | None:
        """The article of this title as it is written, else the first whose title has the same key, else the first that
        is another name's or redirect's; of those with these ids, where `only` is given."""
        key = self._key(name)
        rows = self._rows(f"{_ARTICLES} WHERE key = ? ORDER BY title = ? DESC, seq LIMIT 20", (key, name))
        # One key of an earlier version may stand for several of today's.
        found = [Known(*row) for row in rows if name_key(row[2]) == name_key(name)]
        if not found:
            target = "(SELECT target FROM aliases WHERE key = ? ORDER BY seq LIMIT 1)"
            found = [
                Known(*row) for row in self._rows(f"{_ARTICLES} WHERE key = {target} ORDER BY seq LIMIT 20", (key,))
            ]
        return next((known for known in found if only is None or known.id in only), None)

    def matching(self, pattern: str) -> list[str]:
        """Ids of the articles with this title, whose key may be another spelling, or whose title fits the pattern of
        :mod:`fnmatch`."""
        key = self._key(pattern)
        query = "SELECT id FROM articles WHERE key = ?"
        found = self._rows(query, (key,))
        if any(sign in pattern for sign in "*?["):
            # SQLite's GLOB is fnmatch but for the sign of a set of other characters.
            found += self._rows("SELECT id FROM articles WHERE title GLOB ?", (pattern.replace("[!", "[^"),))
        return [str(identifier) for (identifier,) in found]

    def beginning(self, key: str, limit: int) -> list[tuple[str, str, int]]:
        """Names that begin with the words of `key` and go on: (key, title of the article, its passages).

        Of very many, the first in the order of their keys are looked at.
        """
        return self._named(
            f"key >= ? AND key < ? ORDER BY key LIMIT {_LOOKED_AT}", (f"{self._key(key)} ", f"{self._key(key)}!"), limit
        )

    def with_keys(self, keys: Sequence[str], limit: int) -> list[tuple[str, str, int]]:
        """Names with one of these keys, up to 900 of which are read, as :meth:`beginning` gives them."""
        read = list(map(self._key, keys[:900]))
        return self._named(f"key IN ({', '.join('?' * len(read))})", read, limit) if read else []

    def _named(self, condition: str, parameters: Sequence[object], limit: int) -> list[tuple[str, str, int]]:
        """Titles and redirects that meet the condition, those of the longest articles first."""
        found = self._rows(
            f"SELECT key, title, passages FROM (SELECT key, title, passages FROM articles WHERE {condition}) "  # noqa: S608
            "ORDER BY passages DESC, title LIMIT ?",
            (*parameters, limit),
        ) + self._rows(
            "SELECT one.key, articles.title, articles.passages "  # noqa: S608
            f"FROM (SELECT key, target FROM aliases WHERE {condition}) AS one "
            "JOIN articles ON articles.key = one.target ORDER BY articles.passages DESC, articles.title LIMIT ?",
            (*parameters, limit),
        )
        return [(str(key), str(title), int(passages)) for key, title, passages in found]

    def missing(self, names: Iterable[str]) -> list[str]:
        """Those of the names that are no article's title."""
        query = "SELECT 1 FROM articles WHERE key = ? LIMIT 1"
        return [name for name in names if not self._rows(query, (self._key(name),))]


def _key_function(version: Sequence[tuple[int]]) -> Callable[[str], str]:
    """What the keys in the list were made by, from its version of them."""
    return name_key if version == [(KEYS,)] else former_name_key


def _counts(rows: Sequence[tuple[int, int, int]]) -> dict[str, int]:
    articles, passages, aliases = rows[0]
    return {"articles": articles, "passages": passages} | ({"aliases": aliases} if aliases else {})


@contextmanager
def _sqlite(*, reading: bool = False) -> Iterator[None]:
    try:
        yield
    except sqlite3.DatabaseError as error:
        if reading or not isinstance(error, sqlite3.OperationalError):
            raise KnowledgeIndexError(
                f"the index's list of articles ({CATALOG}) cannot be read: {error}",
                hint="Build the index again.",
            ) from error
        raise write_error("the index's list of articles", error, resumable=True) from error


# What kind of passage a row of the table is, kept in its metadata: of tables, infoboxes and source code.

METADATA = "metadata"
_KEY = "atomr"  # of what is said here, beside what the input says of the article
_KINDS = frozenset({"table", "infobox", "code"})
_LONGEST = 200


def kept_kind(passage: Passage) -> dict[str, Any]:
    """What the metadata of a passage that is no prose says of it."""
    rows = {"rows": list(passage.lines)} if passage.kind == "table" and passage.lines is not None else {}
    return {_KEY: {"kind": passage.kind, "name": passage.name, **rows}}


def kind_of(metadata: object) -> dict[str, Any]:
    """The kind of a passage as a locator gives it, from its metadata in JSON; {} of prose. Untrusted.

    {"kind": "table", "table": "2", "table_rows": [3, 9]}, {"kind": "infobox", "infobox": "film"}, {"kind": "code"}
    """
    if not isinstance(metadata, str) or f'"{_KEY}"' not in metadata:
        return {}
    try:
        found = json.loads(metadata).get(_KEY)
    except (ValueError, AttributeError, RecursionError):
        return {}
    kind = found.get("kind") if isinstance(found, Mapping) else None
    if not isinstance(kind, str) or kind not in _KINDS:
        return {}
    name, rows = found.get("name"), found.get("rows")
    where: dict[str, Any] = {"kind": kind}
    if kind != "code" and isinstance(name, str) and name:
        where[kind] = name[:_LONGEST]
    if isinstance(rows, list) and len(rows) == 2 and all(type(row) is int for row in rows):
        where["table_rows"] = rows
    return where
