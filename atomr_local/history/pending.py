"""Notes about running questions, so that a killed question is in the history as interrupted.

A note lies in a directory beside the history: lines of JSON, locked for as long as the program lives. It goes when the
question is kept. Whoever opens the history takes in the notes that nobody holds any more.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import uuid
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from atomr_local import paths

if TYPE_CHECKING:
    from atomr_local.reasoning.trace.schema import Trace

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
    from atomr_local.history.trace_encoding import digest_of

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
    from atomr_local.reasoning.trace.schema import Trace

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
