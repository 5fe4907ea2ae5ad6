"""Reads wikitext in a child process, so that no page can stall a build.

The tokeniser is C that answers to no signal, and some markup keeps it busy for hours; a process can be ended by the
system. One lives as long as its pages are read in time; after one that was not, the next page starts another.
"""

from __future__ import annotations

import contextlib
import json
import signal
import subprocess
import sys
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator
from pathlib import Path
from typing import TypeVar

from atomr_local.errors import MissingPartError
from atomr_local.indexing.readers.base import Section
from atomr_local.indexing.readers.wikipedia.plain_text import PlainText

_WORKER = Path(__file__).with_name("page_parser_worker.py")
_ROOT = Path(__file__).parents[4]
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
        self._dropped_links = dropped_links
        self._limits = {"seconds": seconds, "seconds_per_mib": seconds_per_mib}
        self._process: subprocess.Popen[bytes] | None = None

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
                self._send(line)
                ahead += len(line)
            waiting.append((page, line))
        while waiting:
            yield self._first(waiting)

    def _first(self, waiting: deque[tuple[Page, bytes]]) -> tuple[Page, PlainText | ValueError]:
        page, line = waiting.popleft()
        if not line:
            return page, PlainText("")
        assert self._process is not None
        assert self._process.stdout is not None
        try:
            found = json.loads(self._process.stdout.readline())
        except ValueError:  # the process has ended over this page, and what was sent behind it is lost
            problem = ValueError(_why_ended(self._ended()))
            for _, lost in waiting:
                if lost:
                    self._send(lost)
            return page, problem
        if "error" in found:
            return page, ValueError(found["error"])
        return page, PlainText(found["text"], tuple(Section(start, heading) for start, heading in found["sections"]))

    def _send(self, line: bytes) -> None:
        process = self._process or self._started()
        assert process.stdin is not None
        # Where the process has ended, its missing answer tells why.
        with contextlib.suppress(BrokenPipeError):
            process.stdin.write(line)
            process.stdin.flush()

    def close(self) -> None:
        """End the process; the next page would start another."""
        if self._process is not None:
            self._process.kill()
            self._ended()

    def _started(self) -> subprocess.Popen[bytes]:
        # -P: nothing is imported from the directory that the user happens to be in.
        command = [sys.executable, "-P", str(_WORKER), str(_ROOT)]
        try:
            # A session of its own: Ctrl-C is for this process, which then ends that one.
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
            )
        except OSError as error:
            raise MissingPartError(f"the process that reads wikitext cannot be started: {error}") from error
        self._send(json.dumps({"dropped_links": sorted(self._dropped_links()), **self._limits}).encode() + b"\n")
        assert self._process.stdout is not None
        if not self._process.stdout.readline():
            problems = self._process.communicate()[1].decode("utf-8", "replace").strip()
            self._process = None
            raise MissingPartError(f"the process that reads wikitext does not start: {problems[-300:]}")
        return self._process

    def _ended(self) -> int:
        """Wait for the end of the process and forget it; its exit status."""
        process, self._process = self._process, None
        if process is None:
            return 0
        process.communicate()
        return process.returncode


def _why_ended(status: int) -> str:
    if status == -signal.SIGPROF:
        return "its markup takes too long to read"
    return f"reading its markup failed (exit status {status})"
