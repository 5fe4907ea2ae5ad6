"""The user's own questions: a finished one kept in the history, and those asked before found again."""

from __future__ import annotations

import contextlib

from atomr_local.errors import AtomrError
from atomr_local.history.errors import HistoryError
from atomr_local.history.pending import PendingNote
from atomr_local.history.store import History, history_file
from atomr_local.history.trace_encoding import digest_of
from atomr_local.reasoning.trace.schema import Trace
from atomr_local.sanitize import sanitize_line

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
