"""Look-ups in their turn, on other threads, limited in time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TypeVar

from atomr_local.cancellation import Cancellation
from atomr_local.serving.desk import Desk
from atomr_local.serving.refused import Refused

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
