"""Who may use the parts now: so many questions at once, lookups beside them, or one that must be alone."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from atomr_local.cancellation import Cancellation
from atomr_local.errors import InputError


class QuestionGate:
    """Lets questions in, in the order in which they came. Thread-safe."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._inside = 0
        self._beside = 0  # lookups, which need no slot of the model
        self._closed = False  # something is inside that must be alone
        self._waiting: list[object] = []

    @property
    def busy(self) -> bool:
        """Whether a question is inside."""
        return bool(self._inside)

    @property
    def single(self) -> bool:
        """Whether one question or lookup at most is inside."""
        return self._inside + self._beside <= 1

    @contextmanager
    def alone(self) -> Iterator[None]:
        """While no question is inside. Lookups, which are short, are waited for.

        Raises:
            InputError: one is.
        """
        self.enter_now()
        with self._changed:
            self._closed = True
            while self._beside:
                self._changed.wait()
        try:
            yield
        finally:
            self.leave()

    @contextmanager
    def beside(self) -> Iterator[None]:
        """A lookup, beside any number of questions; waits while something must be alone."""
        with self._changed:
            while self._closed:
                self._changed.wait()
            self._beside += 1
        try:
            yield
        finally:
            with self._changed:
                self._beside -= 1
                self._changed.notify_all()

    def enter_now(self) -> None:
        """Go in if no question is inside; :meth:`leave` must follow.

        Raises:
            InputError: one is.
        """
        with self._changed:
            if self._inside:
                raise busy()
            self._inside = 1

    def enter(self, most: int, cancellation: Cancellation) -> None:
        """Wait until fewer than `most` are inside, and go in; :meth:`leave` must follow.

        Raises:
            Cancelled: the cancellation was thrown first.
        """
        place = object()
        cancellation.on_cancel(self._tell)
        with self._changed:
            self._waiting.append(place)
            try:
                while self._closed or self._inside >= most or self._waiting[0] is not place:
                    cancellation.check()
                    self._changed.wait()
                cancellation.check()
                self._inside += 1
            finally:
                self._waiting.remove(place)
                self._changed.notify_all()

    def leave(self) -> None:
        """Go out."""
        with self._changed:
            self._inside -= 1
            self._closed = False
            self._changed.notify_all()

    def _tell(self) -> None:
        if not self._waiting:  # it has gone in; one that comes from now on looks before it waits
            return
        # Not on the thread that cancels, which may hold the lock: a handler of Ctrl-C interrupts any line.
        threading.Thread(target=self._notify, name="atomr-gate", daemon=True).start()

    def _notify(self) -> None:
        with self._changed:
            self._changed.notify_all()


def busy() -> InputError:
    """What is said to a question that does not wait."""
    return InputError("another question is being answered", hint="Wait for it, or cancel it.")
