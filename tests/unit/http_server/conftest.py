"""A server on fakes, called without a socket."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from support.fake_parts import FakeBackbone
from support.served_parts import PagesSource

pytest.importorskip("starlette", reason="the extra serve is not installed")
pytest.importorskip("mcp", reason="the extra serve is not installed")

from atomr_local.assistant import Assistant
from atomr_local.http_server.app import Server
from atomr_local.http_server.options import ServeOptions
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
