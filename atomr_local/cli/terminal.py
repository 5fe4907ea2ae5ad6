"""Whether the terminal UI can run in this terminal."""

from __future__ import annotations

import os
import sys

_NO_CURSOR = frozenset({"dumb", "unknown"})  # values of TERM for terminals that only print lines


def no_terminal() -> str | None:
    """Why the terminal UI cannot be shown here, None if it can. It reads keys from the standard input and draws on
    the standard error; a standard output that goes elsewhere waits for an answer that would never come."""
    streams = (("standard input", sys.stdin), ("standard output", sys.stdout), ("standard error", sys.stderr))
    for name, stream in streams:
        if stream is None or stream.closed or not stream.isatty():
            return f"the terminal UI needs a terminal, and {name} is not one"
    term = os.environ.get("TERM", "")
    if term in _NO_CURSOR:
        return f"the terminal UI cannot be drawn on a terminal of the kind {term} (TERM)"
    return None
