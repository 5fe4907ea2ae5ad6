"""Saves questions from copies of a damaged file into a new one."""

from __future__ import annotations

import contextlib
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from atomr_local.assistant.history import database
from atomr_local.assistant.history import pending as conversations
from atomr_local.assistant.history.database import (
    COMPANIONS,
    HistoryDamaged,
    HistoryReadOnly,
    exclusive,
    history_errors,
)

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


# Repairs a damaged history: rebuilds the search index, or saves readable questions into a new file.
#
# The damaged file is never written to and never deleted: it is kept beside the new one, under a name that says so.

_SCRATCH = ".salvage-"


def repair(path: Path, what: str) -> list[str]:
    """Make the history at `path` usable again, which proved to be damaged; see :func:`emptied` for empty files.

    Args:
        what: what was wrong with it, in words.

    Returns:
        What the user should be told. Nothing if it is whole after all: another program has repaired it meanwhile.

    Raises:
        HistoryError: it cannot be read, moved or written.
    """
    with exclusive(path), history_errors(path):
        count, highest = database.noted_counts(path)
        if path.exists() and path.stat().st_size:
            if _whole(path):
                return []
            if _rebuild_search(path):
                return [f"{what}. The search index was rebuilt; no question was lost."]
        for left in path.parent.glob(f"{_SCRATCH}*"):  # of a salvage that was killed
            shutil.rmtree(left, ignore_errors=True)
        aside = set_aside(path)
        with tempfile.TemporaryDirectory(dir=path.parent, prefix=_SCRATCH) as directory:
            fresh = Path(directory, path.name)
            saved = salvage(aside or path, fresh, count=count, highest=highest)
            fresh.replace(path)
        where = f"It is kept as {aside.name}, beside a new history. " if aside else ""
        return [f"{what}. {where}{_outcome(saved, count)}"]


def _outcome(saved: int, count: int) -> str:
    """How many of `count` questions were saved; 0: nobody knows how many there were."""
    if not saved and not count:
        return "No question could be read from it."
    were = "question was" if saved == 1 else "questions were"
    if not count:
        return f"{saved} {were} saved."
    lost = max(0, count - saved)
    return f"{saved} {were} saved" + (f", {lost} could not be read." if lost else " (all of them).")


def emptied(path: Path) -> str:
    """What is wrong with a file that is empty or gone though questions were kept in it; "" where nothing is."""
    count, _ = database.noted_counts(path)
    log = path.with_name(path.name + "-wal")
    if not path.exists():
        # A log that outlived its file would be played into the next one.
        return f"{path} is gone, though {_questions(count)} kept in it" if count else ""
    if path.stat().st_size == 0 and (count or (log.exists() and log.stat().st_size)):
        return f"{path} is empty, though {_questions(count)} kept in it" if count else f"{path} is empty"
    return ""


def _questions(count: int) -> str:
    return "1 question was" if count == 1 else f"{count} questions were"


def _whole(path: Path) -> bool:
    try:
        with contextlib.closing(database.opened(path)) as connection:
            return is_sound(connection)
    except sqlite3.DatabaseError as error:
        if database.is_damage(error):
            return False
        raise


def is_sound(connection: sqlite3.Connection, *, search: bool = True) -> bool:
    """Whether the file is whole.

    Args:
        search: whether the words for searching are checked too, for which SQLite writes.

    Raises:
        sqlite3.DatabaseError: it cannot be read, which is how most damage shows.
    """
    if connection.execute("PRAGMA integrity_check(1)").fetchone()[0] != "ok":
        return False
    if search:
        # Fails where the words are not those of the questions (https://sqlite.org/fts5.html, section 6.4).
        connection.execute("INSERT INTO questions_search (questions_search, rank) VALUES ('integrity-check', 1)")
    return True


def _rebuild_search(path: Path) -> bool:
    """Make the words for searching again, where nothing else of the file is damaged."""
    script = next(script for version, script in database.migrations() if version == database.SEARCH_VERSION)
    with contextlib.closing(database.opened(path)) as connection:
        try:
            if connection.execute("PRAGMA integrity_check(questions)").fetchall() != [("ok",)]:
                return False
            connection.execute("BEGIN IMMEDIATE")
            with database.transaction(connection):
                connection.execute("DROP TABLE IF EXISTS questions_search")
                for statement in database.statements(script):
                    connection.execute(statement)
                connection.execute("INSERT INTO questions_search (questions_search) VALUES ('rebuild')")
            return is_sound(connection)
        except sqlite3.DatabaseError as error:
            if database.in_use(error):
                raise
            return False  # its tables cannot even be taken out: the questions are saved into a new file


def set_aside(path: Path) -> Path | None:
    """Move a damaged file, with what belongs to it, to a name beside it. Its new path; None if it is gone."""
    stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
    aside, count = path.with_name(f"{path.stem}.damaged-{stamp}{path.suffix}"), 1
    while any(aside.with_name(aside.name + ending).exists() for ending in ("", *COMPANIONS)):
        count += 1
        aside = path.with_name(f"{path.stem}.damaged-{stamp}-{count}{path.suffix}")
    moved = False
    # The file itself last: a write-ahead log that outlived its file would be played into the next one.
    for ending in (*COMPANIONS, ""):
        with contextlib.suppress(FileNotFoundError):
            path.with_name(path.name + ending).rename(aside.with_name(aside.name + ending))
            moved = True
    return aside if moved else None


def damaged_files(path: Path) -> list[Path]:
    """The damaged files that were set aside beside `path`."""
    return sorted(path.parent.glob(f"{path.stem}.damaged-*{path.suffix}"))


# Opens the history: writable, repaired if damaged, or read-only if it cannot be written.


@dataclass
class Opening:
    """An open history.

    Attributes:
        read_only: nothing can be written.
        notes: what the user should know of the opening.
        copies: the directory of copies that is read, if any; it goes when the connection is closed.
    """

    connection: sqlite3.Connection
    read_only: bool = False
    notes: tuple[str, ...] = ()
    copies: contextlib.ExitStack = field(default_factory=contextlib.ExitStack)

    def close(self) -> None:
        self.connection.close()
        self.copies.close()


def open_history(path: Path) -> Opening:
    """Open the history at `path`, or begin it.

    What is damaged is repaired (see :func:`repair`); where nothing can be written there, it is opened for reading.

    Raises:
        HistoryError: it is of a newer version or another program's, or cannot be opened.
    """
    notes: list[str] = []
    try:
        with database.history_errors(path):
            what = emptied(path)
        if what:
            notes += repair(path, what)
        try:
            connection = database.connect(path)
        except HistoryDamaged as error:
            notes += repair(path, error.message)
            connection = database.connect(path)
    except HistoryReadOnly:
        return open_read_only(path)
    database.note_counts(path, connection)
    return Opening(connection, notes=tuple(notes))


def reopen_damaged(path: Path, error: HistoryDamaged) -> Opening:
    """Repair the history, which proved to be damaged while it was open (and has been closed), and open it again."""
    notes = repair(path, error.message)
    opening = open_history(path)
    opening.notes = (*notes, *opening.notes)
    return opening


def open_read_only(path: Path) -> Opening:
    """Open the history for reading; nothing is written in its directory. Of a damaged one a salvaged copy is read."""
    try:
        with contextlib.ExitStack() as stack, database.history_errors(path):
            log = path.with_name(path.name + "-wal")
            if not path.exists():
                connection = database.opened(":memory:")
                database.migrate(connection, path)
            elif log.exists() and log.stat().st_size:  # what stands in the log only would not be seen
                copy = _directory_of_copies(stack) / path.name
                shutil.copyfile(path, copy)
                shutil.copyfile(log, copy.with_name(log.name))
                connection = _checked(stack, database.opened(copy), path)
            else:
                uri = path.absolute().as_uri() + "?mode=ro&immutable=1"
                connection = _checked(stack, database.opened(uri, uri=True), path)
            return Opening(connection, read_only=True, copies=stack.pop_all())
    except HistoryDamaged as error:
        opening = open_salvaged(path)
        opening.notes = (
            f"{error.message}. It cannot be repaired, because it cannot be written. Readable questions are shown.",
        )
        return opening


def open_salvaged(path: Path) -> Opening:
    """Open for reading what can be read of the damaged history, out of a copy."""
    with contextlib.ExitStack() as stack, database.history_errors(path):
        copy = _directory_of_copies(stack) / path.name
        salvage(path, copy)
        connection = _checked(stack, database.opened(copy), path)
        return Opening(connection, read_only=True, copies=stack.pop_all())


def _directory_of_copies(stack: contextlib.ExitStack) -> Path:
    return Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="atomr-history-", ignore_cleanup_errors=True)))


def _checked(stack: contextlib.ExitStack, connection: sqlite3.Connection, path: Path) -> sqlite3.Connection:
    """The connection, which is closed with the stack, if its tables can be read."""
    stack.callback(connection.close)
    database.known_version(connection, path)
    connection.execute("PRAGMA query_only = ON")
    for table in ("questions", "questions_search"):
        connection.execute(f"SELECT rowid FROM {table} LIMIT 1").fetchone()  # noqa: S608 - constants
    return connection
