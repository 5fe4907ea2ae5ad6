"""What can go wrong with the history."""

from __future__ import annotations

from atomr_local.errors import AtomrError


class HistoryError(AtomrError):
    """The history, or one question in it, cannot be read or written."""

    title = "History not usable"


class HistoryDamaged(HistoryError):
    """SQLite finds the file itself damaged."""
