"""The child process that reads wikitext: a task line, then one page per line, JSON in and out."""

from __future__ import annotations

import json
import sys
from dataclasses import astuple
from typing import Any, BinaryIO

_MEMORY = 4 << 30


def serve(pages: BinaryIO, answers: BinaryIO) -> None:
    """Answer the task by {}; each page by its "text", "sections" and what is "lost", or by an "error"."""
    from atomr_local.indexing.readers.child_limits import answer, bound_memory, processor_time
    from atomr_local.indexing.readers.wikipedia.wikitext import plain_text

    task: dict[str, Any] = json.loads(pages.readline())
    dropped_links = frozenset(task["dropped_links"])
    bound_memory(_MEMORY)
    answer(answers)
    for line in pages:
        with processor_time(task["seconds"] + task["seconds_per_mib"] * len(line) / (1 << 20)):
            found: dict[str, Any]
            try:
                page = plain_text(json.loads(line), dropped_links)
            except ValueError as error:
                found = {"error": str(error)}
            except MemoryError:
                found = {"error": "its markup takes too much memory to read"}
            else:
                found = {"text": page.text, "sections": [astuple(section) for section in page.sections]}
                found["lost"] = page.lost
        answer(answers, **found)


if __name__ == "__main__":
    sys.path.append(sys.argv[1])
    from atomr_local.indexing.readers.child_limits import answer_stream

    serve(sys.stdin.buffer, answer_stream())
