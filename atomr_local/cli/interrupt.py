"""Ctrl-C while a command works: the first one ends it cleanly, the second one aborts it."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def interrupt(cancel: Callable[[], None]) -> Iterator[None]:
    """The first Ctrl-C calls `cancel`, the second one raises KeyboardInterrupt.

    An exception is no sure way to stop long work: raised while a library is imported or calls back, it may be lost.
    """

    def first(_signal: int, _frame: object) -> None:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        cancel()

    before = signal.signal(signal.SIGINT, first)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
