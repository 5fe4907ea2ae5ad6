"""A web server on this machine that serves files, and can be told to misbehave, request by request."""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import unquote

import pytest

from atomr_local.cli import downloads
from atomr_local.fetching.client import Client

Fault = Callable[["Handler", bytes], None]


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: FaultyServer

    def log_message(self, *_: Any) -> None:
        pass

    def do_GET(self) -> None:
        self.answer()

    def do_HEAD(self) -> None:
        self.answer()

    def do_POST(self) -> None:
        self.posted = self.rfile.read(int(self.headers["content-length"]))
        self.answer()

    def answer(self) -> None:
        self.close_connection = True
        path = unquote(self.path.partition("?")[0])
        self.server.requests.append((self.command, self.path, {k.lower(): v for k, v in self.headers.items()}))
        faults = self.server.faults.get(path, [])
        fault = faults.pop(0) if faults and self.command != "HEAD" else None
        if path in self.server.pages:
            body = self.server.pages[path](self)
        elif path in self.server.files:
            body = self.server.files[path]
        else:
            self.send([("content-length", "0")], b"", 404)
            return
        (fault or whole)(self, body)

    def send(self, headers: list[tuple[str, str]], body: bytes, status: int = 200) -> None:
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    @property
    def begin(self) -> int:
        match = re.fullmatch(r"bytes=(\d+)-", self.headers.get("range", ""))
        return int(match[1]) if match else 0

    @property
    def etag(self) -> str:
        return self.server.etag


class FaultyServer(ThreadingHTTPServer):
    """`files` and `pages` by path; `faults`: what is done in place of an honest answer, the next one first."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.files: dict[str, bytes] = {}
        self.pages: dict[str, Callable[[Handler], bytes]] = {}
        self.faults: dict[str, list[Fault | None]] = {}
        self.requests: list[tuple[str, str, dict[str, str]]] = []
        self.etag = '"one"'

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def handle_error(self, *_: Any) -> None:
        pass  # a client that hangs up is none


@contextmanager
def faulty_server() -> Iterator[FaultyServer]:
    server = FaultyServer()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def whole(handler: Handler, body: bytes) -> None:
    """The honest answer, with ranges."""
    begin = handler.begin
    if handler.headers.get("if-range", handler.etag) != handler.etag:
        begin = 0
    if begin >= len(body) > 0:
        handler.send([("content-range", f"bytes */{len(body)}"), ("content-length", "0")], b"", 416)
        return
    headers = [("content-length", str(len(body) - begin)), ("etag", handler.etag)]
    if begin:
        headers.append(("content-range", f"bytes {begin}-{len(body) - 1}/{len(body)}"))
    handler.send(headers, body[begin:], 206 if begin else 200)


def breaks_after(count: int) -> Fault:
    """Promises all, then hangs up after `count` bytes."""

    def fault(handler: Handler, body: bytes) -> None:
        begin = handler.begin
        headers = [("content-length", str(len(body) - begin)), ("etag", handler.etag)]
        if begin:
            headers.append(("content-range", f"bytes {begin}-{len(body) - 1}/{len(body)}"))
        handler.send(headers, body[begin : begin + count], 206 if begin else 200)

    return fault


def ignores_range(handler: Handler, body: bytes) -> None:
    handler.send([("content-length", str(len(body))), ("etag", handler.etag)], body)


def wrong_bytes(handler: Handler, body: bytes) -> None:
    whole(handler, bytes(byte ^ 1 for byte in body))


def other_file(body: bytes, etag: str, count: int | None = None) -> Fault:
    """Another file's bytes under another tag, from where they were asked for, whatever the condition."""

    def fault(handler: Handler, _: bytes) -> None:
        begin = handler.begin
        headers = [("content-length", str(len(body) - begin)), ("etag", etag)]
        if begin:
            headers.append(("content-range", f"bytes {begin}-{len(body) - 1}/{len(body)}"))
        handler.send(headers, body[begin:][:count], 206 if begin else 200)

    return fault


def wrong_place(handler: Handler, body: bytes) -> None:
    """A range, but not the one that was asked for."""
    size = len(body)
    headers = [
        ("content-range", f"bytes 1-{size - 1}/{size}"),
        ("content-length", str(size - 1)),
        ("etag", handler.etag),
    ]
    handler.send(headers, body[1:], 206)


def says_length(length: int) -> Fault:
    """All bytes, or as many as it says if those are fewer."""

    def fault(handler: Handler, body: bytes) -> None:
        handler.send([("content-length", str(length)), ("etag", handler.etag)], body[:length])

    return fault


def without_length(extra: bytes = b"", cut: int = 0) -> Fault:
    """No length is told: the body ends when the connection does."""

    def fault(handler: Handler, body: bytes) -> None:
        handler.send([("etag", handler.etag), ("connection", "close")], body[: len(body) - cut] + extra)

    return fault


def recoded(handler: Handler, body: bytes) -> None:
    handler.send([("content-length", str(len(body))), ("content-encoding", "gzip")], body)


def status(code: int, *headers: tuple[str, str]) -> Fault:
    def fault(handler: Handler, _: bytes) -> None:
        handler.send([("content-length", "0"), *headers], b"", code)

    return fault


def redirect(to: str) -> Fault:
    return status(302, ("location", to))


@pytest.fixture
def server() -> Iterator[FaultyServer]:
    with faulty_server() as found:
        yield found


@pytest.fixture
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands do not wait between tries, nor for the disk: what `fsync` guards against is a power cut."""
    monkeypatch.setattr(os, "fsync", lambda _: None)

    def impatient(**given: Any) -> Client:
        return Client(sleep=lambda _: None, timeout=60, tries=3, **given)

    monkeypatch.setattr(downloads, "Client", impatient)
