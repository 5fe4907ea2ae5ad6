"""Imports of libraries that would touch the network when they are imported."""

from __future__ import annotations

import contextlib
import socket


def import_without_sockets() -> None:
    """Import urllib3, which lancedb and sentence-transformers pull in, without its probe: a socket bound to [::1]."""
    had = socket.has_ipv6
    socket.has_ipv6 = False
    try:
        with contextlib.suppress(ImportError):
            import urllib3  # noqa: F401
    finally:
        socket.has_ipv6 = had
