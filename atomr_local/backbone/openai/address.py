"""Where an endpoint is, and what it is told of who asks: taken apart so that no secret is in the address itself.

The address that requests, errors and logs know holds neither user nor password nor query. These are put into a request
at the last moment, by the transport (:class:`CredentialsTransport`), which nothing above it sees.
"""

from __future__ import annotations

import base64
import logging
import re
import urllib.request
from dataclasses import dataclass
from typing import Any

import httpx

from atomr_local.backbone.openai.event_stream import EndpointError
from atomr_local.credentials import Secret, SecretUrl, forms, is_loopback, without_secrets

_NAME = re.compile(r"[\w.:-]+")  # a name, an IPv4 or an IPv6 address
_EXAMPLE = "Give an address such as http://127.0.0.1:8080/v1."
_TALKING = ("httpx", "httpcore.connection", "httpcore.http11", "httpcore.proxy")
_TELLING = 12  # characters from which on a secret in an answer is no chance


@dataclass(frozen=True)
class EndpointAddress:
    """An endpoint's address and credentials, both checked.

    Attributes:
        url: without user, password and query, and without a slash at the end.
        host: the host, with its port where one is given, as DNS knows it.
        loopback: whether it is this machine itself, so that nothing sent to it leaves the machine.
        authorization: the header of that name; empty for none.
        query: what is appended to every address that is asked.
    """

    url: str
    host: str
    loopback: bool
    authorization: Secret
    query: Secret
    secrets: tuple[Secret, ...]

    def hide(self, text: str) -> str:
        """`text`, which the server may have made of what it was sent, without the credentials."""
        return without_secrets(text, self._texts())

    def telling(self) -> tuple[str, ...]:
        """The credentials that are long enough to be known again wherever they stand."""
        return forms(tuple(text for text in self._texts() if len(text) >= _TELLING))

    def _texts(self) -> tuple[str, ...]:
        return tuple(secret.reveal() for secret in self.secrets)


def checked_endpoint(url: SecretUrl | str, api_key: Secret | str = "", *, unencrypted: bool = False) -> EndpointAddress:
    """Take an endpoint's settings apart.

    Args:
        url: may hold a user name and password, which are sent as HTTP Basic authentication (RFC 7617), and a query,
            which is sent with every request.
        api_key: sent as a bearer token (RFC 6750).
        unencrypted: whether credentials may be sent to another machine over http.

    Raises:
        ModelError: the address or the key cannot be used, or must not be sent there. No secret is in the message.
    """
    given = url if isinstance(url, SecretUrl) else SecretUrl(url)
    key = api_key if isinstance(api_key, Secret) else Secret(api_key)
    parsed = _parsed(given)
    if not (key.reveal().isascii() and key.reveal().isprintable()):
        raise EndpointError("endpoint.api_key has characters that no key has", hint="Copy the key again.")
    if key and parsed.userinfo:
        raise EndpointError(
            "endpoint.url holds a user name, and endpoint.api_key is set: only one of them can be sent",
            hint="Take one of them out of the settings.",
        )
    host = parsed.raw_host.decode("ascii")
    loopback = is_loopback(host)
    pair = f"{parsed.username}:{parsed.password}".encode()
    basic = base64.b64encode(pair).decode("ascii") if parsed.userinfo else ""
    query = Secret(parsed.query.decode("ascii"))
    if parsed.scheme == "http" and not loopback and not unencrypted and (key or basic or query):
        raise EndpointError(
            f"endpoint.url, {given}: the key or password would be sent unencrypted to another machine",
            hint="Use https://, or set endpoint.allow_unencrypted_credentials = true where the network is your own.",
        )
    values = [field.partition("=")[2] or field for field in query.reveal().split("&")]
    secrets = (key.reveal(), basic, parsed.username, parsed.password, query.reveal(), *values)
    plain = parsed.copy_with(userinfo=b"", query=None)
    at = f"[{host}]" if ":" in host else host
    return EndpointAddress(
        str(plain).rstrip("/"),
        f"{at}:{parsed.port}" if parsed.port else at,
        loopback,
        Secret(f"Bearer {key.reveal()}" if key else f"Basic {basic}" if basic else ""),
        query,
        tuple(Secret(text) for text in secrets if text),
    )


def _parsed(given: SecretUrl) -> httpx.URL:
    text = given.reveal().strip()
    try:
        parsed = httpx.URL(text)
        port = parsed.port
        parsed.raw_host.decode("ascii")
    except (httpx.InvalidURL, ValueError):  # their words may hold a piece of a password
        raise EndpointError(f"endpoint.url, {given}, is not an address", hint=_EXAMPLE) from None
    if parsed.scheme not in ("http", "https") or not _NAME.fullmatch(parsed.host) or port == 0 or (port or 1) > 65535:
        raise EndpointError(f"endpoint.url, {given}, is not usable", hint=_EXAMPLE)
    if "@" in f"{parsed.path}{parsed.query.decode('ascii', 'replace')}{parsed.fragment}":
        raise EndpointError(
            f"endpoint.url, {given}, has an @ behind its host",
            hint="In a user name or password, write / as %2F, ? as %3F, # as %23 and @ as %40.",
        )
    if parsed.fragment:
        raise EndpointError(f"endpoint.url, {given}, has a part behind #, which no server is sent", hint="Take it out.")
    return parsed


class CredentialsTransport(httpx.AsyncBaseTransport):
    """Adds the credentials to each request that goes to the endpoint itself, after everything else has seen it."""

    def __init__(self, address: EndpointAddress, *, use_proxy: bool = False) -> None:
        self._address = address
        self._origin = httpx.URL(address.url)
        self._inner = httpx.AsyncHTTPTransport(proxy=_proxy(self._origin, address.loopback) if use_proxy else None)
        self._filter = _HidingFilter(address)
        for name in _TALKING:
            logging.getLogger(name).addFilter(self._filter)

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send the request, with the credentials if it goes to the endpoint's own scheme, host and port."""
        url, origin = request.url, self._origin
        if (url.scheme, url.host, url.port) == (origin.scheme, origin.host, origin.port):
            headers: list[Any] = list(request.headers.raw)
            if self._address.authorization:
                headers.append((b"Authorization", self._address.authorization.reveal().encode("ascii")))
            if self._address.query:
                url = url.copy_with(query=self._address.query.reveal().encode("ascii"))
            request = httpx.Request(
                request.method, url, headers=headers, stream=request.stream, extensions=request.extensions
            )
        return await self._inner.handle_async_request(request)

    async def aclose(self) -> None:
        await self._inner.aclose()
        for name in _TALKING:
            logging.getLogger(name).removeFilter(self._filter)


class _HidingFilter(logging.Filter):
    """Takes the credentials out of what the HTTP libraries log of a server that sends them back."""

    def __init__(self, address: EndpointAddress) -> None:
        super().__init__()
        self._address = address

    def filter(self, record: logging.LogRecord) -> bool:
        told = record.getMessage()
        hidden = self._address.hide(told)
        if hidden != told:
            record.msg, record.args = hidden, None
        return True


def _proxy(url: httpx.URL, loopback: bool) -> httpx.Proxy | None:
    """The proxy that the environment names for this address; none for this machine's own servers."""
    if loopback or urllib.request.proxy_bypass(url.host):
        return None
    named = urllib.request.getproxies()
    address = named.get(url.scheme) or named.get("all")
    if not address:
        return None
    try:
        return httpx.Proxy(address if "://" in address else f"http://{address}")
    except (httpx.InvalidURL, ValueError):
        raise EndpointError(
            f"the proxy that the environment names for {url.scheme} is not usable: {SecretUrl(address)}",
            hint="Correct HTTP_PROXY, HTTPS_PROXY or ALL_PROXY, or set network.use_proxy = false.",
        ) from None
