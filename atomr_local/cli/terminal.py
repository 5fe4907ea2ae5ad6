"""The terminal of a command: whether the terminal UI can run in it, and its Ctrl-C."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

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


@contextmanager
def interrupt(cancel: Callable[[], None]) -> Iterator[None]:
    """The first Ctrl-C calls `cancel`, which ends the work cleanly; the second one raises KeyboardInterrupt.

    An exception is no sure way to stop long work: raised while a library is imported or calls back, it may be lost.
    """

    def first(_signal: int, _frame: object) -> None:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        cancel()

    before = signal.signal(signal.SIGINT, first)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
