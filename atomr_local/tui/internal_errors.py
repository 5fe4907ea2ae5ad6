"""Internal errors, shown like any other error."""

from __future__ import annotations

import traceback

from atomr_local import paths
from atomr_local.errors import AtomrError
from atomr_local.sanitize import sanitize_line


def internal_error(error: BaseException, kept: str = "What was asked is kept in the history.") -> AtomrError:
    """A fault of this program as an error that can be read, with its traceback in a file.

    Args:
        kept: what the user need not fear for, in a sentence.
    """
    text = f"{kept} Please report it.".strip()
    try:
        file = paths.data_dir() / "fault.txt"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("".join(traceback.format_exception(error)), encoding="utf-8", errors="replace")
        text = f"The details are in {file}. {text}"
    except (OSError, AtomrError):
        pass
    message = sanitize_line(f"{type(error).__name__}: {error}")
    return AtomrError(message, title="Internal error", hint=text)
