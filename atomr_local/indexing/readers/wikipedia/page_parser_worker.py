"""The child process that reads wikitext: a task line, then one page per line, JSON in and out."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
from typing import Any, BinaryIO

_MEMORY = 4 << 30


def _memory_bounded() -> None:
    with contextlib.suppress(ImportError, ValueError, OSError):
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))


def _clock(seconds: float) -> None:
    """Let the system end this process after so much more processor time, even in C; 0 stops the clock."""
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_PROF, seconds)


def serve(pages: BinaryIO, answers: BinaryIO) -> None:
    """Answer the task by {} or by what is missing; each page by its "text" and "sections", or by an "error"."""
    from atomr_local.errors import MissingPartError
    from atomr_local.indexing.readers.wikipedia.wikitext import plain_text

    def answer(**found: Any) -> None:
        answers.write(json.dumps(found).encode() + b"\n")

    task: dict[str, Any] = json.loads(pages.readline())
    dropped_links = frozenset(task["dropped_links"])
    try:
        plain_text("")
    except MissingPartError as error:
        answer(missing=error.message, hint=error.hint)
        return
    _memory_bounded()
    answer()
    answers.flush()
    for line in pages:
        _clock(task["seconds"] + task["seconds_per_mib"] * len(line) / (1 << 20))
        try:
            found = plain_text(json.loads(line), dropped_links)
        except ValueError as error:
            answer(error=str(error))
        except MemoryError:
            answer(error="its markup takes too much memory to read")
        else:
            answer(text=found.text, sections=[(section.start, section.heading) for section in found.sections])
        _clock(0)
        answers.flush()


if __name__ == "__main__":
    sys.path.append(sys.argv[1])
    # Of its own: with PYTHONUNBUFFERED that of `sys` loses what a write interrupted by a stop of the process left over.
    serve(sys.stdin.buffer, os.fdopen(sys.stdout.fileno(), "wb", closefd=False))
