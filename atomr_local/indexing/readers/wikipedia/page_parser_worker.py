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


def serve(pages: BinaryIO, answers: BinaryIO) -> None:
    """Answer the task by {}; each page by its "text" and "sections", or by an "error"."""
    from atomr_local.indexing.readers.wikipedia.wikitext import plain_text

    def answer(**found: Any) -> None:
        answers.write(json.dumps(found).encode() + b"\n")

    task: dict[str, Any] = json.loads(pages.readline())
    dropped_links = frozenset(task["dropped_links"])
    _memory_bounded()
    answer()
    answers.flush()
    for line in pages:
        # The system ends this process after so much more processor time, even in C; 0 stops the clock.
        signal.setitimer(signal.ITIMER_PROF, task["seconds"] + task["seconds_per_mib"] * len(line) / (1 << 20))
        try:
            found = plain_text(json.loads(line), dropped_links)
        except ValueError as error:
            answer(error=str(error))
        except MemoryError:
            answer(error="its markup takes too much memory to read")
        else:
            answer(text=found.text, sections=[(section.start, section.heading) for section in found.sections])
        signal.setitimer(signal.ITIMER_PROF, 0)
        answers.flush()


if __name__ == "__main__":
    sys.path.append(sys.argv[1])
    # Of its own: with PYTHONUNBUFFERED that of `sys` loses what a write interrupted by a stop of the process left over.
    serve(sys.stdin.buffer, os.fdopen(sys.stdout.fileno(), "wb", closefd=False))
