"""The catalogue of an index that follows folders: beside the articles, the files that they come from and their places.

What a run adds has a higher number than what was there, and what it takes out is only noted until
:meth:`DocumentCatalog.settle`, so that a killed run is undone by numbers alone.
"""

from __future__ import annotations

import json
import mimetypes
import os
import sqlite3
import zlib
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import astuple, dataclass, field
from functools import lru_cache
from pathlib import Path, PurePosixPath
from typing import Any, get_args

from atomr_local.errors import KnowledgeIndexError
from atomr_local.indexing.readers.documents.document import MOST_MAILBOX, MOST_TEXT, PlaceKind, UnreadableError
from atomr_local.indexing.readers.documents.folder import MOST_BYTES, Folder, FoundFile
from atomr_local.indexing.readers.documents.kinds import document_kind
from atomr_local.indexing.sqlite_pool import ReadOnlyPool
from atomr_local.indexing.text_index.catalog import CATALOG, Catalog, Known

_TABLES = """
CREATE TABLE IF NOT EXISTS documents (
    path TEXT PRIMARY KEY, root INTEGER NOT NULL, size INTEGER NOT NULL, stamp TEXT NOT NULL, digest TEXT NOT NULL,
    reader TEXT NOT NULL, problem TEXT NOT NULL, notes TEXT NOT NULL, articles TEXT NOT NULL, aliases TEXT NOT NULL,
    seq INTEGER NOT NULL);
CREATE INDEX IF NOT EXISTS documents_digest ON documents (digest);
CREATE TABLE IF NOT EXISTS places (
    article TEXT PRIMARY KEY, path TEXT NOT NULL, kind TEXT NOT NULL, marks BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS gone (article TEXT NOT NULL, seq INTEGER NOT NULL);
CREATE INDEX IF NOT EXISTS gone_article ON gone (article);
"""
_COLUMNS, _ADDED = 11, ("tells", "original")  # of documents: how many there were first, and those that came later
_NOT_GONE = "NOT EXISTS (SELECT 1 FROM gone WHERE gone.article = articles.id AND gone.seq > articles.seq)"
_ARTICLES = "SELECT seq, id, title, qid, hash, passages FROM articles"
_PLACES = (
    "SELECT places.path, coalesce(documents.root, 0), kind, marks FROM places "
    "LEFT JOIN documents ON documents.path = places.path WHERE article = ?"
)
_PLACED = (
    "SELECT articles.id, articles.title, places.path, coalesce(documents.root, 0), coalesce(documents.stamp, '') "
    "FROM articles JOIN places ON places.article = articles.id LEFT JOIN documents ON documents.path = places.path "
    "ORDER BY articles.seq"
)
_KEPT_MARKS = 64
_MOST_STARTS = 50  # pages that one passage begins
_MOST_MARKS = 64 << 20  # bytes of one article's places


@dataclass(frozen=True, slots=True)
class ListedDocument:
    """A file of the folders, as it was when it was read: a row of the table.

    Attributes:
        path: below its folder; the names of several folders stand before it.
        root: the number of its folder.
        stamp: its times of change, as the system gives them; "" if it has to be looked at again.
        digest: SHA-256 of its content, "" if it could not be read.
        reader: what read it; another version reads it again.
        problem: why it could not be read; "" if it was.
        notes: what was lost of it.
        articles: ids of what it was read to.
        aliases: (name, title) of each other name.
        tells: stands for all that it tells, so that copies are known; "" if it was not read.
        original: path of the file that it is a copy of, and that was read in its place; "" if it is none.
    """

    path: str
    root: int
    size: int = 0
    stamp: str = ""
    digest: str = ""
    reader: str = ""
    problem: str = ""
    notes: list[str] = field(default_factory=list)
    articles: list[str] = field(default_factory=list)
    aliases: list[tuple[str, str]] = field(default_factory=list)
    seq: int = 0
    tells: str = ""
    original: str = ""


class DocumentCatalog(Catalog):
    """The catalogue while it is built. See :class:`Catalog`."""

    def __init__(self, directory: Path) -> None:
        super().__init__(directory)
        self._db.executescript(_TABLES)
        for name in _ADDED[len(self._rows("PRAGMA table_info(documents)")) - _COLUMNS :]:
            self._rows(f"ALTER TABLE documents ADD COLUMN {name} TEXT NOT NULL DEFAULT ''")

    def last(self) -> int:
        [(highest,)] = self._rows("SELECT max(seq) FROM documents")
        return max(super().last(), highest or 0)

    def go_back(self, seq: int) -> None:
        super().go_back(seq)
        self._rows("DELETE FROM documents WHERE seq > ?", (seq,))
        self._rows("DELETE FROM gone WHERE seq > ?", (seq,))
        self.commit()

    def find(self, identifier: str) -> Known | None:
        query = f"{_ARTICLES} WHERE id = ? AND {_NOT_GONE} ORDER BY seq DESC LIMIT 1"
        rows = self._rows(query, (identifier,))
        return Known(*rows[0]) if rows else None

    def settle(self, base: int) -> None:
        """As :meth:`Catalog.settle`; what was noted as gone is taken out, and the other names are listed anew."""
        self._rows(f"DELETE FROM articles WHERE NOT {_NOT_GONE}")  # noqa: S608
        self._rows("DELETE FROM gone")
        self._rows(
            "DELETE FROM articles WHERE seq < "
            "(SELECT max(newer.seq) FROM articles AS newer WHERE newer.id = articles.id)"
        )
        self._rows("DELETE FROM places WHERE article NOT IN (SELECT id FROM articles)")
        self._rows("DELETE FROM aliases")
        seq = super().last()
        for document in self.documents():
            for name, title in document.aliases:
                seq += 1
                key, target = self._key(name), self._key(title)
                self._rows("INSERT INTO aliases VALUES (?, ?, ?, ?)", (seq, name, key, target))
        self.commit()
        super().settle(base)

    def document(self, path: str) -> ListedDocument | None:
        rows = self._rows("SELECT * FROM documents WHERE path = ?", (path,))
        return _listed(rows[0]) if rows else None

    def with_digest(self, digest: str) -> list[ListedDocument]:
        """Files with this content."""
        rows = self._rows("SELECT * FROM documents WHERE digest = ? LIMIT 3", (digest,))
        return [_listed(row) for row in rows]

    def documents(self) -> list[ListedDocument]:
        """All of them, by path."""
        return [_listed(row) for row in self._rows("SELECT * FROM documents ORDER BY path")]

    def put_document(self, document: ListedDocument) -> None:
        row = [json.dumps(value) if isinstance(value, list) else value for value in astuple(document)]
        self._rows(f"INSERT OR REPLACE INTO documents VALUES ({', '.join('?' * len(row))})", row)  # noqa: S608

    def drop_document(self, path: str) -> None:
        self._rows("DELETE FROM documents WHERE path = ?", (path,))

    def put_places(self, article: str, path: str, kind: str, places: Iterable[tuple[Any, ...]]) -> None:
        """Where an article's text stands, as of :class:`Document`."""
        marks = zlib.compress(json.dumps(list(places)).encode())
        self._rows("INSERT OR REPLACE INTO places VALUES (?, ?, ?, ?)", (article, path, kind, marks))

    def take_out(self, seq: int, article: str) -> list[str]:
        """Note that the article is gone, from the number `seq` on.

        Returns:
            The ids of its passages.
        """
        [(most,)] = self._rows("SELECT max(passages) FROM articles WHERE id = ?", (article,))
        self._rows("INSERT INTO gone VALUES (?, ?)", (article, seq))
        return Known(seq, article, "", None, b"", most or 0).passage_ids()

    def orphans(self) -> list[str]:
        """Ids of articles that no file is listed for: a run was killed before it was done with their file."""
        listed = {article for document in self.documents() for article in document.articles}
        found = self._rows(f"SELECT DISTINCT id FROM articles WHERE {_NOT_GONE}")  # noqa: S608
        return [str(name) for (name,) in found if name not in listed]


def listed_documents(directory: Path) -> list[ListedDocument]:
    """The files that a finished index was read from, by path; [] of one that follows no folder.

    Raises:
        KnowledgeIndexError: the list cannot be read.
    """
    with _reading(f"the list of files in {directory}"), closing(ReadOnlyPool(directory / CATALOG)) as pool:
        if not pool.rows("SELECT 1 FROM sqlite_master WHERE name = 'documents'", ()):
            return []
        return [_listed(row) for row in pool.rows("SELECT * FROM documents ORDER BY path", ())]


class Places:
    """Where passages of a finished index stand in their files. Thread-safe."""

    def __init__(self, directory: Path) -> None:
        self._pool = ReadOnlyPool(directory / CATALOG)
        self._marks = lru_cache(_KEPT_MARKS)(self._read_marks)

    def close(self) -> None:
        self._pool.close()

    def locate(self, article: str, start: int, end: int) -> dict[str, Any]:
        """The file of text[start:end] of the article and the place in it: {"file", "page"} and the like; {} if unknown.

        "root" is the number of the root that the file belongs to. What reaches over several places has a list of the
        first and the last; "page_starts" says where in the text the later pages begin: [offset from `start`, page];
        "page_words" tells pages by what is printed on them, as in "pp. iv–v (6–7)", or that were read by OCR.
        """
        found = self._marks(article)
        if found is None:
            return {}
        path, root, kind, marks = found
        where: dict[str, Any] = {"file": path, "root": root}
        offsets = [mark[0] for mark in marks]
        first, last = bisect_right(offsets, start) - 1, bisect_right(offsets, max(start, end - 1)) - 1
        if kind and marks and last >= 0:
            begin, finish = marks[max(0, first)][1], marks[last][1]
            where[kind] = begin if begin == finish else _span(kind, begin, finish)
            here = marks[max(0, first) : last + 1]
            if kind == "page" and begin != finish:
                where["page_starts"] = [[mark[0] - start, mark[1]] for mark in here[1 : _MOST_STARTS + 1]]
            if kind == "page" and any(len(mark) > 2 for mark in here):
                where["page_words"] = _page_words(here)
        return where

    def articles(self) -> list[tuple[str, str, str, int, str]]:
        """Id, title, path, number of the root and stamp (:class:`ListedDocument`) of each article, in order."""
        with _reading(_THESE):
            rows = self._pool.rows(_PLACED, ())
            return [(str(a), str(t), str(p), int(str(root)), str(stamp)) for a, t, p, root, stamp in rows]

    def _read_marks(self, article: str) -> tuple[str, int, str, list[Any]] | None:
        with _reading(_THESE):
            rows = self._pool.rows(_PLACES, (article,))
            return _unpacked(*rows[0]) if rows else None


_THESE = f"the places in {CATALOG}"


@contextmanager
def _reading(what: str) -> Iterator[None]:
    try:
        yield
    except (sqlite3.Error, ValueError, TypeError, zlib.error, RecursionError) as error:
        raise KnowledgeIndexError(f"{what} cannot be read: {error}", hint="Build the index again.") from error


def _unpacked(path: Any, root: Any, kind: Any, marks: Any) -> tuple[str, int, str, list[Any]]:
    # An index may come from elsewhere: what it unpacks to is bounded, and of the form that is written.
    kinds = {"", *get_args(PlaceKind)}
    if not (isinstance(path, str) and isinstance(root, int) and kind in kinds and isinstance(marks, bytes)):
        raise ValueError("a place is not of its form")
    found = json.loads(zlib.decompressobj().decompress(marks, _MOST_MARKS))
    if not (isinstance(found, list) and all(_is_mark(mark) for mark in found)):
        raise ValueError("the places of a file are not of their form")
    return path, root, kind, found


def _is_mark(mark: Any) -> bool:
    match mark:
        case [int(), int() | str(), *more]:
            return all(isinstance(one, str) for one in more)
    return False


def _page_words(marks: Sequence[Any]) -> str:
    """Pages by what is printed on them, their numbers in brackets where they differ, and how they were read."""
    ends = (marks[0], marks[-1]) if marks[0][1] != marks[-1][1] else (marks[0],)
    numbers, printed = [str(mark[1]) for mark in ends], [str([*mark, mark[1]][2]) for mark in ends]
    inside = ["–".join(numbers)] if printed != numbers else []
    inside += dict.fromkeys(how for mark in marks for how in mark[3:])
    words = f"{'p.' if len(ends) == 1 else 'pp.'} {'–'.join(printed)}"
    return f"{words} ({', '.join(inside)})" if inside else words


def _span(kind: str, begin: Any, finish: Any) -> Any:
    if kind != "cells":
        return [begin, finish]
    sheet, _, first = str(begin).rpartition("!")
    other, _, last = str(finish).rpartition("!")
    if sheet != other:
        return f"{begin}, {finish}"
    cells = f"{first.partition(':')[0]}:{last.rpartition(':')[2]}"
    return f"{sheet}!{cells}" if sheet else cells


def _listed(row: tuple[Any, ...]) -> ListedDocument:
    notes, articles, aliases = map(json.loads, row[7:10])
    return ListedDocument(*(*row[:7], notes, articles, [(name, title) for name, title in aliases], *row[10:]))


# About how much text there is in files, before they are read: for the room that an index needs, and for progress.

# Of documents that hold more than their text: how much of them is text, about.
_SHARE_OF_PACKED = 0.1
_PACKED = frozenset({".pdf", ".docx", ".pptx", ".xlsx", ".odt", ".ods", ".odp", ".epub"})
_PACKED_KINDS = frozenset({"pdf", "docx", "pptx", "xlsx", "epub", "opendocument"})
_MEDIA = ("image/", "audio/", "video/", "font/")
_LOOKED_INTO = 1 << 20  # bytes from which on a file's name is not believed


def text_bytes_of(folder: Folder, file: FoundFile) -> int:
    """Of one file, by its name; of a large one by how its content begins. 0 of what is not read."""
    if file.problem or file.size > MOST_BYTES:
        return 0
    kind = ""
    if (mimetypes.guess_type(file.path)[0] or "").startswith(_MEDIA):
        return 0
    if file.size > _LOOKED_INTO:
        try:
            with os.fdopen(folder.open(file), "rb") as stream:
                kind = document_kind(stream, PurePosixPath(file.path).name)
        except (UnreadableError, OSError):
            return 0
    packed = kind in _PACKED_KINDS if kind else PurePosixPath(file.path).suffix.casefold() in _PACKED
    most = MOST_MAILBOX if kind == "mbox" else MOST_TEXT
    return min(int(file.size * (_SHARE_OF_PACKED if packed else 1.0)), most)
