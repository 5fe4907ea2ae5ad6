"""The Model Context Protocol over HTTP in plain requests, of each era of the protocol."""

from __future__ import annotations

import json
from typing import Any

import httpx

HANDSHAKES = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
MODERN = "2026-07-28"
_ACCEPT = {"accept": "application/json, text/event-stream"}
_CLIENT = {"name": "test", "version": "1"}


class McpHttp:
    """One client; of an older version of the protocol it has a session once it has shaken hands."""

    def __init__(self, http: httpx.AsyncClient, version: str) -> None:
        self.http = http
        self.version = version
        self.session = ""

    def asked(self, number: Any, method: str, parameters: dict[str, Any]) -> tuple[dict[str, Any], dict[str, str]]:
        """Body and headers of a request."""
        body: dict[str, Any] = {"jsonrpc": "2.0", "id": number, "method": method, "params": dict(parameters)}
        headers = {**_ACCEPT, "mcp-protocol-version": self.version}
        if self.session:
            headers["mcp-session-id"] = self.session
        if self.version == MODERN:
            body["params"]["_meta"] = {
                "io.modelcontextprotocol/protocolVersion": self.version,
                "io.modelcontextprotocol/clientCapabilities": {},
                "io.modelcontextprotocol/clientInfo": _CLIENT,
            }
            headers["mcp-method"] = method
            if name := parameters.get("name") or parameters.get("uri"):
                headers["mcp-name"] = name
        return body, headers

    async def begin(self) -> McpHttp:
        """Shake hands, where this version of the protocol does."""
        if self.version == MODERN:
            return self
        parameters = {"protocolVersion": self.version, "capabilities": {}, "clientInfo": _CLIENT}
        body, headers = self.asked(0, "initialize", parameters)
        del headers["mcp-protocol-version"]
        answer = await self.http.post("/mcp", json=body, headers=headers)
        assert answer.status_code == 200, answer.text
        self.session = answer.headers["mcp-session-id"]
        await self.notify("notifications/initialized")
        return self

    async def notify(self, method: str, **parameters: Any) -> httpx.Response:
        body, headers = self.asked(0, method, parameters)
        del body["id"]
        return await self.http.post("/mcp", json=body, headers=headers)

    async def post(self, number: Any, method: str, **parameters: Any) -> dict[str, Any]:
        """The answer to a request."""
        body, headers = self.asked(number, method, parameters)
        answer = await self.http.post("/mcp", json=body, headers=headers)
        if answer.headers["content-type"].startswith("text/event-stream"):
            return next(said for said in _sent(answer.text) if said.get("id") == number)
        return answer.json()  # type: ignore[no-any-return]

    async def call(self, number: Any, tool: str, **arguments: Any) -> dict[str, Any]:
        """The result of a tool."""
        return (await self.post(number, "tools/call", name=tool, arguments=arguments))["result"]  # type: ignore[no-any-return]


def _sent(text: str) -> list[dict[str, Any]]:
    lines = [line.removeprefix("data:").strip() for line in text.splitlines() if line.startswith("data:")]
    return [json.loads(line) for line in lines if line]
