"""Who calls: the session of a request, and whether somebody still waits for it."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from mcp.server.mcpserver import Context

# Where a server of HTTP puts an asyncio.Event into the scope of a request: set once its client has gone.
GONE = "atomr.gone"
_SESSION = "mcp-session-id"
_Given = TypeVar("_Given")


class Gone(Exception):
    """The client has gone."""


def session_of(ctx: Context[Any]) -> str:
    """What tells this session from others; empty where the protocol has none: one client, or requests by themselves."""
    request = ctx.request_context.request
    return str(request.headers.get(_SESSION, "")) if request is not None else ""


def server_of(ctx: Context[Any]) -> str:
    """The address by which the client reaches this server of HTTP, with a slash at its end; empty where it is none."""
    request = ctx.request_context.request
    return str(request.base_url) if request is not None else ""


async def while_there(ctx: Context[Any], work: Coroutine[Any, Any, _Given]) -> _Given:
    """What `work` gives; it is cancelled when the client goes.

    In a session of the older protocol a request runs on when its connection is lost. As the server keeps no events to
    be fetched later, nobody could have its result.

    Raises:
        Gone: the client has gone.
    """
    request = ctx.request_context.request
    gone = request.scope.get(GONE) if request is not None else None
    if not isinstance(gone, asyncio.Event):
        return await work
    doing, leaving = asyncio.ensure_future(work), asyncio.ensure_future(gone.wait())
    try:
        await asyncio.wait((doing, leaving), return_when=asyncio.FIRST_COMPLETED)
        if doing.done():
            return doing.result()
        raise Gone
    finally:
        leaving.cancel()
        if not doing.done():
            doing.cancel()
            await asyncio.wait((doing,))
