"""Faults of the program itself, told as any error is."""

from __future__ import annotations

import traceback

from atomr_local import paths
from atomr_local.errors import AtomrError
from atomr_local.sanitize import sanitize_line


def fault(error: BaseException) -> AtomrError:
    """A fault of this program as an error that can be read, with its traceback in a file."""
    file = paths.data_dir() / "fault.txt"
    told = f"The details are in {file}. What was asked is kept in the history. Please report it."
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("".join(traceback.format_exception(error)), encoding="utf-8", errors="replace")
    except OSError:
        told = "What was asked is kept in the history. Please report it."
    message = sanitize_line(f"{type(error).__name__}: {error}")
    return AtomrError(message, title="A fault of the program itself", hint=told)
