"""The application: its routes, and what every request passes before them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

from mcp.server.mcpserver import MCPServer
from mcp.server.streamable_http_manager import StreamableHTTPASGIApp
from mcp.server.transport_security import TransportSecuritySettings
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp, Receive, Scope, Send

from atomr_local.assistant import Assistant
from atomr_local.errors import AtomrError, InputError
from atomr_local.http_server.ask import AskEndpoint
from atomr_local.http_server.guard import Guard, SecurityHeaders
from atomr_local.http_server.in_flight import InFlight
from atomr_local.http_server.knowledge import KnowledgeEndpoints
from atomr_local.http_server.openai_api.endpoints import OpenAIEndpoints
from atomr_local.http_server.openapi import openapi
from atomr_local.http_server.options import ServeOptions
from atomr_local.http_server.page import page_routes
from atomr_local.http_server.questions import Questions
from atomr_local.http_server.replies import JsonReply, error_reply
from atomr_local.log_file import log_error
from atomr_local.mcp_server.server import QUERIES_AT_ONCE, check_handing_on, make_server
from atomr_local.serving.lookup_desk import LookupDesk
from atomr_local.serving.refused import Refused

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
        self.routes: list[BaseRoute] = [
            Route("/health", known.health),
            Route("/api/ask", ask.ask, methods=["POST"]),
            Route("/api/server", known.server),
            Route("/api/traces", known.traces),
            Route("/api/traces/{name}", known.trace),
            Route("/api/traces/{name}", known.forget, methods=["DELETE"]),
            Route("/api/indexes", known.indexes),
            Route("/api/search", known.search),
            Route("/api/pages", known.page),
            Route("/api/entities", known.entities),
            Route("/api/entities/{qid}", known.entity),
            Route("/api/facts", known.facts),
            Route("/v1/models", openai.models),
            Route("/v1/models/{name}", openai.model),
            Route("/v1/chat/completions", openai.chat, methods=["POST"]),
            Route("/v1/embeddings", openai.embeddings, methods=["POST"]),
            Route("/openapi.json", _description),
        ]
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


async def _description(_request: Request) -> Response:
    return JsonReply(openapi())


async def _refused(_request: Request, error: Exception) -> Response:
    assert isinstance(error, AtomrError)
    return error_reply(error)


async def _not_served(_request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    if error.status_code == 405:
        refused = Refused(405, "this address has no such method", hint="/openapi.json describes what there is.")
    elif error.status_code == 404:
        refused = Refused(404, "there is nothing at this address", hint="/openapi.json describes what there is.")
    else:
        refused = Refused(error.status_code, "the request cannot be served")
    reply = error_reply(refused)
    if allowed := (error.headers or {}).get("Allow"):
        reply.headers["Allow"] = allowed
    return reply


async def _failed(_request: Request, error: Exception) -> Response:
    log_error(error)
    return error_reply(AtomrError("an internal error; the log file tells where"))
