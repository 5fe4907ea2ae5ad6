"""Notes about running questions, so that a killed question is in the history as interrupted.

A note lies in a directory beside the history: lines of JSON, locked for as long as the program lives. It goes when the
question is kept. Whoever opens the history takes in the notes that nobody holds any more.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import math
import os
import sqlite3
import uuid
import zlib
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, Protocol

from atomr_local.reasoning.trace.schema import Trace
from atomr_local.system import paths

_FOLDER = "asking"
_ENDING = ".jsonl"
_LONGEST_NOTE = 1 << 16
_MOST_NOTES = 1000  # taken in at once
_REASON = "The program ended before the question was answered."


class Keeper(Protocol):
    """What takes in a question: the history."""

    @property
    def path(self) -> Path: ...

    def has(self, digest: str) -> bool: ...

    def record(self, trace: Trace, *, asked_at: datetime | None = None) -> int: ...


def notes_folder(history: Path | None = None) -> Path:
    """Where the notes lie: beside the history at this path, or the user's."""
    if history is None:
        history = paths.config_file().with_name("history") / "history.sqlite"
    return history.with_name(_FOLDER)


class PendingNote:
    """The note of one question. Makes no noise: a note that cannot be written is not there."""

    def __init__(self, path: Path, handle: int) -> None:
        self._path = path
        self._handle = handle

    def mark_digest(self, digest: str) -> None:
        """The history is about to keep the question under this digest: dead from now on, it may be there already."""
        _append(self._handle, {"digest": digest})

    def remove(self) -> None:
        """The question is kept, or shall not be. Idempotent."""
        if self._handle >= 0:
            with contextlib.suppress(OSError):
                self._path.unlink()
            os.close(self._handle)
            self._handle = -1


@contextlib.contextmanager
def pending_question(question: str, strategy: str, *, keep: bool = True) -> Iterator[PendingNote | None]:
    """Keep a note of the question while this lasts; with None if there is none.

    It stays when the program is interrupted (KeyboardInterrupt, SystemExit), for the question is not kept then.

    Args:
        keep: whether questions are kept at all.
    """
    pending = _begin(question, strategy) if keep else None
    try:
        yield pending
    except Exception:
        if pending is not None:
            pending.remove()
        raise
    if pending is not None:
        pending.remove()


def _begin(question: str, strategy: str) -> PendingNote | None:
    path = notes_folder() / f"{os.getpid()}-{uuid.uuid4().hex}{_ENDING}"
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o600)
    except OSError:
        return None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        asked_at = datetime.now(UTC).isoformat(timespec="seconds")
        _append(handle, {"question": question, "strategy": strategy, "asked_at": asked_at})
    except OSError:
        PendingNote(path, handle).remove()
        return None
    return PendingNote(path, handle)


def _append(handle: int, what: dict[str, str]) -> None:
    with contextlib.suppress(OSError):
        os.write(handle, json.dumps(what).encode("ascii") + b"\n")


def note_crash(process: int, reason: str) -> None:
    """Add to the notes of a process that has died what it died of."""
    for path in notes_folder().glob(f"{process}-*{_ENDING}"):
        with contextlib.suppress(OSError):
            handle = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK)
            _append(handle, {"reason": reason})
            os.close(handle)


def record_interrupted(history: Keeper) -> int:
    """Keep the questions whose program has died, as interrupted. Gives their number.

    Raises:
        HistoryError: the history cannot be written.
    """
    folder = notes_folder(history.path)
    try:
        notes = sorted(folder.iterdir())[:_MOST_NOTES]
    except OSError:  # there are none, or they cannot be read
        return 0
    count = 0
    for path in notes:
        if path.suffix == _ENDING:
            count += _record_interrupted(history, path)
    return count


def _record_interrupted(history: Keeper, path: Path) -> bool:

    try:
        handle = os.open(path, os.O_RDWR | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return False
    pending = PendingNote(path, handle)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        found = _read(os.read(handle, _LONGEST_NOTE))
        if not path.exists():  # another program has just taken it in
            found = {}
    except OSError:  # its program lives
        os.close(handle)
        return False
    if not found.get("question") or ("digest" in found and history.has(found["digest"])):
        pending.remove()
        return False
    trace, asked_at = _interrupted(found)
    pending.mark_digest(digest_of(trace))
    try:
        history.record(trace, asked_at=asked_at)
    except BaseException:
        os.close(handle)
        raise
    pending.remove()
    return True


def _read(data: bytes) -> dict[str, str]:
    """The lines put together; what is cut short or no JSON is left out."""
    found: dict[str, str] = {}
    for line in data.splitlines():
        with contextlib.suppress(ValueError, RecursionError):
            entry: Any = json.loads(line)
            if isinstance(entry, dict):
                found |= {str(key): value for key, value in entry.items() if isinstance(value, str)}
    return found


def _interrupted(found: dict[str, str]) -> tuple[Trace, datetime | None]:
    try:
        asked_at = datetime.fromisoformat(found.get("asked_at", "")).astimezone(UTC)
    except (ValueError, OverflowError):
        asked_at = None
    begun = f"It was asked at {asked_at.isoformat()}." if asked_at is not None else ""
    reason = found.get("reason", _REASON)
    trace = Trace(
        question=found["question"],
        strategy=found.get("strategy", ""),
        settings={},
        status="interrupted",
        answer=f"Interrupted. {reason}",
        warnings=[f"{reason} {begun}".strip()],
    )
    return trace, asked_at


# How a trace is kept: compact JSON, compressed where that is worth its while, with a checksum.

LARGEST_TRACE = 64 << 20
# A trace with evidence shrinks to about a fifth.
_COMPRESS_FROM = 4096


def encode(trace: Trace) -> bytes:
    """The trace as compact JSON in ASCII; numbers that JSON cannot write become null."""
    return json.dumps(finite(trace.to_dict()), separators=(",", ":"), default=str, allow_nan=False).encode("ascii")


def digest_of(trace: Trace) -> str:
    """What tells the kept trace from any other: SHA-256 of how it is kept, in hexadecimal digits."""
    return hashlib.sha256(encode(trace)).hexdigest()


def finite(value: Any) -> Any:
    """The value with null for numbers that JSON cannot write: in lists, tuples and dictionaries."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: finite(item) for key, item in value.items()}
    return [finite(item) for item in value] if isinstance(value, list | tuple) else value


def compress(data: bytes) -> tuple[Literal["json", "zlib"], bytes]:
    """The encoding of a trace's JSON in the file, and the data in it."""
    return ("json", data) if len(data) < _COMPRESS_FROM else ("zlib", zlib.compress(data))


def decode(encoding: str, digest: str, data: bytes) -> dict[str, Any]:
    """The JSON object that was kept.

    Raises:
        ValueError: it is damaged; the message says how.
    """
    try:
        data = decompress(encoding, data)
        if hashlib.sha256(data).hexdigest() != digest:
            raise ValueError("it does not match its checksum")
        document = json.loads(data)
    except (zlib.error, TypeError, RecursionError) as error:
        raise ValueError(str(error)) from error
    if not isinstance(document, dict):
        raise ValueError("it is not a trace")
    return document


def decompress(encoding: str, data: bytes) -> bytes:
    """The encoded trace; data without compression as it is.

    Raises:
        ValueError: it is cut short or too large.
        zlib.error: it is damaged.
    """
    if encoding != "zlib":
        return data
    inflater = zlib.decompressobj()
    data = inflater.decompress(data, LARGEST_TRACE)
    if not inflater.eof:
        raise ValueError("it is cut short or too large")
    return data


# Which kept questions belong to one conversation: two columns with ids from the trace.
#
# They are added without a new schema version: a program that does not know them can continue using the file.

_COLUMNS = """
ALTER TABLE questions ADD COLUMN trace_id TEXT NOT NULL DEFAULT '';
ALTER TABLE questions ADD COLUMN conversation TEXT NOT NULL DEFAULT '';
CREATE INDEX questions_by_trace_id ON questions (trace_id) WHERE trace_id != '';
CREATE INDEX questions_by_conversation ON questions (conversation) WHERE conversation != '';
"""
_OF_CONVERSATION = "(trace_id != '' AND trace_id = ?1) OR (conversation != '' AND conversation = ?1)"


def prepare(connection: sqlite3.Connection) -> None:
    """Add the columns where a file does not have them; within the caller's transaction."""
    if not known(connection):
        for statement in filter(str.strip, _COLUMNS.split(";")):
            connection.execute(statement)


def known(connection: sqlite3.Connection) -> bool:
    """Whether the file has the columns: one of an earlier version that can only be read has none."""
    return any(column[1] == "conversation" for column in connection.execute("PRAGMA table_info(questions)"))


def firsts(connection: sqlite3.Connection, numbers: Iterable[int]) -> dict[int, int]:
    """For each of these questions that follows another: the number of its conversation's first kept question."""
    if not known(connection):
        return {}
    found: dict[int, int] = {}
    first_of: dict[str, int] = {}
    for number in numbers:
        row = connection.execute("SELECT conversation FROM questions WHERE id = ?", (number,)).fetchone()
        if row is None or not row[0]:
            continue
        name = row[0]
        if name not in first_of:
            query = f"SELECT min(id) FROM questions WHERE {_OF_CONVERSATION}"  # noqa: S608 - constants
            first_of[name] = connection.execute(query, (name,)).fetchone()[0]
        if first_of[name] < number:
            found[number] = first_of[name]
    return found


def members(connection: sqlite3.Connection, number: int) -> list[int]:
    """The numbers of all questions of this one's conversation, itself included, in order."""
    if not known(connection):
        return [number]
    row = connection.execute("SELECT trace_id, conversation FROM questions WHERE id = ?", (number,)).fetchone()
    name = (row[1] or row[0]) if row is not None else ""
    if not name:
        return [number]  # kept by a version that knew no conversations
    query = f"SELECT id FROM questions WHERE {_OF_CONVERSATION} ORDER BY id"  # noqa: S608 - constants
    return [found for (found,) in connection.execute(query, (name,))]


def question_of(connection: sqlite3.Connection, trace_id: str) -> str | None:
    """The first kept question whose trace has this id."""
    if not known(connection):
        return None
    query = "SELECT question FROM questions WHERE trace_id != '' AND trace_id = ? ORDER BY id LIMIT 1"
    row = connection.execute(query, (trace_id,)).fetchone()
    return None if row is None else str(row[0])


def number_of(connection: sqlite3.Connection, trace_id: str) -> int | None:
    """The latest kept question whose trace has this id."""
    if not known(connection):
        return None
    query = "SELECT max(id) FROM questions WHERE trace_id != '' AND trace_id = ?"
    found: int | None = connection.execute(query, (trace_id,)).fetchone()[0]
    return found


def fill(connection: sqlite3.Connection) -> None:
    """Read the ids out of the traces again, for questions that were saved from a damaged file."""
    for number in [found for (found,) in connection.execute("SELECT id FROM questions")]:
        encoding, data = connection.execute("SELECT encoding, trace FROM questions WHERE id = ?", (number,)).fetchone()
        ids = _ids(encoding, data)
        if any(ids):
            connection.execute("UPDATE questions SET trace_id = ?, conversation = ? WHERE id = ?", (*ids, number))


def _ids(encoding: str, data: Any) -> tuple[str, str]:
    try:
        document = json.loads(decompress(encoding, data))
        found = (document.get("id", ""), document.get("conversation", ""))
    except (zlib.error, TypeError, ValueError, RecursionError, AttributeError):
        return "", ""  # the question is damaged, and told so when it is read
    first, second = (value if isinstance(value, str) else "" for value in found)
    return first, second
