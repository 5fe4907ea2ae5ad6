"""What every consumer of the event stream does at a question's end: keep it, or say why it could not be kept."""

from __future__ import annotations

from atomr_local.errors import AtomrError
from atomr_local.history.store import History
from atomr_local.reasoning.trace import Trace


def keep(trace: Trace) -> tuple[int | None, list[str]]:
    """Keep the question in the user's history. Never raises an error of ours: an answer is worth more than its record.

    Returns:
        Its number, None when it could not be kept; and what the user should be told.
    """
    try:
        with History.open() as history:
            return history.record(trace), history.notes
    except AtomrError as error:
        return None, [f"This question was not kept: {error.message}" + (f" → {error.hint}" if error.hint else "")]
