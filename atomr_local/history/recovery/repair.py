"""Repairs a damaged history: rebuilds the search index, or saves readable questions into a new file.

The damaged file is never written to and never deleted: it is kept beside the new one, under a name that says so.
"""

from __future__ import annotations

import contextlib
import shutil
import sqlite3
import tempfile
from datetime import UTC, datetime
from pathlib import Path

from atomr_local.history import database
from atomr_local.history.database import COMPANIONS, exclusive, history_errors
from atomr_local.history.recovery.salvage import salvage

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
