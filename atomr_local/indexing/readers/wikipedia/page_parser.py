"""Reads wikitext in child processes, so that no page can stall a build, and several are read at the same time.

The tokeniser is C that answers to no signal, and some markup keeps it busy for hours; a process can be ended by the
system. One lives as long as its pages are read in time; after one that was not, the next page starts another. With
several processes the pages still come in their order, each as one process would give it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import astuple
from typing import Any, TypeVar

from atomr_local.errors import MissingPartError
from atomr_local.indexing.readers.base import PageWork, Section
from atomr_local.indexing.readers.wikipedia.plain_text import PlainText
from atomr_local.system.sandbox import Limits, Parent, Sandbox, message, processor_time

_LIMITS = Limits(memory=4 << 30)
_AHEAD_PAGES = 400  # that wait for one before them, for each process
_ENOUGH = 64 << 10  # bytes of pages that wait for a process before another one is started
_ONE = PageWork()
Page = TypeVar("Page")
Cutter = Callable[[PlainText, str], list[Any]]


class PageParser:
    """Pages → prose, as :func:`wikitext.plain_text`, each within a time limit.

    Its processes start when there are pages for them, and end with :meth:`close`, or with this process, however that
    ends.

    Args:
        dropped_links: names of the namespaces, casefolded, whose links show no text (files and categories); asked for
            when a process starts.
        seconds: of processor time that a page may take, whatever its length.
        seconds_per_mib: what it may take beyond that for each MiB; ordinary pages take a tenth of a second to a half.
        work: how many processes there are at most, and what they do beside.
    """

    def __init__(
        self,
        dropped_links: Callable[[], Collection[str]],
        *,
        seconds: float = 2.0,
        seconds_per_mib: float = 4.0,
        work: PageWork = _ONE,
    ) -> None:
        def task() -> dict[str, Any]:
            return {
                "dropped_links": sorted(dropped_links()),
                "seconds": seconds,
                "seconds_per_mib": seconds_per_mib,
                "work": dict(work.task),
            }

        def unstarted(why: str) -> MissingPartError:
            return MissingPartError(f"the process that reads wikitext {why}")

        function = work.function or f"{__name__}:serve"
        self._readers = [
            _Reader(Sandbox(function, task, _LIMITS, unstarted=unstarted)) for _ in range(max(1, work.processes))
        ]

    def read(
        self, pages: Iterable[tuple[Page, str]], title: Callable[[Page], str] = lambda _: ""
    ) -> Iterator[tuple[Page, PlainText | ValueError]]:
        """Each page with the prose of its wikitext, or with what keeps it from being read; in order.

        Some pages are read ahead of the one that is given. Pages without wikitext are passed on.

        Args:
            title: of a page; it is put before each infobox.

        Raises:
            MissingPartError: no process can be started.
        """
        waiting: deque[tuple[Page, _Reader | None]] = deque()
        most = _AHEAD_PAGES * len(self._readers)
        for page, wikitext in pages:
            sent = message([wikitext, title(page)]) if wikitext else b""
            reader = self._with_room(sent)
            while waiting and (waiting[0][1] is None or len(waiting) >= most or (sent and reader is None)):
                yield self._first(waiting)
                reader = self._with_room(sent)
            if reader is not None:
                reader.send(sent)
            waiting.append((page, reader))
        while waiting:
            yield self._first(waiting)

    def _with_room(self, sent: bytes) -> _Reader | None:
        """The process that the next page goes to; None where all have as much as they can take, or there is no page."""
        if not sent:
            return None
        begun = [reader for reader in self._readers if reader.pages]
        idle = next((reader for reader in self._readers if not reader.pages), None)
        least = min(begun, key=lambda reader: reader.ahead, default=None)
        if least is None or (idle is not None and least.ahead + len(sent) > _ENOUGH):
            return idle
        return least if least.takes(sent) else idle

    @staticmethod
    def _first(waiting: deque[tuple[Page, _Reader | None]]) -> tuple[Page, PlainText | ValueError]:
        page, reader = waiting.popleft()
        return page, PlainText("") if reader is None else reader.answer()

    def close(self) -> None:
        """End the processes; the next page would start another."""
        for reader in self._readers:
            reader.close()


class _Reader:
    """One process with the pages that were sent to it and not answered yet.

    Attributes:
        pages: what was sent, in order.
        ahead: their bytes.
    """

    def __init__(self, child: Sandbox) -> None:
        self.child = child
        self.pages: deque[bytes] = deque()
        self.ahead = 0

    def takes(self, sent: bytes) -> bool:
        """Whether it can be sent this page before it has answered."""
        return not self.pages or self.ahead + len(sent) <= self.child.room

    def send(self, sent: bytes) -> None:
        self.child.start()
        self.child.send(sent)
        self.pages.append(sent)
        self.ahead += len(sent)

    def answer(self) -> PlainText | ValueError:
        """What became of the first of its pages."""
        found = self.child.receive()
        self.ahead -= len(self.pages.popleft())
        if not isinstance(found, dict):  # the process has ended over this page, and what was sent behind it is lost
            end = self.child.ended()
            for lost in self.pages:
                self.child.start()
                self.child.send(lost)
            if end.out_of_time:
                return ValueError("its markup takes too long to read")
            return ValueError(f"reading its markup failed (exit status {end.status})")
        if "error" in found:
            return ValueError(found["error"])
        sections = tuple(Section(*section) for section in found["sections"])
        cut = tuple(map(tuple, found["cut"])) if "cut" in found else None
        return PlainText(found["text"], sections, found["lost"], cut)

    def close(self) -> None:
        self.child.close()
        self.pages.clear()
        self.ahead = 0


def serve(task: dict[str, Any], parent: Parent, cut: Cutter | None = None) -> None:
    """In a child process: answer each page by its "text", "sections" and what is "lost", or by an "error".

    Args:
        cut: what makes the passages of a page with its title; they are answered as "cut".
    """
    from atomr_local.indexing.readers.wikipedia.infobox import titled
    from atomr_local.indexing.readers.wikipedia.wikitext import plain_text

    dropped_links = frozenset(task["dropped_links"])
    for wikitext, title in parent:
        page: PlainText | str
        with processor_time(task["seconds"] + task["seconds_per_mib"] * parent.size / (1 << 20)):
            try:
                page = plain_text(wikitext, dropped_links)
            except ValueError as error:
                page = str(error)
            except MemoryError:
                page = "its markup takes too much memory to read"
        if isinstance(page, str):
            parent.send({"error": page})
            continue
        page = titled(page, title) if title else page
        sections = [astuple(section) for section in page.sections]
        more = {"cut": cut(page, title)} if cut is not None else {}
        parent.send({"text": page.text, "sections": sections, "lost": page.lost, **more})
