"""The limits of a child process that reads untrusted content, and how it answers. Standard library only."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
from collections.abc import Iterator
from typing import Any, BinaryIO


def bound_memory(size: int) -> None:
    """Let this process take `size` bytes of address space at most; more is a MemoryError."""
    with contextlib.suppress(ImportError, ValueError, OSError):
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (size, size))


@contextlib.contextmanager
def processor_time(seconds: float) -> Iterator[None]:
    """The system ends this process, even in C, when what is inside takes more processor time than this."""
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def answer(answers: BinaryIO, **found: Any) -> None:
    """Write one answer."""
    answers.write(json.dumps(found).encode() + b"\n")
    answers.flush()


def answer_stream() -> BinaryIO:
    """Standard output for answers."""
    # Of its own: with PYTHONUNBUFFERED that of `sys` loses what a write interrupted by a stop of the process left over.
    return os.fdopen(sys.stdout.fileno(), "wb", closefd=False)
