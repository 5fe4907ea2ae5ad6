"""Reads the output of a process as it is written; only waiting counts against a time limit."""

from __future__ import annotations

import contextlib
import os
import queue
import subprocess
import threading
import time
from collections.abc import Iterator

_CHUNK, _HELD = 1 << 16, 4


class Pipe:
    """The standard output of `process`. Belongs to one thread, which must close it.

    Attributes:
        out_of_time: the process was ended for it.
    """

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process
        self._queue: queue.Queue[bytes] = queue.Queue(maxsize=_HELD)
        self._ended = False
        self.out_of_time = False
        # A thread, for no more than that lets one wait for a pipe with a time limit on every system.
        threading.Thread(target=self._read, name="query-pipe", daemon=True).start()

    def chunks(self, seconds: float) -> Iterator[bytes]:
        """Its bytes as they come, until it ends, by itself or because it took `seconds` in all."""
        while not self._ended:
            started = time.monotonic()
            try:
                chunk = self._queue.get(timeout=max(seconds, 0.0))
            except queue.Empty:
                self.out_of_time = True
                self.close()
                return
            seconds -= time.monotonic() - started
            self._ended = not chunk
            if chunk:
                yield chunk

    def close(self) -> int:
        """End the process if it has not ended; its exit status."""
        if not self._ended:
            self._process.kill()
        while not self._ended:  # whoever waits to hand over a chunk is let go
            self._ended = not self._queue.get()
        return self._process.wait()

    def _read(self) -> None:
        stream = self._process.stdout
        with contextlib.suppress(OSError, ValueError):
            while stream is not None and (chunk := os.read(stream.fileno(), _CHUNK)):
                self._queue.put(chunk)
        self._queue.put(b"")
