"""How many connections there may be. One too many is refused as soon as it comes, before anything is made for it."""

from __future__ import annotations

import contextlib
import ipaddress
import resource
import socket
from collections import Counter
from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any

MOST_CONNECTIONS = 512
_FEWEST = 8
_KEPT_FILES = 64  # at least: for indexes, the history, pipes to child processes
_REFUSED_AT_ONCE = 64  # then other work has its turn
_REFUSAL = (
    b"HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nRetry-After: 5\r\nContent-Type: application/json\r\n"
    b"Content-Length: 93\r\n\r\n"
    b'{"error":{"title":"Not available","message":"there are too many connections","code":"full"}} '
)


def most_connections(wanted: int = MOST_CONNECTIONS) -> int:
    """So many connections may be open: as many as wanted, but at most half of the files that the process may open."""
    files = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    if files == resource.RLIM_INFINITY:
        return wanted
    return max(_FEWEST, min(wanted, files - max(_KEPT_FILES, files // 2)))


@lru_cache(1024)
def whose(address: str) -> str:
    """What tells the clients of other machines apart: their address, of IPv6 the network; empty for this machine.

    Programs of this machine have one address, and so have the clients of a proxy: they cannot be told apart.
    """
    try:
        found = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return ""
    found = getattr(found, "ipv4_mapped", None) or found
    if found.is_loopback:
        return ""
    return str(found) if found.version == 4 else str(ipaddress.ip_network((int(found) >> 64 << 64, 64)))


class Listener(socket.socket):
    """A listening socket that counts the connections that it has given and that are still open.

    A client of another machine may have half of them.
    """

    def __init__(self, family: int, kind: int, protocol: int, most: int) -> None:
        super().__init__(family, kind, protocol)
        self.most = most
        self.refused = 0
        self._count = 0
        self._by_client: Counter[str] = Counter()

    @property
    def open_connections(self) -> int:
        """How many there are."""
        return self._count

    def accept(self) -> tuple[socket.socket, Any]:
        """The next connection that there is room for; those before it are refused.

        Raises:
            BlockingIOError: none waits, or many were refused: it is another's turn.
        """
        for _ in range(_REFUSED_AT_ONCE):
            given, address = super().accept()
            client = whose(str(address[0])) if isinstance(address, tuple) else ""
            if self._count < self.most and not (client and self._by_client[client] >= self.most // 2):
                self._count += 1
                self._by_client[client] += 1
                return _Connection(given, partial(self._closed_one, client)), address
            self.refused += 1
            _refuse(given)
        raise BlockingIOError

    def _closed_one(self, client: str) -> None:
        self._count -= 1
        self._by_client[client] -= 1
        if not self._by_client[client]:
            del self._by_client[client]


class _Connection(socket.socket):
    """One that tells when it is closed."""

    def __init__(self, given: socket.socket, closed: Callable[[], None]) -> None:
        super().__init__(given.family, given.type, given.proto, fileno=given.detach())
        self._tell: Callable[[], None] | None = closed

    def close(self) -> None:
        super().close()
        tell, self._tell = self._tell, None
        if tell is not None:
            tell()


def _refuse(connection: socket.socket) -> None:
    with connection, contextlib.suppress(OSError):
        connection.setblocking(False)
        connection.send(_REFUSAL)
        connection.recv(1 << 16)  # what is unread would take the answer back
