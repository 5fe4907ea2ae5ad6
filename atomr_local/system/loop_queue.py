"""Items that threads hand to an event loop."""

from __future__ import annotations

import asyncio
from collections import deque
from contextlib import suppress
from typing import Generic, TypeVar

_Item = TypeVar("_Item")


class LoopQueue(Generic[_Item]):
    """A queue that any thread fills and one task of an event loop empties.

    The loop is woken once for all items that come before it gets to run. With a wake-up for each item, the thread that
    fills the queue and the loop would take the interpreter lock from each other at each of them.

    Args:
        loop: of the task that empties it.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._items: deque[_Item] = deque()
        self._filled = asyncio.Event()
        self._waking = False  # set before the loop is told, cleared by the loop before it looks at the items

    def put(self, item: _Item) -> None:
        """Add the item. From any thread; without effect once the loop is closed, for nobody listens then."""
        self._items.append(item)
        if not self._waking:
            self._waking = True
            with suppress(RuntimeError):
                self._loop.call_soon_threadsafe(self._wake)

    async def get(self) -> _Item:
        """The next item, taken out; waits for one. Does not give way to other tasks while there are items."""
        while not self._items:
            self._filled.clear()
            await self._filled.wait()
        return self._items.popleft()

    def _wake(self) -> None:
        self._waking = False
        self._filled.set()
