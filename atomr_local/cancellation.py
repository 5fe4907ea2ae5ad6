"""Cooperative cancellation, shared by everything that works for longer than a moment."""

from __future__ import annotations

import threading
from collections.abc import Callable

from atomr_local.errors import Cancelled


class Cancellation:
    """A one-way switch that long work polls and that anyone may throw.

    Thread-safe. Callbacks registered with :meth:`on_cancel` run once, on the thread that cancels, and
    must be quick and must not raise.
    """

    def __init__(self) -> None:
        self._event = threading.Event()
        self._lock = threading.Lock()
        self._callbacks: list[Callable[[], None]] = []

    @property
    def cancelled(self) -> bool:
        return self._event.is_set()

    def cancel(self) -> None:
        with self._lock:
            if self._event.is_set():
                return
            self._event.set()
            callbacks = list(self._callbacks)
        for callback in callbacks:
            callback()

    def on_cancel(self, callback: Callable[[], None]) -> None:
        """Run `callback` when cancelled; at once if that has already happened."""
        with self._lock:
            if not self._event.is_set():
                self._callbacks.append(callback)
                return
        callback()

    def wait(self, seconds: float) -> bool:
        """Sleep up to `seconds`; True as soon as cancelled."""
        return self._event.wait(seconds)

    def check(self) -> None:
        """Raise :class:`Cancelled` if the switch has been thrown."""
        if self._event.is_set():
            raise Cancelled()
