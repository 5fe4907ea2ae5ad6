"""The limits of the server: connections, requests in work, and an end to everything that a client does slowly."""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import logging
import resource
import socket
from collections import Counter
from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any

import h11
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from atomr_local.server.mcp import GONE
from atomr_local.server.options import ServeOptions
from atomr_local.server.questions import error_reply, refusal
from atomr_local.server.serving import Refused, client, stopping
from atomr_local.system.log_file import log_error

# How many connections there may be. One too many is refused as soon as it comes, before anything is made for it.

MOST_CONNECTIONS = 512
_FEWEST = 8
_KEPT_FILES = 64  # at least: for indexes, the history, pipes to child processes
_REFUSED_AT_ONCE = 64  # then other work has its turn
_REFUSAL = (
    b"HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nRetry-After: 5\r\nContent-Type: application/json\r\n"
    b"Content-Length: 93\r\n\r\n"
    b'{"error":{"title":"Not available","message":"there are too many connections","code":"full"}} '
)


def most_connections(wanted: int = MOST_CONNECTIONS) -> int:
    """So many connections may be open: as many as wanted, but at most half of the files that the process may open."""
    files = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    if files == resource.RLIM_INFINITY:
        return wanted
    return max(_FEWEST, min(wanted, files - max(_KEPT_FILES, files // 2)))


@lru_cache(1024)
def whose(address: str) -> str:
    """What tells the clients of other machines apart: their address, of IPv6 the network; empty for this machine.

    Programs of this machine have one address, and so have the clients of a proxy: they cannot be told apart.
    """
    try:
        found = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return ""
    found = getattr(found, "ipv4_mapped", None) or found
    if found.is_loopback:
        return ""
    return str(found) if found.version == 4 else str(ipaddress.ip_network((int(found) >> 64 << 64, 64)))


class Listener(socket.socket):
    """A listening socket that counts the connections that it has given and that are still open.

    A client of another machine may have half of them.
    """

    def __init__(self, family: int, kind: int, protocol: int, most: int) -> None:
        super().__init__(family, kind, protocol)
        self.most = most
        self.refused = 0
        self._count = 0
        self._by_client: Counter[str] = Counter()

    @property
    def open_connections(self) -> int:
        """How many there are."""
        return self._count

    def accept(self) -> tuple[socket.socket, Any]:
        """The next connection that there is room for; those before it are refused.

        Raises:
            BlockingIOError: none waits, or many were refused: it is another's turn.
        """
        for _ in range(_REFUSED_AT_ONCE):
            given, address = super().accept()
            client = whose(str(address[0])) if isinstance(address, tuple) else ""
            if self._count < self.most and not (client and self._by_client[client] >= self.most // 2):
                self._count += 1
                self._by_client[client] += 1
                return _Connection(given, partial(self._closed_one, client)), address
            self.refused += 1
            _refuse(given)
        raise BlockingIOError

    def _closed_one(self, client: str) -> None:
        self._count -= 1
        self._by_client[client] -= 1
        if not self._by_client[client]:
            del self._by_client[client]


class _Connection(socket.socket):
    """One that tells when it is closed."""

    def __init__(self, given: socket.socket, closed: Callable[[], None]) -> None:
        super().__init__(given.family, given.type, given.proto, fileno=given.detach())
        self._tell: Callable[[], None] | None = closed

    def close(self) -> None:
        super().close()
        tell, self._tell = self._tell, None
        if tell is not None:
            tell()


def _refuse(connection: socket.socket) -> None:
    with connection, contextlib.suppress(OSError):
        connection.setblocking(False)
        connection.send(_REFUSAL)
        connection.recv(1 << 16)  # what is unread would take the answer back


# HTTP on one connection, as uvicorn speaks it, with an end to everything that a client can draw out.

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


# Requests in work: their bodies read with bounds, and their end when the client goes away or the server stops.
#
# Whatever serves a request runs as a task that is cancelled then. A stream that is cut off by the server is ended as
# its protocol wants it, so that the client sees its end and not a broken connection.

_log = logging.getLogger(__name__)


class InFlight:
    """Serves requests and knows which are in work. Belongs to one event loop."""

    def __init__(self, app: ASGIApp, options: ServeOptions) -> None:
        self._app = app
        self._options = options
        self._tasks: set[asyncio.Task[None]] = set()
        self._listening: set[asyncio.Task[None]] = set()
        self._inside = 0  # with those whose body is still arriving
        self._large = 0  # bytes of large bodies that are held
        self._closed = False

    @property
    def count(self) -> int:
        """Requests in work, without streams that only listen and have no end of their own."""
        return len(self._tasks - self._listening)

    def close(self) -> None:
        """Serve no further request but questions about health."""
        self._closed = True

    def cut_off(self) -> None:
        """End all requests now."""
        for task in tuple(self._tasks):
            task.cancel()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        client.set(whose(scope["client"][0]) if scope.get("client") else "")
        reply = _Reply(send, self._options.send_seconds)
        body, held = bytearray(), 0
        self._inside += 1
        try:
            self._check_open(scope)
            if self._inside > self._options.most_requests:
                raise Refused(503, "too many requests are in work", title="Not available", retry_after=5)
            there = await self._read(body, scope, receive)
            self._check_open(scope)  # again: it took a while
            if there:
                content, held = bytes(body), self._large_part(len(body))
                body.clear()
                await self._serve(scope, content, receive, reply)
        except Refused as refused:
            await refusal(refused, scope)(scope, receive, reply)
        finally:
            self._inside -= 1
            self._large -= held or self._large_part(len(body))

    def _check_open(self, scope: Scope) -> None:
        """
        Raises:
            Refused: the server stops.
        """
        if self._closed and scope["path"] != "/health":
            raise stopping()

    async def _serve(self, scope: Scope, body: bytes, receive: Receive, reply: _Reply) -> None:
        gone = scope[GONE] = asyncio.Event()
        unread = [{"type": "http.request", "body": body, "more_body": False}]

        async def given() -> Message:
            if unread:
                return unread.pop()
            await gone.wait()
            return {"type": "http.disconnect"}

        async def watch() -> None:
            while (await receive())["type"] != "http.disconnect":
                pass
            gone.set()

        task = asyncio.create_task(self._run(scope, given, reply))
        watching = asyncio.create_task(watch())
        self._tasks.add(task)
        if scope["method"] == "GET" and scope["path"].startswith("/mcp"):
            self._listening.add(task)
        try:
            await asyncio.wait((task, watching), return_when=asyncio.FIRST_COMPLETED)
            if not (task.done() or reply.ended):
                task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task
        finally:
            task.cancel()  # the connection's own task was cancelled
            watching.cancel()
            self._tasks.discard(task)
            self._listening.discard(task)
        there = not gone.is_set()
        gone.set()
        if there:
            await reply.end(scope, receive)

    async def _run(self, scope: Scope, receive: Receive, reply: _Reply) -> None:
        try:
            await self._app(scope, receive, reply)
        except* TimeoutError:
            _log.info("A client took too long to read its answer")
        except* Exception as errors:  # starlette has answered by now; what is left is for the log
            log_error(errors.exceptions[0])

    async def _read(self, body: bytearray, scope: Scope, receive: Receive) -> bool:
        """Read the whole body; False if the client has gone.

        Raises:
            Refused: it is too large or too slow, or too much is held already.
        """
        most = self._options.body_bytes
        too_large = Refused(413, f"the body is larger than {most} bytes", hint="Send less at a time.")
        declared = dict(scope["headers"]).get(b"content-length", b"0")
        if declared.isdigit() and int(declared[:12]) > most:
            raise too_large
        try:
            async with asyncio.timeout(self._options.body_seconds):
                while True:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        return False
                    before = self._large_part(len(body))
                    body += message.get("body", b"")
                    self._large += self._large_part(len(body)) - before
                    if len(body) > most:
                        raise too_large
                    if self._large > self._options.bodies_bytes and self._large_part(len(body)):
                        raise Refused(
                            503, "too many large bodies are held", title="Not available", retry_after=5, code="bodies"
                        )
                    if not message.get("more_body", False):
                        return True
        except TimeoutError:
            raise Refused(408, "the body did not arrive in time") from None

    def _large_part(self, size: int) -> int:
        """What a body of this size takes of the room that large bodies share."""
        return size if size > self._options.small_body_bytes else 0


class _Reply:
    """What is sent, with a limit on how long the client may take for each piece of it."""

    def __init__(self, send: Send, seconds: float) -> None:
        self._send = send
        self._seconds = seconds
        self._started = self.ended = False

    async def __call__(self, message: Message) -> None:
        if self.ended:
            return
        if message["type"] == "http.response.start":
            self._started = True
        elif message["type"] == "http.response.body" and not message.get("more_body", False):
            self.ended = True
        async with asyncio.timeout(self._seconds):
            await self._send(message)

    async def end(self, scope: Scope, receive: Receive) -> None:
        """End what was cut off."""
        with contextlib.suppress(TimeoutError):
            if not self._started:
                await error_reply(stopping())(scope, receive, self)
            elif not self.ended:
                await self({"type": "http.response.body", "body": b"", "more_body": False})
