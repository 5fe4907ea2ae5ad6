"""The history store: one SQLite file with every question and its trace; several programs may use it at once."""

from __future__ import annotations

import contextlib
import hashlib
import re
import sqlite3
import threading
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

from atomr_local.assistant.history import database, pending
from atomr_local.assistant.history.database import (
    SUMMARY_COLUMNS,
    HistoryDamaged,
    HistoryError,
    HistoryReadOnly,
    Origin,
    QuestionSummary,
    StoredQuestion,
    summary_of,
)
from atomr_local.assistant.history.opening import is_sound, open_history, open_salvaged, reopen_damaged
from atomr_local.assistant.history.pending import PendingNote, compress, decode, digest_of, encode
from atomr_local.errors import AtomrError, InputError
from atomr_local.reasoning.trace.schema import Trace
from atomr_local.system import paths
from atomr_local.system.sanitize import sanitize, sanitize_line

_CHECKPOINT_WAIT = 2000  # milliseconds
_WORD = re.compile(r"\w+")
_MOST_WORDS = 32
_RECENT = 100  # among so many the question asked last is looked for
_T = TypeVar("_T")


def history_file() -> Path:
    """Where the history lies: in a directory of its own beside the settings."""
    return paths.config_file().with_name("history") / "history.sqlite"


class History:
    """The open history. Safe to use from several threads; other programs may use the same file.

    What it did that the user should know of (a damaged file was set aside) is in `notes`.
    """

    def __init__(self, path: Path) -> None:
        """Open the history at `path`, or begin it.

        A damaged file is repaired, or set aside and what can be read of it saved into a new one; on a read-only disk it
        is only read (see `opening.py`).

        Raises:
            HistoryError: the file is of a newer version or another program's, or cannot be opened.
        """
        self.path = path
        self.notes: list[str] = []
        self._lock = threading.RLock()
        self._opening = open_history(path)
        self._add_notes(self._opening.notes)

    @classmethod
    def open(cls, path: Path | None = None) -> History:
        """The user's history, or the one at `path`. Use as a context manager, or call :meth:`close`.

        Questions whose program died while it answered are taken in (see `pending.py`).
        """
        history = cls(path or history_file())
        with contextlib.suppress(HistoryError):  # a history that can be read only keeps its notes
            if not history.read_only:
                pending.record_interrupted(history)
        return history

    def __enter__(self) -> History:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        with self._lock:
            self._opening.close()

    @property
    def read_only(self) -> bool:
        """Whether nothing can be written; what is kept can be read."""
        return self._opening.read_only

    def _add_notes(self, notes: Iterable[str]) -> None:
        self.notes.extend(note for note in notes if note not in self.notes)

    def record(self, trace: Trace, *, asked_at: datetime | None = None, origin: Origin = "asked") -> int:
        """Keep a question; it is on the disk when this returns. Gives its number.

        Raises:
            HistoryError: it cannot be written.
        """
        data = encode(trace)
        encoding, kept = compress(data)
        row = (
            (asked_at or datetime.now(UTC)).astimezone(UTC).isoformat(timespec="seconds"),
            origin,
            sanitize_line(trace.question),
            sanitize(trace.answer or trace.reason),
            trace.status,
            sanitize_line(trace.strategy),
            trace.confidence,
            trace.totals.seconds,
            encoding,
            hashlib.sha256(data).hexdigest(),
            kept,
            trace.id,
            trace.conversation,
        )

        def write(connection: sqlite3.Connection) -> int:
            connection.execute("BEGIN IMMEDIATE")
            with database.transaction(connection):
                number = connection.execute(
                    "INSERT INTO questions (asked_at, origin, question, answer, status, strategy, confidence, seconds,"
                    " encoding, digest, trace, trace_id, conversation)"
                    " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                    row,
                ).lastrowid
                assert number is not None
                connection.execute(
                    "INSERT INTO questions_search (rowid, question, answer) VALUES (?, ?, ?)", (number, row[2], row[3])
                )
            database.note_counts(self.path, connection)
            return number

        return self._do(write, writing=True)

    def has(self, digest: str) -> bool:
        """Whether a question with this digest is kept (see :func:`digest_of`).

        Raises:
            HistoryError: the history cannot be read.
        """
        row = self._do(lambda c: c.execute("SELECT 1 FROM questions WHERE digest = ?", (digest,)).fetchone())
        return row is not None

    def import_trace(self, trace: Trace) -> tuple[int, bool]:
        """Keep another installation's trace. Gives its number, and whether it was new here.

        Raises:
            HistoryError: it cannot be written.
        """
        digest = digest_of(trace)
        found = self._do(lambda c: c.execute("SELECT id FROM questions WHERE digest = ?", (digest,)).fetchone())
        return (int(found[0]), False) if found is not None else (self.record(trace, origin="imported"), True)

    def entries(
        self, *, search: str | None = None, limit: int | None = None, before: int | None = None
    ) -> list[QuestionSummary]:
        """Kept questions, the latest first.

        Args:
            search: only those whose question or answer has a word that begins with each of these words.
            limit: at most so many.
            before: only those kept before the one with this number, which need not be there: for reading in pages.

        Raises:
            InputError: `search` has no word in it.
            HistoryError: the history cannot be read.
        """
        condition, values = "1", list[str | int]()
        if search is not None:
            words = _WORD.findall(sanitize_line(search))[:_MOST_WORDS]
            if not words:
                raise InputError(f"there is no word to search for in {search!r}", hint="Give a word or its beginning.")
            condition = "id IN (SELECT rowid FROM questions_search WHERE questions_search MATCH ?)"
            values.append(" ".join(f'"{word}"*' for word in words))
        if before is not None:
            condition += " AND id < ?"
            values.append(before)

        def read(connection: sqlite3.Connection) -> tuple[list[Any], dict[int, int]]:
            found = connection.execute(
                f"SELECT {SUMMARY_COLUMNS} FROM questions WHERE {condition} ORDER BY id DESC LIMIT ?",  # noqa: S608 - constants
                (*values, -1 if limit is None else limit),
            ).fetchall()
            if search is not None and not found and before is None:
                self._check(connection)  # damaged words find nothing, and FTS5 says nothing
            return found, pending.firsts(connection, [row[0] for row in found])

        rows, follows = self._do(read)
        return [summary_of(row, follows.get(row[0])) for row in rows]

    def questions(self, limit: int, *, containing: str = "") -> list[str]:
        """Different questions that were asked here, the latest first; case and white space make no difference.

        Args:
            containing: only those with this text in them; upper and lower case are the same.

        Raises:
            HistoryError: the history cannot be read.
        """
        wanted = sanitize_line(containing).casefold()

        def read(connection: sqlite3.Connection) -> list[str]:
            found: dict[str, str] = {}
            rows = connection.execute("SELECT question FROM questions WHERE origin = 'asked' ORDER BY id DESC")
            for (question,) in rows:
                if len(found) >= limit:
                    break
                shown = sanitize_line(question)
                key = shown.casefold()
                if key and wanted in key:
                    found.setdefault(key, shown)
            rows.close()  # an open read would keep deleted text in the log
            return list(found.values())

        return self._do(read)

    def count(self) -> int:
        """How many questions are kept."""
        return int(self._do(lambda connection: connection.execute("SELECT count(*) FROM questions").fetchone())[0])

    def get(self, number: int) -> StoredQuestion:
        """The question with this number.

        Raises:
            InputError: there is none.
            HistoryError: it is damaged; it stays in the file.
        """

        def read(connection: sqlite3.Connection) -> tuple[Any, dict[int, int]]:
            query = f"SELECT {SUMMARY_COLUMNS}, encoding, digest, trace FROM questions WHERE id = ?"  # noqa: S608 - constants
            return connection.execute(query, (number,)).fetchone(), pending.firsts(connection, [number])

        row, follows = self._do(read)
        if row is None:
            raise _none_such([number])
        from atomr_local.assistant.history.trace_import import (
            parse_trace,  # what it is made of takes a tenth of a second to load
        )

        *listed, encoding, digest, data = row
        try:
            document = decode(encoding, digest, data)
            return StoredQuestion(summary_of(listed, follows.get(number)), parse_trace(document), document)
        except InputError as error:
            raise _damaged(number, error.message) from error
        except ValueError as error:
            raise _damaged(number, str(error)) from error

    def number_of(self, trace_id: str) -> int | None:
        """The number of the latest question whose trace has this id; None if there is none.

        Raises:
            HistoryError: the history cannot be read.
        """
        return self._do(lambda connection: pending.number_of(connection, trace_id))

    def conversation(self, number: int | None = None) -> list[StoredQuestion]:
        """The questions of one conversation, oldest first; damaged ones are left out.

        Args:
            number: of one of its questions; None: the conversation of the question that was asked last.

        Raises:
            InputError: there is no question with this number.
            HistoryError: the history cannot be read.
        """
        if number is None:
            latest = next((entry.id for entry in self.entries(limit=_RECENT) if entry.origin == "asked"), None)
            if latest is None:
                return []
            number = latest
        one, found = self.get(number), list[StoredQuestion]()
        chosen = number
        for member in self._do(lambda connection: pending.members(connection, chosen)):
            with contextlib.suppress(HistoryError, InputError):  # damaged, or deleted by now
                found.append(one if member == number else self.get(member))
        return found

    def named(self, trace_ids: Iterable[str]) -> dict[str, str]:
        """The questions, as they were typed, of the traces with these ids; those that are not kept are left out.

        Raises:
            HistoryError: the history cannot be read.
        """

        def read(connection: sqlite3.Connection) -> dict[str, str]:
            found = {name: pending.question_of(connection, name) for name in trace_ids}
            return {name: sanitize_line(question) for name, question in found.items() if question is not None}

        return self._do(read)

    def delete(self, numbers: Iterable[int] | None) -> tuple[int, bool]:
        """Delete questions, all or none: the freed space in the file is overwritten and the log emptied.

        What the disk, or a backup of it, still holds of the old bytes is beyond this program.

        Args:
            numbers: which; None: all.

        Returns:
            How many were deleted, and whether their text has left the files; False while another program still
            reads an older state, whose log goes when it closes.

        Raises:
            InputError: one of them is not there.
            HistoryError: the file cannot be written.
        """
        chosen = None if numbers is None else list(dict.fromkeys(numbers))

        def remove(connection: sqlite3.Connection) -> int:
            connection.execute("BEGIN IMMEDIATE")
            with database.transaction(connection):
                known = {number for (number,) in connection.execute("SELECT id FROM questions")}
                wanted = sorted(known) if chosen is None else chosen
                if missing := [number for number in wanted if number not in known]:
                    raise _none_such(missing)
                if chosen is not None:
                    connection.executemany(
                        "INSERT INTO questions_search (questions_search, rowid, question, answer)"
                        " SELECT 'delete', id, question, answer FROM questions WHERE id = ?",
                        [(number,) for number in wanted],
                    )
                else:
                    connection.execute("INSERT INTO questions_search (questions_search) VALUES ('delete-all')")
                connection.executemany("DELETE FROM questions WHERE id = ?", [(number,) for number in wanted])
                # Words taken out stay in the index's older segments until these are merged.
                connection.execute("INSERT INTO questions_search (questions_search) VALUES ('optimize')")
            database.note_counts(self.path, connection)
            return len(wanted)

        count = self._do(remove, writing=True)
        return count, self._do(_empty_log)

    def check(self) -> list[int]:
        """Check everything, repair what is damaged (see `notes`), and give the numbers of questions that stay damaged.

        Raises:
            HistoryError: it cannot be read, or is damaged and cannot be written.
        """

        def whole(connection: sqlite3.Connection) -> list[int]:
            self._check(connection)
            return [number for (number,) in connection.execute("SELECT id FROM questions ORDER BY id")]

        damaged = []
        for number in self._do(whole):
            try:
                self.get(number)
            except HistoryError:
                damaged.append(number)
        return damaged

    def _check(self, connection: sqlite3.Connection) -> None:
        if not is_sound(connection, search=not self.read_only):
            raise HistoryDamaged(f"{self.path} is damaged")

    def _do(self, work: Callable[[sqlite3.Connection], _T], *, writing: bool = False) -> _T:
        """Do the work; where the file proves damaged, repair it, say so, and do it then."""
        with self._lock:
            if writing and self.read_only:
                raise HistoryReadOnly(self.path)
            try:
                with database.history_errors(self.path):
                    return work(self._opening.connection)
            except HistoryDamaged as error:
                read_only = self.read_only
                self._opening.close()
                if read_only:
                    self._opening = open_salvaged(self.path)
                else:
                    self._opening = reopen_damaged(self.path, error)
                self._add_notes(self._opening.notes)
                with database.history_errors(self.path):
                    return work(self._opening.connection)


def _empty_log(connection: sqlite3.Connection) -> bool:
    connection.execute(f"PRAGMA busy_timeout = {_CHECKPOINT_WAIT}")
    try:
        busy, _, _ = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    finally:
        connection.execute(f"PRAGMA busy_timeout = {int(database.WAIT * 1000)}")
    return not busy


def _damaged(number: int, problem: str) -> HistoryError:
    return HistoryError(
        f"question {number} is damaged: {problem}",
        hint=f"It stays in the history; `atomr history delete {number} --yes` removes it. The others are not touched.",
    )


def _none_such(numbers: Sequence[int]) -> InputError:
    named = ", ".join(map(str, numbers[:10]))
    return InputError(f"the history has no question {named}", hint="`atomr history list` shows those it has.")


# The user's own questions: a finished one kept in the history, and those asked before found again.

_LATEST = 100


def record_trace(trace: Trace, pending: PendingNote | None = None) -> tuple[int | None, list[str]]:
    """Keep the question in the user's history. Never raises an AtomrError: the answer comes first.

    Args:
        pending: the note of the question while it was answered (see `pending.py`); it is removed.

    Returns:
        Its number, None when it could not be kept; and what the user should be told.
    """
    try:
        if pending is not None:
            pending.mark_digest(digest_of(trace))
        with History.open() as history:
            return history.record(trace), history.notes
    except AtomrError as error:
        return None, [f"This question was not kept: {error.message}" + (f" → {error.hint}" if error.hint else "")]
    finally:
        if pending is not None:
            pending.remove()


def recall(limit: int = _LATEST, containing: str = "") -> list[str]:
    """Different questions that were asked here, the latest first, each on one line and sanitised.

    Imported ones are not among them. Where nothing was kept yet, no file is begun. It reads the disk: call it from a
    worker.

    Args:
        limit: at most so many.
        containing: only those with this text in them; upper and lower case are the same.

    Raises:
        HistoryError: the history cannot be read.
    """
    path = history_file()
    if not path.exists():
        return []
    with History.open(path) as history:
        return history.questions(limit, containing=containing)


def recall_answers(question: str) -> list[Trace]:
    """The latest kept answer of each strategy to a question of these words, the earliest first.

    A follow-up question of the same words may mean another thing: compare how they were understood. It reads the disk:
    call it from a worker.

    Raises:
        HistoryError: the history cannot be read.
    """
    path = history_file()
    words = sanitize_line(question)
    if not path.exists() or not any(character.isalnum() for character in words):
        return []
    with History.open(path) as history:
        found = {
            item.strategy: item
            for item in reversed(history.entries(search=words, limit=_LATEST))
            if item.question.casefold() == words.casefold() and item.origin == "asked"
        }
        kept = []
        for item in sorted(found.values(), key=lambda item: item.id):
            with contextlib.suppress(HistoryError):  # this one is damaged
                kept.append(history.get(item.id).trace)
        return kept
