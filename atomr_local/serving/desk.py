"""The queue: so many at once, the others in the order in which they came, and no more than can wait."""

from __future__ import annotations

import asyncio
import math
import time
from collections import deque
from collections.abc import AsyncGenerator
from contextvars import ContextVar

from atomr_local.serving.refused import Refused, stopping

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
        if not self.full:
            self._admit(ticket)
        else:
            self._check_room(ticket)
            self._waiting.append(ticket)
        return ticket

    def close(self) -> None:
        """Send away who waits, and who comes from now on."""
        self._closed = True
        while self._waiting:
            self._waiting.popleft().turned_away()

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
        retry_after = self._retry_after()
        raise Refused(
            429,
            told,
            title="Too many requests",
            hint="Try again later.",
            retry_after=retry_after,
            code="queue_full",
        )

    def _admit(self, ticket: Ticket) -> None:
        self._inside += 1
        ticket.admitted()

    def _moved(self) -> None:
        for ticket in self._waiting:
            ticket.moved()

    def _retry_after(self) -> int:
        expected = self._seconds * (len(self._waiting) + 1) / self._places
        return max(1, min(_LONGEST_RETRY, math.ceil(expected)))


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

    # For the desk.

    def admitted(self) -> None:
        self._since = time.monotonic()
        self._changed.set()

    def moved(self) -> None:
        self._changed.set()

    def turned_away(self) -> None:
        self._away = True
        self._changed.set()
