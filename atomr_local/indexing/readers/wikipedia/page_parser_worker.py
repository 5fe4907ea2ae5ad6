"""The child process that reads wikitext: a task line, then a page with its title per line, JSON in and out."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import astuple
from typing import TYPE_CHECKING, Any, BinaryIO

if TYPE_CHECKING:
    from atomr_local.indexing.readers.wikipedia.plain_text import PlainText

_MEMORY = 4 << 30


Cutter = Callable[["PlainText", str], list[Any]]


def serve(pages: BinaryIO, answers: BinaryIO, cutter: Callable[[dict[str, Any]], Cutter] | None = None) -> None:
    """Answer the task by {}; each page by its "text", "sections" and what is "lost", or by an "error".

    Args:
        cutter: what makes the passages of a page with its title, by what the task says of the "work"; they are
            answered as "cut".
    """
    from atomr_local.indexing.readers.child_process import answer, bound_memory, processor_time
    from atomr_local.indexing.readers.wikipedia.infobox import titled
    from atomr_local.indexing.readers.wikipedia.wikitext import plain_text

    task: dict[str, Any] = json.loads(pages.readline())
    dropped_links = frozenset(task["dropped_links"])
    bound_memory(_MEMORY)
    cut = cutter(task["work"]) if cutter is not None else None
    answer(answers)
    for line in pages:
        page: PlainText | str
        title = ""
        with processor_time(task["seconds"] + task["seconds_per_mib"] * len(line) / (1 << 20)):
            try:
                wikitext, title = json.loads(line)
                page = plain_text(wikitext, dropped_links)
            except ValueError as error:
                page = str(error)
            except MemoryError:
                page = "its markup takes too much memory to read"
        if isinstance(page, str):
            answer(answers, error=page)
            continue
        page = titled(page, title) if title else page
        sections = [astuple(section) for section in page.sections]
        more = {"cut": cut(page, title)} if cut is not None else {}
        answer(answers, text=page.text, sections=sections, lost=page.lost, **more)


if __name__ == "__main__":
    sys.path.append(sys.argv[1])
    from atomr_local.indexing.readers.child_process import answer_stream

    serve(sys.stdin.buffer, answer_stream())
