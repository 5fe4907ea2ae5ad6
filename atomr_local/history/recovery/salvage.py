"""Saves questions from copies of a damaged file into a new one."""

from __future__ import annotations

import contextlib
import shutil
import sqlite3
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from atomr_local.history import conversations, database

# Those of the first version of the schema: every file has them.
_COLUMNS = "id, asked_at, origin, question, answer, status, strategy, confidence, seconds, encoding, digest, trace"
_PLACES = ", ".join("?" * (_COLUMNS.count(",") + 1))
_MOST_NUMBERS = 1_000_000
_LEAST_BYTES = 200  # of a question
# SQLite's file format (https://sqlite.org/fileformat.html): places in the header (section 1.3), the first byte of a
# page with rows of a table (section 1.6).
_PAGE = 4096
_CHANGES, _FREE_PAGES, _VALID_FOR = slice(24, 28), slice(32, 40), slice(92, 96)
_TABLE_LEAF = 0x0D


def salvage(damaged: Path, fresh: Path, *, count: int = 0, highest: int = 0) -> int:
    """Copy every question that can be read into a new history at `fresh`, under its number.

    Args:
        damaged: the file, which may be gone while its write-ahead log is there.
        count: as many questions were kept in it; 0 if nobody knows.
        highest: the highest number that was given in it, as far as that was noted.

    Returns:
        How many were copied.
    """
    with contextlib.closing(database.connect(fresh)) as into:
        for copy in _copies(damaged, fresh):
            with contextlib.closing(database.opened(copy)) as connection:
                highest = max(highest, _highest(connection))
                _take(into, _one_by_one(connection, highest or _most(damaged)))
            if not _count(into) or _count(into) < count:
                _take(into, _page_by_page(copy))
            if _count(into):
                break
        conversations.fill(into)
        # Not by its sequence, which counts what was refused too.
        highest = max(highest, into.execute("SELECT coalesce(max(id), 0) FROM questions").fetchone()[0])
        into.execute("DELETE FROM sqlite_sequence WHERE name = 'questions'")
        into.execute("INSERT INTO sqlite_sequence (name, seq) VALUES ('questions', ?)", (highest,))
        into.execute("INSERT INTO questions_search (questions_search) VALUES ('rebuild')")
        return _count(into)


def _copies(damaged: Path, fresh: Path) -> Iterator[Path]:
    """Copies of the damaged file: as it is, and with the first page, which holds the schema, rebuilt.

    Tables lie at the same pages in every history, because the schema is made by the same steps.
    """
    pattern = fresh.with_name("pattern.sqlite")
    database.connect(pattern).close()
    first = bytearray(pattern.read_bytes()[:_PAGE])
    first[_FREE_PAGES] = bytes(8)
    first[_CHANGES], first[_VALID_FOR] = b"\0\0\0\1", b"\0\0\0\0"  # the size is the file's own, whatever is written
    log = damaged.with_name(damaged.name + "-wal")
    for number, header in enumerate((b"", bytes(first))):
        copy = fresh.with_name(f"copy-{number}.sqlite")
        copy.touch()
        if damaged.exists():
            shutil.copyfile(damaged, copy)
        if log.exists():
            shutil.copyfile(log, copy.with_name(copy.name + "-wal"))
        if header:
            with copy.open("r+b") as stream:
                stream.write(header)
        elif not copy.stat().st_size:
            continue  # SQLite deletes the log of an empty file
        yield copy


def _count(connection: sqlite3.Connection) -> int:
    return int(connection.execute("SELECT count(*) FROM questions").fetchone()[0])


def _highest(connection: sqlite3.Connection) -> int:
    """The highest number that was given, as far as the file tells."""
    highest = 0
    for query in ("SELECT seq FROM sqlite_sequence WHERE name = 'questions'", "SELECT max(id) FROM questions"):
        with contextlib.suppress(sqlite3.DatabaseError):
            row = connection.execute(query).fetchone()
            if row is not None and isinstance(row[0], int):
                highest = max(highest, row[0])
    return highest


def _most(damaged: Path) -> int:
    """As many questions as the file has room for."""
    sizes = [item.stat().st_size for name in ("", "-wal") if (item := damaged.with_name(damaged.name + name)).exists()]
    return sum(sizes) // _LEAST_BYTES


def _take(into: sqlite3.Connection, rows: Iterator[Sequence[Any]]) -> None:
    into.execute("BEGIN IMMEDIATE")
    with database.transaction(into):
        for row in rows:
            # What the table's own conditions refuse is no question any more, or was none.
            into.execute(f"INSERT OR IGNORE INTO questions ({_COLUMNS}) VALUES ({_PLACES})", row)  # noqa: S608 - constants


def _one_by_one(connection: sqlite3.Connection, bound: int) -> Iterator[Sequence[Any]]:
    """Each number looked up by itself, so that a damaged page takes only its own questions with it."""
    for number in range(1, min(bound, _MOST_NUMBERS) + 1):
        with contextlib.suppress(sqlite3.DatabaseError, OverflowError):
            row = connection.execute(f"SELECT {_COLUMNS} FROM questions WHERE id = ?", (number,)).fetchone()  # noqa: S608 - constants
            if row is not None:
                yield row


def _page_by_page(copy: Path) -> Iterator[Sequence[Any]]:
    """Rows of every page that may hold some of the table: the page that leads to them may be damaged.

    Each page in turn is made the table's root, so that SQLite itself reads what it holds.
    """
    with contextlib.suppress(sqlite3.DatabaseError), contextlib.closing(database.opened(copy)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    with copy.open("rb") as stream:
        leaves = [
            number for number, page in enumerate(iter(lambda: stream.read(_PAGE), b""), 1) if page[0] == _TABLE_LEAF
        ]
    for number in leaves:
        with contextlib.suppress(sqlite3.DatabaseError, OverflowError):
            with contextlib.closing(database.opened(copy)) as connection:
                connection.execute("PRAGMA synchronous = OFF")
                connection.execute("PRAGMA writable_schema = ON")
                connection.execute("UPDATE sqlite_master SET rootpage = ? WHERE name = 'questions'", (number,))
            with contextlib.closing(database.opened(copy)) as connection:
                yield from connection.execute(f"SELECT {_COLUMNS} FROM questions")  # noqa: S608 - constants
