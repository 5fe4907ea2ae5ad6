"""The application: its routes, and what every request passes before them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from pathlib import Path

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Receive, Scope, Send

from atomr_local.assistant import Assistant
from atomr_local.errors import AtomrError
from atomr_local.http_server.ask import AskEndpoint
from atomr_local.http_server.guard import Guard, SecurityHeaders
from atomr_local.http_server.in_flight import InFlight
from atomr_local.http_server.knowledge import KnowledgeEndpoints
from atomr_local.http_server.options import ServeOptions
from atomr_local.http_server.questions import Questions
from atomr_local.http_server.replies import Refused, error_reply
from atomr_local.log_file import log_error

_PAGE = Path(__file__).with_name("static")
_THREADS = 32
_CHECK_SECONDS = 0.05
_LAST_SECONDS = 5.0  # for cancelled questions to end


class Server:
    """The ASGI application, and its end. Belongs to one event loop.

    Whoever runs it closes the assistant.
    """

    def __init__(self, assistant: Assistant, options: ServeOptions | None = None) -> None:
        self.options = options = options or ServeOptions()
        self.questions = Questions(assistant, options)
        self.knowledge = KnowledgeEndpoints(assistant, self.questions, options)
        ask = AskEndpoint(assistant, self.questions, options)
        self.routes: list[BaseRoute] = [
            Route("/health", self.knowledge.health),
            Route("/api/ask", ask.ask, methods=["POST"]),
            Route("/api/server", self.knowledge.server),
            Route("/api/traces", self.knowledge.traces),
            Route("/api/traces/{name}", self.knowledge.trace),
            Route("/api/traces/{name}", self.knowledge.forget, methods=["DELETE"]),
            Route("/api/indexes", self.knowledge.indexes),
            Route("/api/search", self.knowledge.search),
            Route("/api/pages", self.knowledge.page),
            Route("/api/entities", self.knowledge.entities),
            Route("/api/entities/{qid}", self.knowledge.entity),
            Route("/api/facts", self.knowledge.facts),
        ]
        page = [Mount("/", StaticFiles(directory=_PAGE, html=True))] if (_PAGE / "index.html").is_file() else []
        inner = Starlette(
            routes=[*self.routes, *page],
            lifespan=self._lifespan,
            exception_handlers={HTTPException: _not_served, AtomrError: _refused, Exception: _failed},
        )
        self.in_flight = InFlight(inner, options)
        self._app: ASGIApp = SecurityHeaders(Guard(self.in_flight, options))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._app(scope, receive, send)

    async def stop(self) -> None:
        """Serve nothing new; wait for what runs, then cancel it, then cut it off. Streams come to their end."""
        self.in_flight.close()
        self.questions.desk.close()
        self.knowledge.desk.close()
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
            yield


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
