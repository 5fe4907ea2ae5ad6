"""Answers as JSON and as server-sent events, and the one form of errors.

An error is {"error": {"title", "message", "hint", "type", "param", "code"}}: title, message and hint are those of every
error of the program; message, type, param and code are what clients of OpenAI's API look for.
"""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing, suppress
from typing import Any

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from atomr_local.errors import (
    AtomrError,
    Cancelled,
    InputError,
    KnowledgeIndexError,
    MissingPartError,
    ModelError,
    PlanError,
    QueryError,
    SettingsError,
    SourceError,
    WebDisabledError,
)
from atomr_local.sanitize import sanitize, sanitize_all
from atomr_local.serving.machine_paths import SAID_FIELDS, without_paths
from atomr_local.serving.refused import Refused

_LONGEST_MESSAGE = 600
_MOST_WAITING = 1 << 16  # bytes
# The first that an error is an instance of.
_STATUSES: tuple[tuple[type[AtomrError], int], ...] = (
    (WebDisabledError, 403),
    (InputError, 400),
    (SettingsError, 400),
    (PlanError, 400),
    (QueryError, 400),
    (KnowledgeIndexError, 503),
    (ModelError, 503),
    (MissingPartError, 503),
    (SourceError, 502),
    (Cancelled, 503),
)
_TYPES = {400: "invalid_request_error", 401: "authentication_error", 403: "permission_error", 429: "rate_limit_error"}


def status_of(error: AtomrError) -> int:
    """The status of HTTP for an error of the program."""
    if isinstance(error, Refused):
        return error.status
    return next((status for kind, status in _STATUSES if isinstance(error, kind)), 500)


def error_document(error: AtomrError) -> dict[str, Any]:
    """The error as JSON."""
    status = status_of(error)
    kind = _TYPES.get(status, "invalid_request_error" if status < 500 else "server_error")
    return {
        "error": {
            "title": sanitize(error.title),
            "message": without_paths(sanitize(error.message))[:_LONGEST_MESSAGE],
            "hint": without_paths(sanitize(error.hint))[:_LONGEST_MESSAGE],
            "type": kind,
            "param": getattr(error, "param", None),
            "code": getattr(error, "code", None),
        }
    }


def json_text(data: Any) -> str:
    """JSON in ASCII on one line: texts are sanitised, numbers that JSON cannot write become null.

    What the program says in it names no folder of this machine.
    """
    return json.dumps(_sendable(data, said=False), separators=(",", ":"), default=str, allow_nan=False)


def _sendable(data: Any, *, said: bool) -> Any:
    """The data as it may be sent. `said`: whether it is what the program itself says."""
    if isinstance(data, str):
        text = sanitize(data)
        return without_paths(text) if said else text
    if data is None or isinstance(data, int):
        return data
    if isinstance(data, float):
        return data if math.isfinite(data) else None
    if isinstance(data, Mapping):
        return {
            sanitize(key) if isinstance(key, str) else key: _sendable(item, said=said or key in SAID_FIELDS)
            for key, item in data.items()
        }
    if isinstance(data, list | tuple):
        return [_sendable(item, said=said) for item in data]
    return sanitize_all(data)


class JsonReply(Response):
    """Data as JSON."""

    media_type = "application/json"

    def render(self, content: Any) -> bytes:
        return json_text(content).encode("ascii")


def error_reply(error: AtomrError) -> Response:
    """The error with its status."""
    status = status_of(error)
    headers: dict[str, str] = {}
    if isinstance(error, Refused) and error.retry_after is not None:
        headers["Retry-After"] = str(error.retry_after)
    if status == 401:
        headers["WWW-Authenticate"] = "Bearer"
    return JsonReply(error_document(error), status_code=status, headers=headers)


def refusal(error: AtomrError, scope: Scope) -> Response:
    """The error, for a request whose body nobody has read to its end: the connection is closed behind it."""
    reply = error_reply(error)
    headers = dict(scope["headers"])
    if headers.get(b"content-length", b"0") != b"0" or b"transfer-encoding" in headers:
        reply.headers["Connection"] = "close"
    return reply


def sent_event(data: Any, *, name: str = "") -> bytes:
    """One server-sent event; JSON in ASCII has no line break that could end it early."""
    return (f"event: {name}\n" if name else "").encode("ascii") + f"data: {json_text(data)}\n\n".encode("ascii")


class EventStream:
    """Server-sent events as they come, with a comment where nothing comes for a while. An ASGI application.

    What is there at once is sent at once: each piece that is sent costs a pass through all layers of the server.
    """

    def __init__(
        self, chunks: AsyncGenerator[bytes, None], *, ping_seconds: float, headers: Mapping[str, str] | None = None
    ) -> None:
        self._chunks = chunks
        self._ping_seconds = ping_seconds
        given = {"content-type": "text/event-stream; charset=utf-8", "x-accel-buffering": "no", **(headers or {})}
        self._headers = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in given.items()]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        waiting = bytearray()
        filled, taken = asyncio.Event(), asyncio.Event()

        async def put() -> None:
            ended = False
            while not ended:
                with suppress(TimeoutError):
                    async with asyncio.timeout(self._ping_seconds):
                        await filled.wait()
                filled.clear()
                taken.set()
                ended = over
                piece = bytes(waiting) or (b"" if ended else b": \n\n")
                waiting.clear()
                # Where it cannot be sent, nobody listens any more.
                await send({"type": "http.response.body", "body": piece, "more_body": not ended})

        over = False
        async with aclosing(self._chunks) as chunks, asyncio.TaskGroup() as group:
            await send({"type": "http.response.start", "status": 200, "headers": self._headers})
            group.create_task(put())
            async for chunk in chunks:
                waiting += chunk
                filled.set()
                while len(waiting) > _MOST_WAITING:
                    taken.clear()
                    await taken.wait()
            over = True
            filled.set()
