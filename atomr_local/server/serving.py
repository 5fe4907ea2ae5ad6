"""What servers share: the queue of questions, look-ups in their turn, refusals, and what clients are told."""

from __future__ import annotations

import asyncio
import math
import re
import sys
import tempfile
import time
from collections import deque
from collections.abc import AsyncGenerator, Callable
from contextlib import suppress
from contextvars import ContextVar
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar

from atomr_local.errors import AtomrError
from atomr_local.system import paths
from atomr_local.system.cancellation import Cancellation

# What clients are told, without where this machine keeps its files: such a path tells the user's name, for one.

_NAME = r"[^\s/'\"`<>|:;,()\[\]{}]+"
_BEGIN = r"(?:\bfile://|(?<![\w/:.~]))"
_PATH = re.compile(rf"{_BEGIN}/({_NAME})((?:/+{_NAME})*)/*")
# Fields of events, traces and errors that hold what the program says. All others hold what it found.
SAID_FIELDS = frozenset({"warnings", "error", "message", "hint"})


def without_paths(text: str) -> str:
    """The text with the last name alone of each absolute path of this machine.

    What lies in a folder of the program or the user is found whatever signs its names hold. Elsewhere a path ends at a
    space, and begins with a folder that there is.
    """
    if "/" not in text:
        return text
    for folder, name in _folders():
        text = folder.sub(lambda found, name=name: "" if found[1] else name, text)  # type: ignore[misc]
    return _PATH.sub(_shortened, text)


def without_paths_in(data: Any, *, said: bool = False) -> Any:
    """An event, a trace or an error as JSON, with :func:`without_paths` for what the program itself says in it.

    Args:
        said: all of it is what the program says.
    """
    if isinstance(data, str):
        return without_paths(data) if said else data
    if isinstance(data, dict):
        return {key: without_paths_in(item, said=said or key in SAID_FIELDS) for key, item in data.items()}
    return [without_paths_in(item, said=said) for item in data] if isinstance(data, list | tuple) else data


def _shortened(found: re.Match[str]) -> str:
    first, rest = found[1], found[2]
    if first not in _first_names():
        return found[0]
    return (rest or first).rstrip("/").rpartition("/")[2]


@lru_cache(1)
def _first_names() -> frozenset[str]:
    """Of all paths that there can be on this machine."""
    try:
        return frozenset(entry.name for entry in Path("/").iterdir())
    except OSError:
        return frozenset({"home", "usr", "var", "etc", "opt", "root", "tmp", "srv", "mnt", "media"})


def _folders() -> list[tuple[re.Pattern[str], str]]:
    """Folders of the program and of the user, with their names; those that are inside others come first."""
    known = {paths.data_dir(), Path.home(), Path(sys.prefix), Path(tempfile.gettempdir())}
    with suppress(OSError):  # it was removed
        known.add(Path.cwd())
    return [
        (re.compile(rf"{_BEGIN}{re.escape(str(folder))}(?:(/)|(?![\w.-]))"), folder.name)
        for folder in sorted(known, key=lambda folder: -len(str(folder)))
        if len(folder.parts) > 1
    ]


# A request that is not served, whatever protocol it came by.


class Refused(AtomrError):
    """A request that is not served.

    Attributes:
        status: of HTTP.
        retry_after: seconds after which it may succeed.
        param: the field of the request that is at fault.
        code: what it is, for programs.
    """

    title = "Request refused"

    def __init__(
        self,
        status: int,
        message: str,
        *,
        hint: str = "",
        title: str | None = None,
        retry_after: int | None = None,
        param: str | None = None,
        code: str | None = None,
    ) -> None:
        super().__init__(message, hint=hint, title=title)
        self.status = status
        self.retry_after = retry_after
        self.param = param
        self.code = code


def stopping() -> Refused:
    """What is said while the server stops."""
    return Refused(503, "the server is stopping", title="Not available", retry_after=5, code="stopping")


# The queue: so many at once, the others in the order in which they came, and no more than can wait.

_LONGEST_RETRY = 120
_WEIGHT = 0.2  # of the latest in the average time
_SHARE = 4  # one client may have this part of the queue

# Whose request is being served: what tells clients apart, such as their address; empty where nothing does.
client: ContextVar[str] = ContextVar("client", default="")


class Desk:
    """Gives places. Belongs to one event loop.

    A client that can be told from others may fill only a quarter of the queue.

    Args:
        what: that it serves, in the plural, for messages.
        places: so many are served at once.
        queue: so many may wait.
        seconds: a first guess of how long one takes.
    """

    def __init__(self, what: str, places: int, queue: int, *, seconds: float = 5.0) -> None:
        self._what = what
        self._places = places
        self._queue = queue
        self._seconds = seconds
        self._inside = 0
        self._waiting: deque[Ticket] = deque()
        self._closed = False

    @property
    def inside(self) -> int:
        """How many are being served."""
        return self._inside

    @property
    def full(self) -> bool:
        """Whether who comes now has to wait."""
        return self._inside >= self._places

    @property
    def waiting(self) -> int:
        """How many wait for their turn."""
        return len(self._waiting)

    def take(self) -> Ticket:
        """A place, or one in the queue; :meth:`Ticket.leave` must follow.

        Raises:
            Refused: the queue is full, or this client's part of it, or the desk is closed.
        """
        if self._closed:
            raise stopping()
        ticket = Ticket(self, client.get())
        if self.full:
            self._check_room(ticket)
            self._waiting.append(ticket)
        else:
            self._admit(ticket)
        return ticket

    def close(self) -> None:
        """Send away who waits, and who comes from now on."""
        self._closed = True
        while self._waiting:
            self._waiting.popleft().changed(away=True)

    def ahead_of(self, ticket: Ticket) -> int:
        """How many wait before it."""
        return self._waiting.index(ticket)

    def leave(self, ticket: Ticket, served: float | None) -> None:
        """A ticket goes: out of the queue, or (after so many seconds) out of its place."""
        if served is None:
            if ticket in self._waiting:
                self._waiting.remove(ticket)
                self._moved()
            return
        self._seconds += _WEIGHT * (served - self._seconds)
        self._inside -= 1
        if self._waiting:
            self._admit(self._waiting.popleft())
            self._moved()

    def _check_room(self, ticket: Ticket) -> None:
        """
        Raises:
            Refused: there is none in the queue.
        """
        mine = sum(other.client == ticket.client for other in self._waiting) if ticket.client else 0
        if len(self._waiting) >= self._queue:
            told = f"{self._what} are waiting already: {len(self._waiting)}"
        elif mine and mine >= self._queue // _SHARE:
            told = f"{self._what} of this client are waiting already: {mine}"
        else:
            return
        expected = math.ceil(self._seconds * (len(self._waiting) + 1) / self._places)
        raise Refused(
            429, told, title="Too many requests", hint="Try again later.", code="queue_full",
            retry_after=max(1, min(_LONGEST_RETRY, expected)),
        )  # fmt: skip

    def _admit(self, ticket: Ticket) -> None:
        self._inside += 1
        ticket.changed(admitted=True)

    def _moved(self) -> None:
        for ticket in self._waiting:
            ticket.changed()


class Ticket:
    """One request's place at the desk."""

    def __init__(self, desk: Desk, whose: str = "") -> None:
        self.client = whose
        self._desk = desk
        self._since: float | None = None
        self._away = False
        self._changed = asyncio.Event()

    async def turn(self) -> AsyncGenerator[int, None]:
        """How many wait before it, whenever that changes, until its turn comes.

        Raises:
            Refused: the desk was closed.
        """
        while self._since is None:
            if self._away:
                raise stopping()
            yield self._desk.ahead_of(self)
            await self._changed.wait()
            self._changed.clear()

    def leave(self) -> None:
        """Go. Idempotent."""
        served = None if self._since is None else time.monotonic() - self._since
        if not self._away:
            self._away = True
            self._desk.leave(self, served)

    def changed(self, *, admitted: bool = False, away: bool = False) -> None:
        """For the desk: what it says has changed, the ticket's place at least."""
        if admitted:
            self._since = time.monotonic()
        self._away |= away
        self._changed.set()


# Look-ups in their turn, on other threads, limited in time.

_Found = TypeVar("_Found")


class LookupDesk(Desk):
    """Serves what needs no model and takes moments. Belongs to one event loop.

    Args:
        what: that it serves, in the plural.
        places: so many are served at once.
        queue: so many may wait.
        limit: seconds that one may take, its wait included.
        allowed: called before each, on its thread; raises where it must not be done.
    """

    def __init__(
        self,
        what: str = "look-ups",
        *,
        places: int = 4,
        queue: int = 32,
        limit: float = 30.0,
        allowed: Callable[[], None] = lambda: None,
    ) -> None:
        super().__init__(what, places, queue, seconds=1.0)
        self._limit = limit
        self._allowed = allowed

    async def run(self, work: Callable[[Cancellation], _Found]) -> _Found:
        """What `work` gives, done on another thread in its turn.

        Its cancellation is thrown when nobody waits for it any longer.

        Raises:
            AtomrError: `work` does.
            Refused: too many wait, or it takes too long.
        """
        cancellation, ticket = Cancellation(), self.take()
        doing: asyncio.Task[_Found] | None = None

        def on_thread() -> _Found:
            self._allowed()
            return work(cancellation)

        def ended(done: asyncio.Task[_Found]) -> None:
            ticket.leave()
            if not done.cancelled():
                done.exception()  # told, if somebody still waits

        try:
            async with asyncio.timeout(self._limit):
                async for _ in ticket.turn():
                    pass
                # A thread cannot be stopped: whoever waits for it may go, but its place is free only when it has ended.
                doing = asyncio.create_task(asyncio.to_thread(on_thread))
                doing.add_done_callback(ended)
                return await asyncio.shield(doing)
        except TimeoutError:
            raise Refused(504, "looking it up took too long", title="Timed out", code="timeout") from None
        finally:
            cancellation.cancel()
            if doing is None:
                ticket.leave()
