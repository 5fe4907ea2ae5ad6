"""Keeps a finished question in the history, or says why it could not be kept."""

from __future__ import annotations

from atomr_local.errors import AtomrError
from atomr_local.history.pending import PendingNote
from atomr_local.history.store import History
from atomr_local.history.trace_encoding import digest_of
from atomr_local.reasoning.trace.schema import Trace


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
