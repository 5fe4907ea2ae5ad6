"""What can go wrong with the history."""

from __future__ import annotations

from pathlib import Path

from atomr_local.errors import AtomrError


class HistoryError(AtomrError):
    """The history, or one question in it, cannot be read or written."""

    title = "History not usable"


class HistoryDamaged(HistoryError):
    """SQLite finds the file itself damaged."""


class HistoryReadOnly(HistoryError):
    """The file, or what SQLite needs beside it, cannot be written."""

    def __init__(self, path: Path) -> None:
        super().__init__(
            f"{path} cannot be written: permission denied, or the disk is read-only",
            hint="Check the permissions of the directory. Kept questions can be read: `atomr history list`.",
        )
