"""Reads wikitext in a child process, so that no page can stall a build.

The tokeniser is C that answers to no signal, and some markup keeps it busy for hours; a process can be ended by the
system. One lives as long as its pages are read in time; after one that was not, the next page starts another.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator
from pathlib import Path
from typing import TypeVar

from atomr_local.indexing.readers.base import Section
from atomr_local.indexing.readers.child_process import ChildProcess, out_of_time
from atomr_local.indexing.readers.wikipedia.plain_text import PlainText

_WORKER = Path(__file__).with_name("page_parser_worker.py")
# What is sent before an answer is read: no more than any pipe holds, or each process could wait for the other.
_AHEAD_BYTES = 16 << 10
_AHEAD_PAGES = 50
Page = TypeVar("Page")


class PageParser:
    """Pages → prose, as :func:`wikitext.plain_text`, each within a time limit.

    Its process starts with the first page and ends with :meth:`close`, or with this process, however that ends.

    Args:
        dropped_links: names of the namespaces, casefolded, whose links show no text (files and categories); asked for
            when the process starts.
        seconds: of processor time that a page may take, whatever its length.
        seconds_per_mib: what it may take beyond that for each MiB; ordinary pages take a tenth of a second to a half.
    """

    def __init__(
        self, dropped_links: Callable[[], Collection[str]], *, seconds: float = 2.0, seconds_per_mib: float = 4.0
    ) -> None:
        self._child = ChildProcess(
            _WORKER,
            "wikitext",
            lambda: {
                "dropped_links": sorted(dropped_links()),
                "seconds": seconds,
                "seconds_per_mib": seconds_per_mib,
            },
        )

    def read(self, pages: Iterable[tuple[Page, str]]) -> Iterator[tuple[Page, PlainText | ValueError]]:
        """Each page with the prose of its wikitext, or with what keeps it from being read; in order.

        A few pages are read ahead of the one that is given. Pages without wikitext are passed on.

        Raises:
            MissingPartError: no process can be started.
        """
        waiting: deque[tuple[Page, bytes]] = deque()
        ahead = 0
        for page, wikitext in pages:
            line = json.dumps(wikitext).encode() + b"\n" if wikitext else b""
            while waiting and (ahead + len(line) > _AHEAD_BYTES or len(waiting) == _AHEAD_PAGES or not waiting[0][1]):
                ahead -= len(waiting[0][1])
                yield self._first(waiting)
            if line:
                self._child.send(line)
                ahead += len(line)
            waiting.append((page, line))
        while waiting:
            yield self._first(waiting)

    def _first(self, waiting: deque[tuple[Page, bytes]]) -> tuple[Page, PlainText | ValueError]:
        page, line = waiting.popleft()
        if not line:
            return page, PlainText("")
        found = self._child.answer()
        if found is None:  # the process has ended over this page, and what was sent behind it is lost
            problem = ValueError(_why_ended(self._child.ended()))
            for _, lost in waiting:
                if lost:
                    self._child.send(lost)
            return page, problem
        if "error" in found:
            return page, ValueError(found["error"])
        return page, PlainText(found["text"], tuple(Section(*section) for section in found["sections"]), found["lost"])

    def close(self) -> None:
        """End the process; the next page would start another."""
        self._child.close()


def _why_ended(status: int) -> str:
    if out_of_time(status):
        return "its markup takes too long to read"
    return f"reading its markup failed (exit status {status})"
