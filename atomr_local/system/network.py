"""HTTP to public addresses only."""

from __future__ import annotations

import base64
import contextlib
import hmac
import ipaddress
import queue
import secrets
import socket
import ssl
import threading
import time
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import KW_ONLY, dataclass
from typing import Any
from urllib.parse import urljoin, urlsplit

import httpcore
import httpx

from atomr_local.errors import AtomrError
from atomr_local.system.sanitize import sanitize_line

# HTTP to public addresses only.
#
# A host name is resolved once. If any of its addresses is not public (this machine, a private network, a cloud's
# metadata service, multicast), nothing is contacted; otherwise the connection goes to the very address that was
# checked, while the name stays in the Host header and in TLS. So a name that resolves differently a moment later (DNS
# rebinding) gains nothing. Answers are bounded: in time from the first byte sent to the last one read, in size after
# decompression, and, for pages, in type. Proxies of the environment are not used unless asked for.

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


# A local proxy that opens checked connections for an HTTP client that resolves names itself.
#
# A search engine answers only clients whose TLS handshake looks like a browser's. Such a client (primp) offers no way
# to choose the address to connect to. So it is sent through this relay, which takes only the hosts it was made for,
# resolves and checks them, connects to the very address that was checked (:class:`~.addresses.PublicBackend`), and
# bounds time and size. TLS stays between client and server: the relay sees nothing of it.
#
# HTTP proxying: RFC 9110, section 9.3.6 (CONNECT), and RFC 9112, section 3.2.2 (absolute form).

_HEAD_BYTES = 32 << 10
_BACKLOG = 8


@dataclass(eq=False)
class PublicRelay:
    """Listens on the loopback interface while it is open; use it as a context manager.

    Args:
        hosts: that may be connected to.
        seconds: that it works at most, from its opening.
        size: bytes that all servers together may send, at most.
        own: whether a host, as it is written, need not be public.
        resolve: stands in for :func:`socket.getaddrinfo` in tests.

    Attributes:
        failure: why the last connection was refused or ended; None if nothing was wrong.
    """

    hosts: Collection[str]
    _: KW_ONLY
    seconds: float
    size: int
    own: Callable[[str], bool] = lambda _host: False
    resolve: Resolver = socket.getaddrinfo

    def __post_init__(self) -> None:
        self._backend = PublicBackend(self.own, self.resolve)
        self._left = self.size
        self._lock = threading.Lock()
        self._secret = secrets.token_urlsafe(24)
        self._open: set[socket.socket] = set()
        self.failure: AtomrError | httpcore.ConnectError | httpcore.TimeoutException | None = None

    def __enter__(self) -> PublicRelay:
        self._backend.deadline = time.monotonic() + self.seconds
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=_BACKLOG)
        self.address = f"http://atomr:{self._secret}@127.0.0.1:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._accept, name="atomr-relay", daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        with self._lock:
            waiting = [self._listener, *self._open]
        for one in waiting:
            _hang_up(one)

    def _accept(self) -> None:
        with contextlib.suppress(OSError):  # closed
            while True:
                client, _ = self._listener.accept()
                with self._lock:
                    self._open.add(client)
                threading.Thread(target=self._serve, args=(client,), name="atomr-relay", daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        try:
            client.settimeout(self.seconds)
            self._connect(client)
        except (AtomrError, httpcore.ConnectError, httpcore.TimeoutException) as error:
            self.failure = error
            with contextlib.suppress(OSError):
                client.sendall(b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        except (OSError, httpcore.NetworkError):  # one of the two hung up
            pass
        finally:
            with self._lock:
                self._open.discard(client)
            _hang_up(client)

    def _connect(self, client: socket.socket) -> None:
        head, rest = _head(client)
        first, *lines = head.split("\r\n")
        method, target, version = (*first.split(" "), "", "")[:3]
        if not self._allowed(lines):
            client.sendall(b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n")
            return
        try:
            parts = urlsplit(f"//{target}" if method == "CONNECT" else target)
            host, port = parts.hostname or "", parts.port or 80
        except ValueError:
            host, port = "", 0
        if host not in self.hosts:
            raise NotPublicError(
                f"an address of {host_shown(target)} was to be opened, which was not asked for: refused"
            )
        server = self._backend.connect_tcp(host, port, self.seconds)
        try:
            if method == "CONNECT":
                client.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
            else:
                path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
                kept = [line for line in lines if not line.casefold().startswith("proxy-")]
                server.write("\r\n".join([f"{method} {path} {version}", *kept, "", ""]).encode("latin-1"))
            if rest:
                server.write(rest)
            threading.Thread(target=_send, args=(client, server), name="atomr-relay", daemon=True).start()
            self._receive(client, server)
        finally:
            server.close()

    def _allowed(self, lines: list[str]) -> bool:
        """Whether the request carries this relay's secret: other programs on this machine have no business here."""
        wanted = "Basic " + base64.b64encode(f"atomr:{self._secret}".encode()).decode()
        given = [line.partition(":")[2].strip() for line in lines if line.casefold().startswith("proxy-authorization:")]
        return len(given) == 1 and hmac.compare_digest(given[0], wanted)

    def _receive(self, client: socket.socket, server: httpcore.NetworkStream) -> None:
        while piece := server.read(_PIECE):
            with self._lock:
                self._left -= len(piece)
                over = self._left < 0
            if over:
                raise TooMuchError(f"the answer is longer than {self.size} bytes")
            client.sendall(piece)


def _hang_up(one: socket.socket) -> None:
    """Close a socket that another thread may wait for: closing alone would wake neither it nor the peer."""
    with contextlib.suppress(OSError):
        one.shutdown(socket.SHUT_RDWR)
    one.close()


def _head(client: socket.socket) -> tuple[str, bytes]:
    """The head of a request, without the empty line, and what came after it."""
    came = b""
    while b"\r\n\r\n" not in came:
        piece = client.recv(_PIECE)
        if not piece or len(came) > _HEAD_BYTES:
            raise ConnectionError
        came += piece
    head, _, rest = came.partition(b"\r\n\r\n")
    return head.decode("latin-1"), rest


def _send(client: socket.socket, server: httpcore.NetworkStream) -> None:
    with contextlib.suppress(OSError, httpcore.NetworkError, httpcore.TimeoutException):
        while piece := client.recv(_PIECE):
            server.write(piece)


# Requests pages of named public hosts like a browser.
#
# The client is primp, whose TLS handshake and headers are a browser's; DuckDuckGo answers other clients with status 202
# and no results. All its connections go through a :class:`~atomr_local.system.network.PublicRelay`.

_REDIRECTS = frozenset({301, 302, 303, 307, 308})
_MAX_REDIRECTS = 3


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
        own, resolve: see :class:`~atomr_local.system.network.PublicRelay`.
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
