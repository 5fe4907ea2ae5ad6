"""Pages of named hosts: what is contacted, and what of an answer is taken."""

from __future__ import annotations

import base64
import gzip
import socket
import threading
from collections.abc import Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

import httpcore
import pytest
from support.fake_resolver import Resolver

from atomr_local.system import network as addresses
from atomr_local.system.network import NotPublicError, PublicClient, PublicRelay, TooMuchError


def test_the_connection_goes_to_the_address_that_was_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    """DNS rebinding: the second answer would be this machine, and is never asked for."""
    resolver = Resolver(["8.8.8.8"], ["127.0.0.1"])
    went: list[str] = []

    def connect(self: Any, host: str, *_: Any, **__: Any) -> Any:
        went.append(host)
        raise httpcore.ConnectError("no network here")

    monkeypatch.setattr(httpcore.SyncBackend, "connect_tcp", connect)
    client = PublicClient(["rebind.example"], seconds=30, size=100, types=["text/html"], resolve=resolver)
    with pytest.raises(ConnectionError, match="no network here"):
        client.page("GET", "https://rebind.example/")
    assert (resolver.asked, went) == (["rebind.example"], ["8.8.8.8"])


class Handler(BaseHTTPRequestHandler):
    server: Any

    def do_GET(self) -> None:
        self.server.asked.append(self.path)
        with suppress(OSError):
            getattr(self, self.path.strip("/").partition("?")[0])()

    def answer(self, body: bytes, kind: str = "text/html", **headers: str) -> None:
        self.send_response(200)
        for name, value in {"Content-Type": kind, **headers}.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)

    def page(self) -> None:
        self.answer("<p>Grüße</p>".encode("latin-1"), "text/html; charset=iso-8859-1")

    def host(self) -> None:
        self.answer(self.headers["Host"].encode())

    def packed(self) -> None:
        self.answer(gzip.compress(b"small"), Content_Encoding="gzip")

    def bomb(self) -> None:
        self.answer(gzip.compress(b"0" * 50_000_000), Content_Encoding="gzip")

    def cut(self) -> None:
        self.answer(gzip.compress(b"small" * 99)[:20], Content_Encoding="gzip")

    def strange(self) -> None:
        self.answer(b"x", Content_Encoding="br")

    def endless(self) -> None:
        self.answer(b"")
        while True:
            self.wfile.write(b"0" * 10_000)

    def program(self) -> None:
        self.answer(b"MZ", "application/octet-stream")

    def drip(self) -> None:
        self.answer(b"")
        while not self.server.stopped.wait(0.05):
            self.wfile.write(b".")

    def slow_head(self) -> None:
        self.wfile.write(b"HTTP/1.1 200 OK\r\n")
        while not self.server.stopped.wait(0.05):
            self.wfile.write(b"X: y\r\n")

    def leads(self) -> None:
        self.send_response(302)
        self.send_header("Location", self.path.partition("?")[2])
        self.end_headers()

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def server() -> Iterator[ThreadingHTTPServer]:
    made: Any = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    made.daemon_threads = True
    made.asked, made.stopped = [], threading.Event()
    threading.Thread(target=made.serve_forever, args=(0.01,), daemon=True).start()
    yield made
    made.stopped.set()
    made.shutdown()
    made.server_close()


def client(resolver: Resolver | None = None, **bounds: Any) -> PublicClient:
    """One that takes 127.0.0.1 for a server of the user's own."""
    given = {"seconds": 30.0, "size": 1_000_000, "types": ["text/html"], "own": lambda host: host == "127.0.0.1"}
    hosts = ["127.0.0.1", "named.example"]
    return PublicClient(hosts, **{**given, **bounds}, **({"resolve": resolver} if resolver else {}))


def get(server: ThreadingHTTPServer, path: str, **bounds: Any) -> str:
    return client(**bounds).page("GET", f"http://127.0.0.1:{server.server_port}/{path}").text


def test_an_honest_page(server: ThreadingHTTPServer) -> None:
    assert get(server, "page") == "<p>Grüße</p>"
    assert get(server, "packed") == "small"


@pytest.mark.parametrize(
    ("path", "told"),
    [
        ("bomb", "longer than"), ("endless", "longer than"), ("program", "application/octet-stream"),
    ],
)  # fmt: skip
def test_answers_that_are_refused(server: ThreadingHTTPServer, path: str, told: str) -> None:
    with pytest.raises(TooMuchError, match=told):
        get(server, path)


def test_a_compressed_answer_that_is_cut_off(server: ThreadingHTTPServer) -> None:
    with pytest.raises(ConnectionError):
        get(server, "cut")


@pytest.mark.parametrize("path", ["drip", "slow_head"])
def test_an_answer_that_keeps_alive_by_drops_ends_with_its_time(server: ThreadingHTTPServer, path: str) -> None:
    with pytest.raises((TooMuchError, TimeoutError)):
        get(server, path, seconds=0.5)


@pytest.mark.parametrize(
    "target",
    [
        "http://localhost:{port}/page", "http://[::1]:{port}/page", "http://0.0.0.0:{port}/page", "http://127.1:{port}/",
        "http://2130706433:{port}/page", "http://169.254.169.254/latest/", "http://10.0.0.1/", "file:///etc/passwd",
        "ftp://127.0.0.1/", "http://user@127.0.0.1:{port}/page", "//[::ffff:127.0.0.1]:{port}/page", "http://[",
    ],
)  # fmt: skip
def test_redirects_to_other_addresses_are_refused(server: ThreadingHTTPServer, target: str) -> None:
    with pytest.raises(NotPublicError):
        get(server, "leads?" + target.format(port=server.server_port))
    assert len(server.asked) == 1  # type: ignore[attr-defined]


def test_a_redirect_to_a_named_host_is_resolved_and_checked_too(server: ThreadingHTTPServer) -> None:
    resolver = Resolver(["127.0.0.1"])
    target = f"http://named.example:{server.server_port}/page"
    with pytest.raises(NotPublicError, match=r"named\.example leads to 127"):
        client(resolver).page("GET", f"http://127.0.0.1:{server.server_port}/leads?{target}")
    assert resolver.asked == ["named.example"]


def test_endless_redirects(server: ThreadingHTTPServer) -> None:
    with pytest.raises(NotPublicError, match="redirects more than"):
        get(server, "leads?/leads?/leads?/leads?/leads?/page")


def test_the_name_stays_in_the_host_header(server: ThreadingHTTPServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(addresses, "is_public", lambda _address: True)
    page = client(Resolver(["127.0.0.1"])).page("GET", f"http://named.example:{server.server_port}/host")
    assert page.text == f"named.example:{server.server_port}"


def test_the_environments_proxies_are_not_used(server: ThreadingHTTPServer, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    assert get(server, "packed") == "small"


# -- the relay itself


def through(relay: PublicRelay, request: str, *, secret: str | None = None) -> bytes:
    """What the relay answers to a request written by hand; `secret` replaces the relay's own."""
    parts = urlsplit(relay.address)
    given = base64.b64encode(f"{parts.username}:{secret or parts.password}".encode()).decode()
    with socket.create_connection(("127.0.0.1", parts.port or 0), timeout=30) as asking:
        asking.sendall(request.replace("SECRET", given).encode())
        came = b""
        with suppress(ConnectionResetError):
            while piece := asking.recv(65536):
                came += piece
    return came


def relay_to(*hosts: str, size: int = 1_000_000) -> PublicRelay:
    return PublicRelay(hosts, seconds=30, size=size, own=lambda host: host == "127.0.0.1")


def test_a_tunnel_reaches_the_host_that_was_asked_for(server: ThreadingHTTPServer) -> None:
    request = (
        f"CONNECT 127.0.0.1:{server.server_port} HTTP/1.1\r\nProxy-Authorization: Basic SECRET\r\n\r\n"
        "GET /page HTTP/1.0\r\n\r\n"
    )
    with relay_to("127.0.0.1") as relay:
        came = through(relay, request)
    assert came.startswith(b"HTTP/1.1 200 Connection established\r\n\r\n")
    assert "Grüße".encode("latin-1") in came
    assert relay.failure is None


def test_a_program_that_does_not_know_the_secret_gets_nothing(server: ThreadingHTTPServer) -> None:
    request = f"CONNECT 127.0.0.1:{server.server_port} HTTP/1.1\r\nProxy-Authorization: Basic SECRET\r\n\r\n"
    with relay_to("127.0.0.1") as relay:
        assert b" 407 " in through(relay, request, secret="guessed")
        assert b" 407 " in through(relay, request.replace("Proxy-Authorization: Basic SECRET\r\n", ""))
    assert server.asked == []  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "target", ["elsewhere.example:443", "localhost:80", "127.0.0.1.:80", "[::1]:80", "127.0.0.1:x", ""]
)
def test_the_relay_connects_to_its_own_hosts_alone(target: str) -> None:
    with relay_to("127.0.0.1") as relay:
        came = through(relay, f"CONNECT {target} HTTP/1.1\r\nProxy-Authorization: Basic SECRET\r\n\r\n")
        assert b" 502 " in came
        assert isinstance(relay.failure, NotPublicError)


def test_a_tunnel_ends_with_its_bytes(server: ThreadingHTTPServer) -> None:
    request = (
        f"CONNECT 127.0.0.1:{server.server_port} HTTP/1.1\r\nProxy-Authorization: Basic SECRET\r\n\r\n"
        "GET /endless HTTP/1.0\r\n\r\n"
    )
    with relay_to("127.0.0.1", size=100_000) as relay:
        assert len(through(relay, request)) < 300_000
        assert isinstance(relay.failure, TooMuchError)


def test_a_request_without_an_end_and_a_closed_relay() -> None:
    with relay_to("127.0.0.1") as relay:
        assert through(relay, "x" * 200_000) == b""
        port = urlsplit(relay.address).port or 0
    with pytest.raises(OSError):
        socket.create_connection(("127.0.0.1", port), timeout=5).close()
