"""Requests pages of named public hosts like a browser.

The client is primp, whose TLS handshake and headers are a browser's; DuckDuckGo answers other clients with status 202
and no results. All its connections go through a :class:`~atomr_local.network.relay.PublicRelay`.
"""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Collection
from dataclasses import KW_ONLY, dataclass
from typing import Any
from urllib.parse import urljoin, urlsplit

import httpcore

from atomr_local.network.addresses import NotPublicError, Resolver, TooMuchError, host_shown
from atomr_local.network.relay import PublicRelay
from atomr_local.sanitize import sanitize_line

_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_MAX_REDIRECTS = 3
_PIECE = 1 << 16


@dataclass(frozen=True, slots=True)
class WebPage:
    """An answer: its status and its text."""

    status: int
    text: str


@dataclass(frozen=True, repr=False)  # the proxy may hold a password
class PublicClient:
    """Gets pages of named hosts, one after the other.

    Args:
        hosts: that may be contacted; redirects elsewhere are refused.
        seconds: that one page may take in all, redirects included.
        size: bytes of a page at most, as they come and decompressed.
        types: media types that are taken.
        proxy: a proxy of the user's to go through. It, not this program, resolves names then. None: none, whatever
            the environment says.
        own, resolve: see :class:`~atomr_local.network.relay.PublicRelay`.
    """

    hosts: Collection[str]
    _: KW_ONLY
    seconds: float
    size: int
    types: Collection[str]
    proxy: str | None = None
    own: Callable[[str], bool] = lambda _host: False
    resolve: Resolver = socket.getaddrinfo

    def page(self, method: str, url: str, data: dict[str, str] | None = None) -> WebPage:
        """Ask for a page.

        Raises:
            NotPublicError: the address, or one that it redirects to, may not be contacted.
            TooMuchError: the answer is over its bounds.
            TimeoutError: it took too long.
            ConnectionError: no connection, or it broke.
        """
        if self.proxy:
            return self._page(method, url, data, self.proxy, None)
        with PublicRelay(self.hosts, seconds=self.seconds, size=self.size, own=self.own, resolve=self.resolve) as relay:
            return self._page(method, url, data, relay.address, relay)

    def _page(
        self, method: str, url: str, data: dict[str, str] | None, proxy: str, relay: PublicRelay | None
    ) -> WebPage:
        import primp

        deadline = time.monotonic() + self.seconds
        encrypted = False
        try:
            client = primp.Client(
                impersonate="random",
                impersonate_os="random",
                follow_redirects=False,
                timeout=self.seconds,
                proxy=proxy,
            )
            for _ in range(_MAX_REDIRECTS + 1):
                encrypted = self._check(url, encrypted)
                left = max(0.001, deadline - time.monotonic())
                with client.request(method, url, data=data, timeout=left, stream=True) as response:
                    _raise_failure(relay)  # the answer is the relay's own then
                    location = response.headers.get("location", "")
                    if response.status_code not in _REDIRECTS or not location:
                        page = self._read(response, deadline)
                        _raise_failure(relay)  # the relay cut the answer short then
                        return page
                    url = _joined(url, location)
                    if response.status_code in (301, 302, 303):
                        method, data = "GET", None
        except primp.PrimpError as error:
            raise _failure(error, relay) from error
        raise NotPublicError(f"{host_shown(url)} redirects more than {_MAX_REDIRECTS} times")

    def _check(self, url: str, encrypted: bool) -> bool:
        """Whether the address is encrypted.

        Raises:
            NotPublicError: it may not be contacted.
        """
        try:
            parts = urlsplit(url)
            usable = parts.scheme in ("http", "https") and "@" not in parts.netloc and parts.port != 0
        except ValueError:
            usable = False
        if not usable or parts.hostname not in self.hosts or not url.isascii():
            raise NotPublicError(f"an address of {host_shown(url)} was to be opened, which was not asked for: refused")
        if encrypted and parts.scheme != "https":
            raise NotPublicError(f"{host_shown(url)} leads to an address that is not encrypted: refused")
        return parts.scheme == "https"

    def _read(self, response: Any, deadline: float) -> WebPage:
        kind = response.headers.get("content-type", "").partition(";")[0].strip().casefold()
        if response.status_code == 200 and kind not in self.types:
            raise TooMuchError(f"the answer is of the type {sanitize_line(kind)[:60]!r}, which was not asked for")
        body = bytearray()
        for piece in response.iter_bytes(_PIECE):
            body += piece
            if len(body) > self.size:
                raise TooMuchError(f"the answer is longer than {self.size} bytes")
            if time.monotonic() > deadline:
                raise TooMuchError("the answer takes too long as a whole")
        try:
            text = body.decode(response.encoding or "utf-8", "replace")
        except LookupError:
            text = body.decode("utf-8", "replace")
        return WebPage(response.status_code, text)


def _raise_failure(relay: PublicRelay | None) -> None:
    """Raise what the relay met, if it met anything."""
    if relay is not None and relay.failure is not None:
        raise _failure(relay.failure, relay)


def _failure(error: Exception, relay: PublicRelay | None) -> Exception:
    """The error for a failure of primp: what the relay met, if it met anything."""
    import primp

    failure = relay.failure if relay is not None else None
    if isinstance(failure, NotPublicError | TooMuchError):
        return failure
    if isinstance(failure, httpcore.TimeoutException) or isinstance(error, primp.TimeoutError):
        return TimeoutError("no answer in time")
    return ConnectionError(str(failure) if failure is not None else type(error).__name__)


def _joined(url: str, location: str) -> str:
    try:
        return urljoin(url, location)
    except ValueError:
        return ""
