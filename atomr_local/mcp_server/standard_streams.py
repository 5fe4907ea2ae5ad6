"""Serving one client over standard input and output, one message a line."""

from __future__ import annotations

import asyncio
import io
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from atomr_local.assistant import Assistant
from atomr_local.mcp_server.server import make_server

LONGEST_MESSAGE = 1 << 20  # bytes, as the body of a request over HTTP


def run(assistant: Assistant, tell: Callable[[str], None]) -> None:
    """Serve until the client closes standard input. `tell` takes lines for the client's log."""
    with _bounded_input(lambda: tell(f"A message of more than {LONGEST_MESSAGE} bytes was passed over.")):
        asyncio.run(make_server(assistant).run_stdio_async())


class BoundedLines(io.RawIOBase):
    """What can be read from a descriptor, without the rest of a line that is too long: it is no message then.

    Args:
        most: bytes of a line, without its end.
        cut: called once for each line that is cut.
    """

    def __init__(self, descriptor: int, most: int, cut: Callable[[], None]) -> None:
        super().__init__()
        self._descriptor = descriptor
        self._most = most
        self._cut = cut
        self._length = 0  # of the line so far

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        while data := os.read(self._descriptor, len(buffer)):
            if kept := self._kept(data):
                buffer[: len(kept)] = kept
                return len(kept)
        return 0

    def _kept(self, data: bytes) -> bytes:
        kept = []
        for number, piece in enumerate(data.split(b"\n")):
            if number:
                kept.append(b"\n")
                self._length = 0
            room = max(0, self._most - self._length)
            if len(piece) > room and self._length <= self._most:
                self._cut()
            kept.append(piece[:room])
            self._length += len(piece)
        return b"".join(kept)


@contextmanager
def _bounded_input(cut: Callable[[], None]) -> Iterator[None]:
    """Standard input with bounded lines, for the server alone: a child process finds it empty."""
    given = sys.stdin
    private = os.dup(0)  # never closed: a thread may still wait for it when the server has ended
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    bounded = BoundedLines(private, LONGEST_MESSAGE, cut)
    sys.stdin = io.TextIOWrapper(io.BufferedReader(bounded), encoding="utf-8", errors="replace")
    try:
        yield
    finally:
        sys.stdin = given
        os.dup2(private, 0)
