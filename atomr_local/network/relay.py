"""A local proxy that opens checked connections for an HTTP client that resolves names itself.

A search engine answers only clients whose TLS handshake looks like a browser's. Such a client (primp) offers no way to
choose the address to connect to. So it is sent through this relay, which takes only the hosts it was made for, resolves
and checks them, connects to the very address that was checked (:class:`~.addresses.PublicBackend`), and
bounds time and size. TLS stays between client and server: the relay sees nothing of it.

HTTP proxying: RFC 9110, section 9.3.6 (CONNECT), and RFC 9112, section 3.2.2 (absolute form).
"""

from __future__ import annotations

import base64
import contextlib
import hmac
import secrets
import socket
import threading
import time
from collections.abc import Callable, Collection
from dataclasses import KW_ONLY, dataclass
from urllib.parse import urlsplit

import httpcore

from atomr_local.errors import AtomrError
from atomr_local.network.addresses import NotPublicError, PublicBackend, Resolver, TooMuchError, host_shown

_HEAD_BYTES = 32 << 10
_PIECE = 1 << 16
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
