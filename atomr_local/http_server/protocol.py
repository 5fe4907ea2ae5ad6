"""HTTP on one connection, as uvicorn speaks it, with an end to everything that a client can draw out."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

HEADER_SECONDS = 20.0
FLUSH_SECONDS = 5.0
LINGER_SECONDS = 2.0
_READ_AT_ONCE = 1 << 16  # bytes


class Http(H11Protocol):
    """Closes a connection on which something takes too long; uvicorn itself would wait for ever.

    - The header of a request has `HEADER_SECONDS` to arrive.
    - Data that waits to be sent has to become less within `send_seconds`.
    - Once the connection is to be closed, what waits to be sent has `FLUSH_SECONDS`. A client that still sends a body
      which nobody reads gets the answer and the end of the stream, and has `LINGER_SECONDS`; were the connection closed
      under it, it might lose the answer.
    """

    def __init__(self, *arguments: Any, send_seconds: float, **more: Any) -> None:
        super().__init__(*arguments, **more)
        self._send_seconds = send_seconds
        self._real: asyncio.Transport | None = None
        self._ending = False
        self._timers: dict[str, asyncio.TimerHandle] = {}

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._real = transport
        if hasattr(transport, "max_size"):
            transport.max_size = _READ_AT_ONCE
        super().connection_made(_Closing(transport, self))  # type: ignore[arg-type]
        self._wait_for_header()

    def data_received(self, data: bytes) -> None:
        if self._ending:
            return
        super().data_received(data)
        self._wait_for_header()

    def connection_lost(self, exc: Exception | None) -> None:
        self._ending = True
        for name in tuple(self._timers):
            self._forget(name)
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        super().pause_writing()
        self._after(self._send_seconds, "send", self._abort)

    def resume_writing(self) -> None:
        super().resume_writing()
        self._forget("send")

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self.conn.their_state is h11.SEND_BODY:  # nobody reads the rest of it
            self.end()

    @property
    def ending(self) -> bool:
        """Whether the connection is being closed."""
        return self._ending

    def end(self) -> None:
        """Close the connection, soon or at last."""
        if self._ending or self._real is None:
            return
        self._ending = True
        self._forget("header")
        still_sends = self.conn.their_state in (h11.SEND_BODY, h11.ERROR)
        if still_sends and not self._real.is_closing() and self._real.can_write_eof():
            self._real.write_eof()
            self.flow.resume_reading()
            self._after(LINGER_SECONDS, "end", self._abort)
        else:
            self._real.close()
            self._after(FLUSH_SECONDS, "end", self._abort)

    def _wait_for_header(self) -> None:
        if self.conn.their_state is not h11.IDLE:
            self._forget("header")
        elif "header" not in self._timers and not self._ending:
            self._after(HEADER_SECONDS, "header", self._too_late)

    def _too_late(self) -> None:
        answering = self.cycle is not None and not self.cycle.response_complete
        if not answering:
            self.end()

    def _abort(self) -> None:
        if self._real is not None:
            self._real.abort()

    def _after(self, seconds: float, name: str, what: Callable[[], None]) -> None:
        def run() -> None:
            self._timers.pop(name, None)
            what()

        self._forget(name)
        self._timers[name] = self.loop.call_later(seconds, run)

    def _forget(self, name: str) -> None:
        if (timer := self._timers.pop(name, None)) is not None:
            timer.cancel()


class _Closing:
    """The transport as uvicorn sees it: its `close` is :meth:`Http.end`."""

    def __init__(self, transport: asyncio.Transport, protocol: Http) -> None:
        self._transport = transport
        self._protocol = protocol
        self.write = transport.write

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def close(self) -> None:
        self._protocol.end()

    def is_closing(self) -> bool:
        return self._protocol.ending or self._transport.is_closing()
