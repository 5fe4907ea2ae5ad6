"""Runs the application: the socket, uvicorn, and the signals that end it."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import logging
import signal
import socket
from collections.abc import Callable, Iterator

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from atomr_local.assistant import Assistant
from atomr_local.errors import InputError
from atomr_local.http_server.app import Server
from atomr_local.http_server.options import ServeOptions

_BACKLOG = 128
_KEEP_ALIVE = 15  # seconds
HEADER_SECONDS = 20.0
_LIBRARIES = ("uvicorn", "mcp", "sse_starlette", "asyncio")


class _Uvicorn(uvicorn.Server):
    """Leaves the signals to us: a question still gets its time when one comes."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


class _Http(H11Protocol):
    """Closes a connection on which no whole header of a request arrives in time; uvicorn itself would wait for ever."""

    _late: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)  # type: ignore[arg-type]
        self._wait_for_header()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._wait_for_header()

    def connection_lost(self, exc: Exception | None) -> None:
        self._forget()
        super().connection_lost(exc)

    def _wait_for_header(self) -> None:
        if self.conn.their_state is not h11.IDLE:
            self._forget()
        elif self._late is None:
            self._late = self.loop.call_later(HEADER_SECONDS, self._too_late)

    def _forget(self) -> None:
        if self._late is not None:
            self._late.cancel()
            self._late = None

    def _too_late(self) -> None:
        self._late = None
        answering = self.cycle is not None and not self.cycle.response_complete
        if not answering and not self.transport.is_closing():
            self.transport.close()


def listening_socket(host: str, port: int) -> socket.socket:
    """A socket that listens on the address; port 0: any free one.

    Raises:
        InputError: it cannot.
    """
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except (OSError, UnicodeError) as error:
        raise InputError(f"--host: {host!r:.80} is no address of this machine") from error
    family, kind, protocol, _, address = found[0]
    made = socket.socket(family, kind, protocol)
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind(address)
        made.listen(_BACKLOG)
    except OSError as error:
        made.close()
        raise InputError(_told(error, host, port), hint=_hint(error)) from error
    return made


def _told(error: OSError, host: str, port: int) -> str:
    if error.errno == errno.EADDRINUSE:
        return f"port {port} is in use"
    if error.errno == errno.EACCES:
        return f"port {port} may not be used by this user"
    return f"{host} port {port}: {error.strerror or error}"


def _hint(error: OSError) -> str:
    if error.errno == errno.EADDRINUSE:
        return "Stop the other program, or choose another port: --port 0 takes any that is free."
    return "Choose a port above 1023." if error.errno == errno.EACCES else "Choose another --host or --port."


def run(assistant: Assistant, options: ServeOptions, listener: socket.socket, tell: Callable[[str], None]) -> None:
    """Serve until a signal ends it: the first lets questions finish for a while, the second ends them now."""
    for name in _LIBRARIES:  # they log what requests hold
        logger = logging.getLogger(name)
        logger.addHandler(logging.NullHandler())
        logger.propagate = False
    asyncio.run(_serve(assistant, options, listener, tell))


def uvicorn_server(application: Server) -> uvicorn.Server:
    """What speaks HTTP for the application; it handles no signal."""
    return _Uvicorn(
        uvicorn.Config(
            application,
            http=_Http,
            ws="none",
            loop="asyncio",
            lifespan="on",
            log_config=None,
            access_log=False,
            proxy_headers=False,
            server_header=False,
            timeout_keep_alive=_KEEP_ALIVE,
            timeout_graceful_shutdown=2,
        )
    )


async def _serve(
    assistant: Assistant, options: ServeOptions, listener: socket.socket, tell: Callable[[str], None]
) -> None:
    application = Server(assistant, options)
    server = uvicorn_server(application)
    ending: list[asyncio.Task[None]] = []

    async def end() -> None:
        await application.stop()
        server.should_exit = True

    def on_signal() -> None:
        if not ending:
            tell(f"Stopping; running questions have {options.grace_seconds:g} seconds.")
            ending.append(loop.create_task(end()))
            return
        assistant.cancel()
        application.in_flight.cut_off()
        server.should_exit = server.force_exit = True

    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, on_signal)
    await server.serve(sockets=[listener])
    for task in ending:
        task.cancel()
