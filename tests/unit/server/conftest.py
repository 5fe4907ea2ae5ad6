"""A server on fakes, called without a socket."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from support.fake_parts import FakeBackbone
from support.served_parts import PagesSource

pytest.importorskip("starlette", reason="the extra serve is not installed")
pytest.importorskip("mcp", reason="the extra serve is not installed")

from atomr_local.assistant.assistant import Assistant
from atomr_local.server.app import Server, listening_socket, uvicorn_server
from atomr_local.server.options import ServeOptions
from atomr_local.settings.schema import load_settings

Serve = Callable[..., Server]


@pytest.fixture
def serve() -> Serve:
    """Makes a server: `serve(backbone, settings={…}, queue=…)`."""

    def make(backbone: FakeBackbone, *, settings: dict[str, Any] | None = None, **options: Any) -> Server:
        assistant = Assistant(load_settings(**(settings or {})), backbone)  # type: ignore[arg-type]
        assistant.parts.sources = {"text": PagesSource()}
        return Server(assistant, ServeOptions(**options))

    return make


@asynccontextmanager
async def served(application: Server) -> AsyncIterator[int]:
    """The port of the server while it runs."""
    listener = listening_socket("127.0.0.1", 0)
    server = uvicorn_server(application)
    task = asyncio.create_task(server.serve(sockets=[listener]))
    while not server.started:
        await asyncio.sleep(0.01)
    try:
        yield listener.getsockname()[1]
    finally:
        await application.stop()
        server.should_exit = True
        await asyncio.wait_for(task, 20)
