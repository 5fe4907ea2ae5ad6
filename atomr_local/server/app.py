"""The application: its routes, and what every request passes before them."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import hashlib
import hmac
import ipaddress
import logging
import re
import signal
import socket
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import uvicorn
from mcp.server.mcpserver import MCPServer
from mcp.server.streamable_http_manager import StreamableHTTPASGIApp
from mcp.server.transport_security import TransportSecuritySettings
from starlette.applications import Starlette
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from atomr_local.assistant.assistant import Assistant
from atomr_local.errors import AtomrError, InputError
from atomr_local.server.limits import Http, InFlight, Listener, most_connections
from atomr_local.server.mcp import QUERIES_AT_ONCE, check_handing_on, make_server
from atomr_local.server.openai_api import OpenAIEndpoints
from atomr_local.server.openapi import Endpoint, endpoints_of, openapi
from atomr_local.server.options import ServeOptions
from atomr_local.server.questions import JsonReply, Questions, error_reply, refusal
from atomr_local.server.routes import AskEndpoint, KnowledgeEndpoints, page_routes
from atomr_local.server.serving import LookupDesk, Refused
from atomr_local.system.credentials import is_loopback
from atomr_local.system.log_file import log_error

# Who may ask: the Host and Origin of a request, its token, and the headers that every answer has.
#
# A page of another site must not reach the server through the user's browser. It could by a name of its own that leads
# here (DNS rebinding: the Host header tells), or by sending requests whose answers it cannot read (the Origin and
# Sec-Fetch-Site headers tell, and a body has to be declared as JSON, which such a page may not do unasked).


# The files of the page for browsers, and what a monitor asks, need no token: they tell nothing.
_API = ("/api", "/v1", "/mcp", "/openapi.json")
_HOST = re.compile(r"(\[[0-9A-Fa-f:.]{2,45}\]|[A-Za-z0-9._-]{1,253})(?::[0-9]{1,5})?")
_SECURITY = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
}


class SecurityHeaders:
    """Adds the headers to every answer; nothing is to be kept by a cache unless the answer says so."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def put(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _SECURITY.items():
                    headers[name] = value
                headers.setdefault("cache-control", "no-store")
            await send(message)

        await self._app(scope, receive, put)


class Guard:
    """Refuses what does not come from where it may come from."""

    def __init__(self, app: ASGIApp, options: ServeOptions) -> None:
        self._app = app
        self._loopback = options.loopback
        self._names = _known_names(options)
        self._token = _digest(options.token.reveal()) if options.token else None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            try:
                self._check(scope)
            except Refused as refused:
                await refusal(refused, scope)(scope, receive, send)
                return
        await self._app(scope, receive, send)

    def _check(self, scope: Scope) -> None:
        """
        Raises:
            Refused: the request is not to be served.
        """
        headers = Headers(scope=scope)
        host = self._check_host(headers)
        self._check_origin(headers, host)
        if not scope["path"].startswith(_API):
            return
        if headers.get("sec-fetch-site", "none") not in ("none", "same-origin"):
            raise _foreign()
        if self._token is not None and not _brings(headers, self._token):
            raise Refused(
                401,
                "the token is missing or wrong",
                title="Not authorised",
                hint="Send the server's token: Authorization: Bearer TOKEN (as the API key in clients of OpenAI).",
                code="invalid_api_key",
            )
        kind = headers.get("content-type", "").partition(";")[0].strip().casefold()
        if scope["method"] in ("POST", "PUT", "PATCH") and kind != "application/json":
            raise Refused(415, "the body is not declared as JSON", hint="Send Content-Type: application/json.")

    def _check_host(self, headers: Headers) -> str:
        given = headers.getlist("host")
        match = _HOST.fullmatch(given[0]) if len(given) == 1 else None
        if match is None:
            raise Refused(400, "the Host header is missing or cannot be read")
        name = match[1].strip("[]").casefold().rstrip(".")
        if not self._is_ours(name):
            raise Refused(
                421,
                "this server has another name",
                hint="Use its address, or start it with --allow-host NAME.",
                code="unknown_host",
            )
        return given[0].casefold()

    def _is_ours(self, name: str) -> bool:
        """Whether a request may be for this name. An address cannot be made to lead elsewhere as a name can."""
        if name in self._names or is_loopback(name):
            return True
        if self._loopback:
            return False
        try:
            ipaddress.ip_address(name)
        except ValueError:
            return False
        return True

    def _check_origin(self, headers: Headers, host: str) -> None:
        for origin in headers.getlist("origin"):
            scheme, mark, rest = origin.casefold().partition("://")
            if not (mark and scheme in ("http", "https") and rest == host):
                raise _foreign()


def _known_names(options: ServeOptions) -> frozenset[str]:
    names: Iterable[str] = options.names if options.loopback else (*options.names, options.host, socket.gethostname())
    return frozenset(name.strip("[]").casefold().rstrip(".") for name in names)


def _foreign() -> Refused:
    return Refused(
        403,
        "the request comes from a page of another site",
        hint="Use the server from a program, or from a page that it serves itself.",
        code="foreign_origin",
    )


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).digest()


def _brings(headers: Headers, token: bytes) -> bool:
    given = headers.getlist("authorization")
    scheme, _, text = (given[0] if len(given) == 1 else "").partition(" ")
    # Digests have one length, so that the time of the comparison tells nothing of the token.
    return hmac.compare_digest(_digest(text.strip()), token) and scheme.casefold() == "bearer"


_THREADS = 32
_MOST_SESSIONS, _IDLE_SECONDS = 100, 600.0  # of the Model Context Protocol
_CHECK_SECONDS = 0.05
_LAST_SECONDS = 5.0  # for cancelled questions to end


class Server:
    """The ASGI application, and its end. Belongs to one event loop.

    Whoever runs it closes the assistant.
    """

    def __init__(self, assistant: Assistant, options: ServeOptions | None = None) -> None:
        self.options = options = options or ServeOptions()
        allowed = (lambda: None) if options.local else partial(check_handing_on, assistant)
        desk = partial(LookupDesk, queue=options.queue, limit=options.lookup_seconds, allowed=allowed)
        self.lookups, self.queries = desk(), desk("queries of the graph", places=QUERIES_AT_ONCE)
        self.questions = Questions(assistant, options, self.lookups, allowed)
        known = KnowledgeEndpoints(assistant, self.questions, self.lookups, options)
        openai = OpenAIEndpoints(assistant, self.questions, self.lookups, options)
        ask = AskEndpoint(assistant, self.questions, options)
        served = list(endpoints_of(ask, known, openai, self))
        self.endpoints = [one for one, _ in served]
        self.routes: list[BaseRoute] = [Route(one.path, handler, methods=[one.method]) for one, handler in served]
        self._mcp = self._mcp_server(assistant)
        self.routes.append(Route("/mcp", self._mcp_endpoint(), methods=["GET", "POST", "DELETE"]))
        inner = Starlette(
            routes=[*self.routes, *page_routes()],
            lifespan=self._lifespan,
            exception_handlers={HTTPException: _not_served, AtomrError: _refused, Exception: _failed},
        )
        inner.router.redirect_slashes = False  # an address is served as it is described, or not at all
        self.in_flight = InFlight(inner, options)
        self._app: ASGIApp = SecurityHeaders(Guard(self.in_flight, options))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._app(scope, receive, send)

    @Endpoint("GET", "/openapi.json", {"type": "object"})
    async def description(self, request: Request) -> Response:
        """This description."""
        return JsonReply(openapi(self.endpoints))

    async def stop(self) -> None:
        """Serve nothing new; wait for what runs, then cancel it, then cut it off. Streams come to their end."""
        self.in_flight.close()
        self.questions.desk.close()
        self.lookups.close()
        self.queries.close()
        await self._idle(self.options.grace_seconds)
        self.questions.stop_all()
        await self._idle(_LAST_SECONDS)
        self.in_flight.cut_off()

    async def _idle(self, seconds: float) -> None:
        """Wait until no request is in work."""
        loop = asyncio.get_running_loop()
        end = loop.time() + seconds
        while self.in_flight.count and loop.time() < end:
            await asyncio.sleep(_CHECK_SECONDS)

    @asynccontextmanager
    async def _lifespan(self, app: Starlette) -> AsyncIterator[None]:
        # asyncio's own pool is small on a small machine, and questions wait in it for their threads to end.
        with ThreadPoolExecutor(_THREADS, thread_name_prefix="atomr-serve") as pool:
            asyncio.get_running_loop().set_default_executor(pool)
            if self._mcp is None:
                yield
            else:
                async with self._mcp.session_manager.run():
                    yield

    def _mcp_server(self, assistant: Assistant) -> MCPServer[Any] | None:
        """The server of the Model Context Protocol; None where what it would tell must not be handed on."""
        try:
            check_handing_on(assistant)
        except InputError as error:
            self.mcp_refusal = error
            return None
        # As `atomr mcp` does, it keeps no questions: they are those of another program's model.
        server = make_server(assistant, partial(self.questions.stream, keep=False), self.lookups, self.queries)
        # Host and Origin have been checked by the guard.
        security = TransportSecuritySettings(enable_dns_rebinding_protection=False)
        server.streamable_http_app(
            transport_security=security, max_sessions=_MOST_SESSIONS, session_idle_timeout=_IDLE_SECONDS,
            max_request_body_size=self.options.body_bytes,
        )  # fmt: skip
        return server

    def _mcp_endpoint(self) -> Any:
        if self._mcp is not None:
            return StreamableHTTPASGIApp(self._mcp.session_manager)

        async def refused(_request: Request) -> Response:
            raise Refused(403, self.mcp_refusal.message, hint=self.mcp_refusal.hint, title=self.mcp_refusal.title)

        return refused


async def _refused(_request: Request, error: Exception) -> Response:
    assert isinstance(error, AtomrError)
    return error_reply(error)


async def _not_served(_request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    told = {405: "this address has no such method", 404: "there is nothing at this address"}
    hint = "/openapi.json describes what there is." if error.status_code in told else ""
    refused = Refused(error.status_code, told.get(error.status_code, "the request cannot be served"), hint=hint)
    reply = error_reply(refused)
    if allowed := (error.headers or {}).get("Allow"):
        reply.headers["Allow"] = allowed
    return reply


async def _failed(_request: Request, error: Exception) -> Response:
    log_error(error)
    return error_reply(AtomrError("an internal error; the log file tells where"))


# Runs the application: the socket, uvicorn, and the signals that end it.

_BACKLOG = 128
_KEEP_ALIVE = 15  # seconds
# Why the socket cannot listen, and what to do, by the number of the error.
_TOLD = {
    errno.EADDRINUSE: (
        "port {port} is in use",
        "Stop the other program, or choose another port: --port 0 takes any that is free.",
    ),
    errno.EACCES: ("port {port} may not be used by this user", "Choose a port above 1023."),
}
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
        told = f"{host} port {port}: {error.strerror or error}", "Choose another --host or --port."
        message, hint = _TOLD.get(error.errno or 0, told)
        raise InputError(message.replace("{port}", str(port)), hint=hint) from error
    return made


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
