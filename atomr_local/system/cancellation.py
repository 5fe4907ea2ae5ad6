"""Cooperative cancellation for all long work."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable

from atomr_local.errors import Cancelled


class Cancellation:
    """A one-way switch that long work polls and that anyone may throw.

    Thread-safe. Callbacks registered with :meth:`on_cancel` run once, on the thread that cancels, and
    must be quick and must not raise.
    """

    def __init__(self) -> None:
        self._event = threading.Event()
        # Without a lock: a handler of Ctrl-C may throw the switch on the very thread that registers a callback.
        self._callbacks: deque[Callable[[], None]] = deque()

    @property
    def cancelled(self) -> bool:
        return self._event.is_set()

    def cancel(self) -> None:
        if not self._event.is_set():
            self._event.set()
            self._call_back()

    def on_cancel(self, callback: Callable[[], None]) -> None:
        """Run `callback` when cancelled; at once if that has already happened."""
        self._callbacks.append(callback)
        if self._event.is_set():
            self._call_back()

    def wait(self, seconds: float) -> bool:
        """Sleep up to `seconds`; True as soon as cancelled."""
        return self._event.wait(seconds)

    def _call_back(self) -> None:
        """Run what is registered; the thread that takes a callback out runs it."""
        while self._callbacks:
            try:
                callback = self._callbacks.popleft()
            except IndexError:  # another thread has just taken the last one
                return
            callback()

    def check(self) -> None:
        """Raise :class:`Cancelled` if the switch has been thrown."""
        if self._event.is_set():
            raise Cancelled()
