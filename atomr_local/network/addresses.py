"""HTTP to public addresses only.

A host name is resolved once. If any of its addresses is not public (this machine, a private network, a cloud's metadata
service, multicast), nothing is contacted; otherwise the connection goes to the very address that was checked, while
the name stays in the Host header and in TLS. So a name that resolves differently a moment later (DNS rebinding) gains
nothing. Answers are bounded: in time from the first byte sent to the last one read, in size after decompression, and,
for pages, in type. Proxies of the environment are not used unless asked for.
"""

from __future__ import annotations

import ipaddress
import queue
import socket
import ssl
import threading
import time
import zlib
from collections.abc import Callable, Iterable, Iterator
from typing import Any
from urllib.parse import urlsplit

import httpcore
import httpx

from atomr_local.errors import AtomrError
from atomr_local.sanitize import sanitize_line

_AZURE_METADATA = ipaddress.ip_address("168.63.129.16")  # the one metadata service that has a public address
_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")
_PRIVATE = [ipaddress.ip_network(block) for block in ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7")]
_METADATA_V6 = ipaddress.ip_address("fd00:ec2::254")
_ADDRESSES_TRIED = 4
_PIECE = 1 << 16
_SHOWN = 200

Resolver = Callable[..., list[tuple[Any, ...]]]


class NotPublicError(AtomrError):
    """An address that may not be contacted."""

    title = "Address refused"


class TooMuchError(AtomrError):
    """An answer over its bounds: too long, too slow, or of a kind that was not asked for."""

    title = "Answer refused"


def is_public(address: str) -> bool:
    """Whether a numeric IP address is one of the public internet; what is embedded in an IPv6 address counts too."""
    try:
        parsed = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return False
    if isinstance(parsed, ipaddress.IPv6Address):
        embedded = parsed.ipv4_mapped or parsed.sixtofour or (parsed.teredo[1] if parsed.teredo else None)
        if embedded is None and parsed in _NAT64:
            embedded = ipaddress.IPv4Address(int(parsed) & 0xFFFFFFFF)
        if embedded is not None:
            return is_public(str(embedded))
        if parsed.is_site_local or int(parsed) < 1 << 32:  # ::a.b.c.d, the old compatible form
            return False
    return parsed.is_global and not parsed.is_multicast and not parsed.is_reserved and parsed != _AZURE_METADATA


def names_private(host: str | None) -> bool:
    """Whether a host is written as an address that is not public, or as this machine's own name."""
    name = (host or "").casefold().rstrip(".").strip("[]")
    if name == "localhost" or name.endswith(".localhost"):
        return True
    try:
        ipaddress.ip_address(name.partition("%")[0])
    except ValueError:
        return False
    return not is_public(name)


def names_local_server(host: str | None) -> bool:
    """Whether a host is written as this machine or as an address of a private network, where people run servers.

    Link-local addresses, among them the metadata services of clouds, are none of these.
    """
    name = (host or "").casefold().rstrip(".").strip("[]")
    if name == "localhost" or name.endswith(".localhost"):
        return True
    try:
        address = ipaddress.ip_address(name)
    except ValueError:
        return False
    if address == _METADATA_V6:
        return False
    return address.is_loopback or any(address in network for network in _PRIVATE if network.version == address.version)


def public_addresses(host: str, port: int, seconds: float, resolve: Resolver = socket.getaddrinfo) -> list[str]:
    """The addresses of a host, all of them public; asked for once, at most `seconds` long.

    Raises:
        NotPublicError: one of them is not public.
        httpcore.ConnectError: there are none.
        httpcore.ConnectTimeout: the answer takes too long.
    """
    answered: queue.SimpleQueue[list[tuple[Any, ...]] | OSError] = queue.SimpleQueue()

    def ask() -> None:
        try:
            answered.put(resolve(host, port, type=socket.SOCK_STREAM))
        except (OSError, UnicodeError) as error:
            answered.put(OSError(str(error)))

    threading.Thread(target=ask, name="atomr-resolve", daemon=True).start()
    try:
        found = answered.get(timeout=max(seconds, 0.001))
    except queue.Empty:
        raise httpcore.ConnectTimeout(f"the name {host} was not resolved in time") from None
    if isinstance(found, OSError):
        raise httpcore.ConnectError(str(found))
    addresses = list(dict.fromkeys(str(entry[4][0]) for entry in found))
    refused = [address for address in addresses if not is_public(address)]
    if refused:
        raise NotPublicError(
            f"{sanitize_line(host)[:_SHOWN]} leads to {refused[0]}, which is not a public address",
            hint="Only public addresses are contacted. A server of your own is named with --base-url.",
        )
    if not addresses:
        raise httpcore.ConnectError(f"the name {host} has no address")
    return addresses


class _TimedStream(httpcore.NetworkStream):
    """A connection that ends at a point in time, however few bytes keep it alive."""

    def __init__(self, stream: httpcore.NetworkStream, left: Callable[[], float | None]) -> None:
        self._stream = stream
        self._left = left

    def _timeout(self, given: float | None, late: type[Exception]) -> float | None:
        left = self._left()
        if left is None:
            return given
        if left <= 0:
            raise late("the answer takes too long as a whole")
        return left if given is None else min(given, left)

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return self._stream.read(max_bytes, self._timeout(timeout, httpcore.ReadTimeout))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._stream.write(buffer, self._timeout(timeout, httpcore.WriteTimeout))

    def close(self) -> None:
        self._stream.close()

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.NetworkStream:
        within = self._timeout(timeout, httpcore.ConnectTimeout)
        return _TimedStream(self._stream.start_tls(ssl_context, server_hostname, within), self._left)

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)


class PublicBackend(httpcore.NetworkBackend):
    """Opens connections to checked addresses.

    Attributes:
        deadline: of the request that is under way, by :func:`time.monotonic`; None: none.
    """

    def __init__(self, own: Callable[[str], bool], resolve: Resolver = socket.getaddrinfo) -> None:
        self.deadline: float | None = None
        self._own = own
        self._resolve = resolve
        self._sockets = httpcore.SyncBackend()

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.NetworkStream:
        within = 60.0 if timeout is None else timeout
        left = self._left()
        within = within if left is None else min(within, max(left, 0.001))
        addresses = [host] if self._own(host) else public_addresses(host, port, within, self._resolve)
        failure: Exception | None = None
        for address in addresses[:_ADDRESSES_TRIED]:
            try:
                stream = self._sockets.connect_tcp(address, port, within, local_address, socket_options)
            except (httpcore.ConnectError, httpcore.ConnectTimeout) as error:
                failure = error
                continue
            return _TimedStream(stream, self._left)
        raise failure or httpcore.ConnectError(f"no connection to {host}")

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds)

    def _left(self) -> float | None:
        return None if self.deadline is None else self.deadline - time.monotonic()


class PublicTransport(httpx.HTTPTransport):
    """httpx's transport over :class:`PublicBackend`, one connection at a time.

    Args:
        own: whether a host, as it is written, is one that the user named and that need not be public.
    """

    def __init__(self, verify: ssl.SSLContext, own: Callable[[str], bool]) -> None:
        super().__init__(verify=verify, trust_env=False)
        self.network = PublicBackend(own)
        self._pool.close()
        self._pool = httpcore.ConnectionPool(ssl_context=verify, max_connections=1, network_backend=self.network)


def bounded_body(response: httpx.Response, size: int, deadline: float | None = None) -> Iterator[bytes]:
    """The body of an answer, decompressed piece by piece.

    Args:
        size: bytes at most, both as they come and decompressed.
        deadline: by :func:`time.monotonic`.

    Raises:
        TooMuchError: it is longer, takes longer, or is coded in a way that was not asked for.
        httpx.TransportError, httpx.DecodingError: the connection broke, or the bytes are damaged.
    """
    coding = response.headers.get("content-encoding", "identity").strip().casefold()
    if coding not in ("", "identity", "gzip", "x-gzip"):
        raise TooMuchError(f"the answer is coded as {sanitize_line(coding)[:40]}, which was not asked for")
    unpack = zlib.decompressobj(wbits=31) if coding.endswith("gzip") else None
    came = given = 0
    for raw in response.iter_raw():
        came += len(raw)
        if deadline is not None and time.monotonic() > deadline:
            raise TooMuchError("the answer takes too long as a whole")
        rest = raw
        while rest:
            try:
                piece = rest[:_PIECE] if unpack is None else unpack.decompress(rest, _PIECE)
            except zlib.error:
                raise httpx.DecodingError("the answer cannot be decompressed") from None
            rest = rest[_PIECE:] if unpack is None else unpack.unconsumed_tail
            given += len(piece)
            if max(came, given) > size:
                raise TooMuchError(f"the answer is longer than {size} bytes")
            if piece:
                yield piece
    if unpack is not None and not unpack.eof:
        raise httpx.DecodingError("the compressed answer is cut off")


def host_shown(url: str) -> str:
    """The host of an address that may be anything, for a message."""
    try:
        host = urlsplit(url if "//" in url else f"//{url}").hostname
    except ValueError:
        host = None
    return sanitize_line(host or "an invalid address")[:_SHOWN]
