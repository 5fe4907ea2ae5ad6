"""Runs the application: the socket, uvicorn, and the signals that end it."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import logging
import signal
import socket
from collections.abc import Callable, Iterator
from functools import partial

import uvicorn

from atomr_local.assistant import Assistant
from atomr_local.errors import InputError
from atomr_local.http_server.app import Server
from atomr_local.http_server.connections import Listener, most_connections
from atomr_local.http_server.options import ServeOptions
from atomr_local.http_server.protocol import Http

_BACKLOG = 128
_KEEP_ALIVE = 15  # seconds
_LIBRARIES = ("uvicorn", "mcp", "sse_starlette", "asyncio")


class _Uvicorn(uvicorn.Server):
    """Leaves the signals to us: a question still gets its time when one comes."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def listening_socket(host: str, port: int) -> Listener:
    """A socket that listens on the address; port 0: any free one. It gives as many connections as files allow.

    Raises:
        InputError: it cannot.
    """
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except (OSError, UnicodeError) as error:
        raise InputError(f"--host: {host!r:.80} is no address of this machine") from error
    family, kind, protocol, _, address = found[0]
    made = Listener(family, kind, protocol, most_connections())
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
            http=partial(Http, send_seconds=application.options.send_seconds),  # type: ignore[arg-type]
            ws="none",
            loop="asyncio",
            lifespan="on",
            log_config=None,
            access_log=False,
            proxy_headers=False,
            server_header=False,
            timeout_keep_alive=_KEEP_ALIVE,
            backlog=_BACKLOG,
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
