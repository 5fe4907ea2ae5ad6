"""Look-ups in their turn, on other threads, limited in time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TypeVar

from atomr_local.cancellation import Cancellation
from atomr_local.http_server.desk import Desk
from atomr_local.http_server.options import ServeOptions
from atomr_local.http_server.replies import Refused

_AT_ONCE = 4
_Found = TypeVar("_Found")


class LookupDesk(Desk):
    """Serves what needs no model and takes moments. Belongs to one event loop."""

    def __init__(self, options: ServeOptions) -> None:
        super().__init__("look-ups", _AT_ONCE, options.queue, seconds=1.0)
        self._limit = options.lookup_seconds

    async def run(self, work: Callable[[Cancellation], _Found]) -> _Found:
        """What `work` gives, done on another thread in its turn.

        Raises:
            AtomrError: `work` does.
            Refused: too many wait, or it takes too long.
        """
        cancellation, ticket = Cancellation(), self.take()
        doing: asyncio.Task[_Found] | None = None

        def ended(done: asyncio.Task[_Found]) -> None:
            ticket.leave()
            if not done.cancelled():
                done.exception()  # told, if somebody still waits

        try:
            async with asyncio.timeout(self._limit):
                async for _ in ticket.turn():
                    pass
                # A thread cannot be stopped: whoever waits for it may go, but its place is free only when it has ended.
                doing = asyncio.create_task(asyncio.to_thread(work, cancellation))
                doing.add_done_callback(ended)
                return await asyncio.shield(doing)
        except TimeoutError:
            raise Refused(504, "looking it up took too long", title="Timed out", code="timeout") from None
        finally:
            cancellation.cancel()
            if doing is None:
                ticket.leave()
