"""Vectors of passages made beside an index: at query time, kept for the next build, and how many passages have one."""

from __future__ import annotations

import contextlib
import hashlib
import os
import sqlite3
import threading
import zlib
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from atomr_local.indexing import store
from atomr_local.indexing.store import Manifest
from atomr_local.indexing.text_index.table import SEARCHED, TABLE, VECTOR, connect, writing

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from atomr_local.indexing.embedding.embedder import Embedder


# The store of vectors: those that were made after an index was built, of candidates at query time and by `atomr text
# embed`, and those that a build need not make again.
#
# One SQLite file in the index's directory. It is not among the files that the index's checksums cover: every row has a
# checksum of its own, over the text and its vector. A vector belongs to a text, not to a passage number, so that it
# holds for whatever index has the text. What is damaged or cannot be read is made again, and what cannot be written, as
# in a directory that may only be read, is kept in memory.

VECTORS = "vectors.sqlite"
_TABLES = """
CREATE TABLE IF NOT EXISTS made_by (embedder TEXT NOT NULL, dimensions INTEGER NOT NULL, vectors INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS vectors (key INTEGER PRIMARY KEY, vector BLOB NOT NULL, checksum INTEGER NOT NULL);
"""
_KEPT = 4096  # vectors in memory
_ASKED = 500  # keys in one query
_PATIENCE = 2.0  # seconds that a reader waits for a writer


class VectorCache:
    """The vectors of one index by text, of one embedder. Thread-safe.

    Args:
        directory: of the index; None for vectors in memory alone.
        keep: how many vectors stay in memory beside the file.

    Attributes:
        problem: why the file cannot be used or written; "" while it can. Vectors are then kept in memory alone.
    """

    def __init__(self, directory: Path | None, embedder: str, dimensions: int, *, keep: int = _KEPT) -> None:
        self._embedder, self._dimensions = embedder, dimensions
        self._kept: OrderedDict[bytes, NDArray[np.float32]] = OrderedDict()
        self._keep = keep
        self._lock = threading.Lock()
        self.problem = ""
        self._writable = True
        self._db: sqlite3.Connection | None = None
        if directory is not None:
            try:
                self._db = self._opened(directory / VECTORS)
            except sqlite3.Error as error:
                self.problem = str(error)

    def close(self) -> None:
        with self._lock:
            if self._db is not None:
                self._db.close()
                self._db = None

    def get(self, texts: Sequence[str]) -> list[NDArray[np.float32] | None]:
        """The vector of each text; None where none was made yet."""
        digests = [_digest(text) for text in texts]
        with self._lock:
            found = {digest: self._kept[digest] for digest in digests if digest in self._kept}
            found.update(self._read([digest for digest in dict.fromkeys(digests) if digest not in found]))
        return [found.get(digest) for digest in digests]

    def put(self, vectors: Mapping[str, NDArray[np.float32]]) -> bool:
        """Keep the vector of each text.

        Returns:
            Whether they are in the file; otherwise they are in memory, and :attr:`problem` says why.
        """
        made = self.remember(vectors)
        with self._lock:
            if self._db is None or not self._writable:
                return False
            rows = [
                (_key(digest), blob := vector.tobytes(), _checksum(digest, blob)) for digest, vector in made.items()
            ]
            try:
                with self._db:
                    replaced = sum(
                        self._db.execute("DELETE FROM vectors WHERE key = ?", (key,)).rowcount for key, *_ in rows
                    )
                    self._db.executemany("INSERT OR REPLACE INTO vectors VALUES (?, ?, ?)", rows)
                    # Counted here: to count the rows of a large file means to read all of it.
                    self._db.execute("UPDATE made_by SET vectors = vectors + ?", (len(rows) - replaced,))
            except sqlite3.Error as error:
                self.problem = str(error)
                self._writable = "locked" in self.problem or "busy" in self.problem  # another process writes just now
                return False
        return True

    def remember(self, vectors: Mapping[str, Any]) -> dict[bytes, NDArray[np.float32]]:
        """Keep the vector of each text in memory, where the latest stay; the vectors by what stands for their texts."""
        import numpy as np

        made = {_digest(text): np.ascontiguousarray(vector, dtype=np.float32) for text, vector in vectors.items()}
        with self._lock:
            for digest, vector in made.items():
                self._kept[digest] = vector
                self._kept.move_to_end(digest)
            while len(self._kept) > self._keep:
                self._kept.popitem(last=False)
        return made

    def _opened(self, file: Path) -> sqlite3.Connection | None:
        with contextlib.suppress(OSError):  # others may read it if they may read the directory
            os.close(os.open(file, os.O_RDWR | os.O_CREAT, file.parent.stat().st_mode & 0o666))
        try:
            return self._connected(file, "rw" if file.exists() else "rwc")
        except sqlite3.OperationalError as error:  # a directory or a file that may only be read
            self._writable, self.problem = False, str(error)
        except sqlite3.DatabaseError as error:
            self.problem = f"{VECTORS} is damaged ({error})"
            return None
        return self._connected(file, "ro") if file.exists() else None

    def _connected(self, file: Path, mode: str) -> sqlite3.Connection | None:
        uri = f"{file.absolute().as_uri()}?mode={mode}"
        db = sqlite3.connect(uri, uri=True, check_same_thread=False, timeout=_PATIENCE)
        try:
            db.execute("PRAGMA trusted_schema = OFF")
            if mode != "ro":
                db.execute("PRAGMA synchronous = NORMAL")
                db.executescript(_TABLES)
            made_by = db.execute("SELECT embedder, dimensions FROM made_by").fetchone()
            if made_by is None and mode != "ro":
                with db:
                    db.execute("INSERT INTO made_by VALUES (?, ?, 0)", (self._embedder, self._dimensions))
            elif made_by != (self._embedder, self._dimensions):
                raise sqlite3.DatabaseError("its vectors were made by another embedder")
            db.execute("SELECT key, vector, checksum FROM vectors LIMIT 1").fetchone()
        except sqlite3.Error:
            db.close()
            raise
        return db

    def _read(self, digests: Sequence[bytes]) -> dict[bytes, NDArray[np.float32]]:
        """Those that the file has, as they were written."""
        import numpy as np

        found: dict[bytes, NDArray[np.float32]] = {}
        if self._db is None:
            return found
        by_key = {_key(digest): digest for digest in digests}
        keys = list(by_key)
        with contextlib.suppress(sqlite3.Error):
            for at in range(0, len(keys), _ASKED):
                part = keys[at : at + _ASKED]
                query = f"SELECT key, vector, checksum FROM vectors WHERE key IN ({', '.join('?' * len(part))})"  # noqa: S608
                for key, blob, checksum in self._db.execute(query, part):
                    digest = by_key[key]
                    if len(blob) == 4 * self._dimensions and _checksum(digest, blob) == checksum:
                        found[digest] = np.frombuffer(blob, dtype=np.float32)
        return found


def discard_damaged(directory: Path) -> bool:
    """Remove the file of vectors if SQLite cannot read it; whether it was removed.

    Raises:
        OSError: it cannot be removed.
    """
    if not check_vectors(directory):
        return False
    for name in vector_files(directory):
        name.unlink(missing_ok=True)
    return True


def vector_files(directory: Path) -> Iterable[Path]:
    """The file of the vectors with what SQLite writes beside it."""
    return [directory / f"{VECTORS}{end}" for end in ("", "-journal", "-wal", "-shm")]


def check_vectors(directory: Path) -> str:
    """What SQLite finds wrong with the file of vectors; "" when it is whole or not there."""
    if not (directory / VECTORS).is_file():
        return ""
    try:
        with _reading(directory) as db:
            db.execute("SELECT embedder, dimensions FROM made_by").fetchall()
            db.execute("SELECT key, vector, checksum FROM vectors LIMIT 1").fetchall()
            found = [str(row[0]) for row in db.execute("PRAGMA quick_check(3)").fetchall()]
    except sqlite3.DatabaseError as error:
        return str(error)
    return "" if found == ["ok"] else "; ".join(found)


def count_vectors(directory: Path) -> int:
    """How many vectors the file has; 0 when there is none, or it cannot be read."""
    if not (directory / VECTORS).is_file():
        return 0
    try:
        with _reading(directory) as db:
            return max(0, int(db.execute("SELECT vectors FROM made_by").fetchone()[0]))
    except (sqlite3.Error, TypeError, ValueError):
        return 0


def copy_vectors(source: Path, destination: Path) -> None:
    """The vectors of one directory in another too, as they stand at one moment; a damaged file is left behind.

    Raises:
        OSError: they cannot be written.
    """
    if not (source / VECTORS).is_file():
        return
    try:
        with _reading(source) as one, closing(sqlite3.connect(destination / VECTORS)) as other:
            one.backup(other)
    except sqlite3.Error:
        for file in vector_files(destination):
            file.unlink(missing_ok=True)


def _reading(directory: Path) -> closing[sqlite3.Connection]:
    return closing(sqlite3.connect(f"{(directory / VECTORS).absolute().as_uri()}?mode=ro", uri=True))


def _digest(text: str) -> bytes:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def _key(digest: bytes) -> int:
    return int.from_bytes(digest[:8], "big", signed=True)


def _checksum(digest: bytes, vector: bytes) -> int:
    return zlib.crc32(vector, zlib.crc32(digest))


# Vectors made beside an index, kept when it is built anew: a passage with the same text has the same vector.

_ROWS = 4096
REUSED = 20_000  # vectors that a build keeps in memory, and looks up for one file


def known_vectors(name: str, embedder: Embedder, *, later: bool) -> VectorCache:
    """The vectors that a build of the text index `name` need not make again: those beside the index that is there.

    Args:
        later: the build makes no vectors. Then it has none but those that it remembers; see :func:`take_over`.
    """
    directory = store.index_path("text", name)
    there = directory if not later and (directory / VECTORS).is_file() else None
    return VectorCache(there, embedder.identity, embedder.dimensions, keep=REUSED)


def take_over(name: str, scratch: Path, embedder: Embedder) -> None:
    """Put the vectors beside the present text index `name` of passages that have none beside the new one in `scratch`.

    Raises:
        KnowledgeIndexError: the table cannot be read.
        OSError: the vectors cannot be written.
    """
    directory = store.index_path("text", name)
    if not (directory / VECTORS).is_file():
        return
    with (
        closing(VectorCache(directory, embedder.identity, embedder.dimensions, keep=0)) as known,
        closing(VectorCache(scratch, embedder.identity, embedder.dimensions, keep=0)) as new,
        writing(scratch),
    ):
        rows = connect(scratch).open_table(TABLE).search().where(f"{VECTOR} IS NULL")
        for batch in rows.select([SEARCHED]).to_batches(_ROWS):
            texts = batch.column(SEARCHED).to_pylist()
            found = dict(zip(texts, known.get(texts), strict=True))
            same = {text: vector for text, vector in found.items() if vector is not None}
            if same and not new.put(same):
                raise OSError(new.problem)


# How many passages of a text index have a vector: none, a part, or all of them.

SETTING = "vectors"  # of a manifest; an index of which it says nothing has all of them
Completeness = Literal["none", "part", "all"]


@dataclass(frozen=True, slots=True)
class VectorState:
    """What an index has.

    Attributes:
        passages: of the index.
        embedded: those with a vector in the index's table, which a search by vector finds.
        waiting: vectors that were made since, beside the table.
    """

    passages: int
    embedded: int
    waiting: int = 0

    @property
    def made(self) -> int:
        """Passages with a vector in either place, at most; those beside the table may be of texts that are gone."""
        return min(self.passages, self.embedded + self.waiting)

    @property
    def completeness(self) -> Completeness:
        """All only if the table has all of them: then the search is the hybrid of words and vectors."""
        if self.embedded >= self.passages:
            return "all"
        return "part" if self.made else "none"

    def told(self) -> str:
        """In words; "" of an index that has all of them."""
        if self.completeness == "all":
            return ""
        if not self.made:
            return "words first: no vectors yet"
        return f"words first: {self.made} of {self.passages} passages have a vector"


def vector_state(manifest: Manifest, directory: Path | None = None) -> VectorState:
    """What the manifest says, and with the index's directory also what was made since."""
    passages = int(manifest.counts.get("passages", 0))
    noted = manifest.settings.get(SETTING)
    if not isinstance(noted, dict):
        return VectorState(passages, passages)
    embedded = noted.get("embedded")
    embedded = embedded if isinstance(embedded, int) and not isinstance(embedded, bool) else 0
    waiting = count_vectors(directory) if directory is not None else 0
    return VectorState(passages, max(0, min(embedded, passages)), waiting)


def noted(settings: dict[str, Any], passages: int, embedded: int) -> dict[str, Any]:
    """A manifest's settings with what they say about vectors; nothing where all passages have one."""
    rest = {key: value for key, value in settings.items() if key != SETTING}
    if embedded >= passages:
        return rest
    return rest | {SETTING: {"state": "part" if embedded else "none", "embedded": embedded}}
