"""Who may ask: the Host and Origin of a request, its token, and the headers that every answer has.

A page of another site must not reach the server through the user's browser. It could by a name of its own that leads
here (DNS rebinding: the Host header tells), or by sending requests whose answers it cannot read (the Origin and
Sec-Fetch-Site headers tell, and a body has to be declared as JSON, which such a page may not do unasked).
"""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import re
import socket
from collections.abc import Iterable

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from atomr_local.credentials import is_loopback
from atomr_local.http_server.options import ServeOptions
from atomr_local.http_server.replies import refusal
from atomr_local.serving.refused import Refused

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
