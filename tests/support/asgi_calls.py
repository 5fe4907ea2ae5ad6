"""One request to an ASGI application, of which the test holds both ends: what is sent, and when the client goes."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable
from typing import Any

from starlette.types import ASGIApp


class Call:
    """A request in work. `status`, `headers` and `body` are what has come back so far."""

    def __init__(
        self,
        app: ASGIApp,
        method: str,
        path: str,
        body: Any = None,
        *,
        headers: dict[str, str] | None = None,
        pieces: Iterable[bytes] | None = None,
    ) -> None:
        given = {"host": "127.0.0.1", **({"content-type": "application/json"} if body is not None else {})}
        given |= headers or {}
        self._sent: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        for piece in pieces if pieces is not None else (b"" if body is None else json.dumps(body).encode(),):
            self._sent.put_nowait({"type": "http.request", "body": piece, "more_body": pieces is not None})
        self.status = 0
        self.headers: dict[str, str] = {}
        self.body = b""
        self.ended = False
        self.blocked = False  # the client takes nothing more
        path, _, query = path.partition("?")
        scope = {
            "type": "http", "asgi": {"version": "3.0", "spec_version": "2.3"}, "http_version": "1.1",
            "method": method, "scheme": "http", "path": path, "raw_path": path.encode(), "root_path": "",
            "query_string": query.encode(), "client": ("127.0.0.1", 1), "server": ("127.0.0.1", 80),
            "headers": [(name.encode(), value.encode()) for name, value in given.items()],
        }  # fmt: skip
        self.task = asyncio.ensure_future(app(scope, self._sent.get, self._put))  # type: ignore[arg-type]

    async def _put(self, message: Any) -> None:
        while self.blocked:
            await asyncio.sleep(0.01)
        if message["type"] == "http.response.start":
            self.status = message["status"]
            self.headers = {name.decode(): value.decode() for name, value in message["headers"]}
        else:
            self.body += message.get("body", b"")
            self.ended = not message.get("more_body", False)

    def go(self) -> None:
        """The client goes away."""
        self._sent.put_nowait({"type": "http.disconnect"})

    async def done(self) -> Call:
        await asyncio.wait_for(self.task, 90)
        return self

    async def until(self, text: bytes) -> Call:
        """Until this was sent back."""
        async with asyncio.timeout(90):
            while text not in self.body:
                await asyncio.sleep(0.005)
        return self

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def events(self) -> list[dict[str, Any]]:
        """The server-sent events."""
        found = []
        for block in self.body.decode().split("\n\n"):
            lines = [line.removeprefix("data: ") for line in block.split("\n") if line.startswith("data: ")]
            if lines and lines != ["[DONE]"]:
                found.append(json.loads("\n".join(lines)))
        return found
