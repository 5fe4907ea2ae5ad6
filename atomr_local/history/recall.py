"""Earlier questions for the question box: the latest ones, and those that contain the typed text."""

from __future__ import annotations

from atomr_local.history.store import History, history_file

_LATEST = 100


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
