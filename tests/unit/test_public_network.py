"""What `public_network` contacts, and what of an answer it takes: a server here, and a resolver that lies."""

from __future__ import annotations

import gzip
import socket
import threading
from collections.abc import Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import httpcore
import httpx
import pytest

from atomr_local import public_network
from atomr_local.public_network import (
    NotPublicError,
    PublicBackend,
    PublicClient,
    TooMuchError,
    is_public,
    names_local_server,
    names_private,
    public_addresses,
)

PRIVATE = [
    "127.0.0.1", "127.9.9.9", "0.0.0.0", "10.1.2.3", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1",
    "100.100.100.200", "224.0.0.1", "239.255.255.250", "240.0.0.1", "255.255.255.255", "192.0.2.1", "198.18.0.1",
    "168.63.129.16", "::1", "::", "fe80::1", "fe80::1%eth0", "fc00::1", "fd00:ec2::254", "fec0::1", "ff02::1",
    "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:a9fe:a9fe", "64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe", "::7f00:1",
    "2002:7f00:1::", "2002:c0a8:101::1", "2001:db8::1", "not an address", "", "1.2.3", "127.1",
]  # fmt: skip
PUBLIC = ["8.8.8.8", "151.101.1.69", "2606:4700::6810:84e5", "::ffff:8.8.8.8", "64:ff9b::808:808"]


@pytest.mark.parametrize("address", PRIVATE)
def test_what_is_not_public(address: str) -> None:
    assert not is_public(address)


@pytest.mark.parametrize("address", PUBLIC)
def test_what_is_public(address: str) -> None:
    assert is_public(address)


def test_hosts_that_are_written_as_private() -> None:
    for host in ("localhost", "LOCALHOST.", "a.localhost", "127.0.0.1", "[::1]", "::1", "10.0.0.1", "fe80::1%1"):
        assert names_private(host)
    for host in ("example.org", "8.8.8.8", "", None, "localhost.example.org"):
        assert not names_private(host)


def test_a_server_of_ones_own_is_no_metadata_service() -> None:
    for host in ("localhost", "127.0.0.1", "[::1]", "10.0.0.1", "192.168.1.5", "fd12::1"):
        assert names_local_server(host)
    for host in ("169.254.169.254", "fe80::1", "0.0.0.0", "224.0.0.1", "100.100.100.200", "fd00:ec2::254", "", None):
        assert not names_local_server(host)


class Resolver:
    """Answers in order; the last one from then on."""

    def __init__(self, *answers: list[str]) -> None:
        self.answers = list(answers)
        self.asked: list[str] = []

    def __call__(self, host: str, port: int, **_: Any) -> list[tuple[Any, ...]]:
        self.asked.append(host)
        addresses = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port)) for address in addresses]


def test_one_private_address_among_public_ones_is_enough_to_refuse() -> None:
    with pytest.raises(NotPublicError, match=r"10\.0\.0\.1"):
        public_addresses("evil.example", 443, 5, Resolver(["8.8.8.8", "10.0.0.1"]))


@pytest.mark.parametrize("host", ["2130706433", "0x7f000001", "127.1", "0177.0.0.1", "localhost", "0"])
def test_other_ways_to_write_this_machine_are_seen_through(host: str) -> None:
    with pytest.raises((NotPublicError, httpcore.ConnectError)):
        public_addresses(host, 80, 5)


def test_a_name_that_is_not_resolved_in_time() -> None:
    silent = threading.Event()
    with pytest.raises(httpcore.ConnectTimeout):
        public_addresses("slow.example", 80, 0.01, lambda *_, **__: silent.wait(60) and [])
    silent.set()


def test_the_connection_goes_to_the_address_that_was_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    """DNS rebinding: the second answer would be this machine, and is never asked for."""
    resolver = Resolver(["8.8.8.8"], ["127.0.0.1"])
    went: list[str] = []

    def connect(self: Any, host: str, *_: Any, **__: Any) -> Any:
        went.append(host)
        raise httpcore.ConnectError("no network here")

    monkeypatch.setattr(httpcore.SyncBackend, "connect_tcp", connect)
    client = PublicClient(["rebind.example"], seconds=5, size=100, types=["text/html"], resolve=resolver)
    with client, pytest.raises(httpx.ConnectError):
        client.page("GET", "https://rebind.example/")
    assert (resolver.asked, went) == (["rebind.example"], ["8.8.8.8"])
    with client, pytest.raises(RuntimeError):  # closed
        client.page("GET", "https://rebind.example/")


def test_a_second_connection_is_checked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    backend = PublicBackend(lambda _host: False, Resolver(["8.8.8.8"], ["127.0.0.1"]))
    monkeypatch.setattr(httpcore.SyncBackend, "connect_tcp", lambda *_, **__: httpcore.MockStream([]))
    backend.connect_tcp("rebind.example", 443, 5)
    with pytest.raises(NotPublicError):
        backend.connect_tcp("rebind.example", 443, 5)


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
    with client(**bounds) as asking:
        return asking.page("GET", f"http://127.0.0.1:{server.server_port}/{path}").text


def test_an_honest_page(server: ThreadingHTTPServer) -> None:
    assert get(server, "page") == "<p>Grüße</p>"
    assert get(server, "packed") == "small"


@pytest.mark.parametrize(
    ("path", "told"),
    [
        ("bomb", "longer than"), ("endless", "longer than"), ("program", "application/octet-stream"),
        ("strange", "coded as br"),
    ],
)  # fmt: skip
def test_answers_that_are_refused(server: ThreadingHTTPServer, path: str, told: str) -> None:
    with pytest.raises(TooMuchError, match=told):
        get(server, path)


def test_a_compressed_answer_that_is_cut_off(server: ThreadingHTTPServer) -> None:
    with pytest.raises(httpx.DecodingError, match="cut off"):
        get(server, "cut")


@pytest.mark.parametrize("path", ["drip", "slow_head"])
def test_an_answer_that_keeps_alive_by_drops_ends_with_its_time(server: ThreadingHTTPServer, path: str) -> None:
    with pytest.raises((TooMuchError, httpx.TimeoutException)):
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
    with client(resolver) as asking, pytest.raises(NotPublicError, match=r"named\.example leads to 127"):
        asking.page("GET", f"http://127.0.0.1:{server.server_port}/leads?{target}")
    assert resolver.asked == ["named.example"]


def test_endless_redirects(server: ThreadingHTTPServer) -> None:
    with pytest.raises(NotPublicError, match="redirects more than"):
        get(server, "leads?/leads?/leads?/leads?/leads?/page")


def test_the_name_stays_in_the_host_header(server: ThreadingHTTPServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(public_network, "is_public", lambda _address: True)
    with client(Resolver(["127.0.0.1"])) as asking:
        page = asking.page("GET", f"http://named.example:{server.server_port}/host")
    assert page.text == f"named.example:{server.server_port}"


def test_the_environments_proxies_are_not_used(server: ThreadingHTTPServer, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    assert get(server, "packed") == "small"
