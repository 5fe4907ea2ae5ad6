"""What a client can draw out or pile up has an end: connections, bodies, answers that nobody reads. Over real sockets."""

from __future__ import annotations

import asyncio
import contextlib
import resource
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
from support.fake_parts import FakeBackbone
from support.served_process import served_process
from unit.server.conftest import Serve, served

from atomr_local.server import limits as protocol
from atomr_local.server.limits import Listener, most_connections, whose
from atomr_local.system.credentials import Secret

SUN = {"question": "What shines?", "strategy": "closed-book", "stream": False}
TOKEN = "correct-horse-battery-staple"
_MIB = 1 << 20


@contextmanager
def connected(port: int, count: int) -> Iterator[list[socket.socket]]:
    """So many connections."""
    opened: list[socket.socket] = []
    try:
        for _ in range(count):
            opened.append(socket.create_connection(("127.0.0.1", port), timeout=30))
        yield opened
    finally:
        for connection in opened:
            connection.close()


@contextmanager
def files_allowed(wanted: int) -> Iterator[None]:
    """This process may open so many files; the test is skipped where it may not."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < wanted:
        pytest.skip(f"this process may open {hard} files only")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, wanted), hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def _is_closed(connection: socket.socket) -> bool:
    """Whether the other side has closed it; reads what has come before."""
    connection.setblocking(False)
    try:
        while connection.recv(1 << 16):
            pass
    except BlockingIOError:
        return False
    except OSError:
        return True
    return True


def _closed(connections: list[socket.socket], wanted: int) -> bool:
    """Whether the other side closes so many of them within some seconds."""
    end = time.monotonic() + 10
    while sum(map(_is_closed, connections)) < wanted and time.monotonic() < end:
        time.sleep(0.05)
    return sum(map(_is_closed, connections)) >= wanted


def test_connections_above_the_limit_are_refused_and_questions_work(tmp_path: Path) -> None:
    with served_process(tmp_path, files=256) as server, httpx.Client(base_url=server.address, timeout=30) as client:
        assert client.post("/api/ask", json=SUN).status_code == 200
        with connected(server.port, 400) as others:
            assert _closed(others, 400 - 128)
            assert server.open_files < 200
            assert client.post("/api/ask", json=SUN).json()["answers"] == ["the sun"]
            assert client.get("/api/search?q=lake").status_code == 200
            assert client.get("/api/traces").status_code == 200
            with socket.create_connection(("127.0.0.1", server.port), timeout=30) as late:
                late.settimeout(30)
                assert late.recv(4096).startswith(b"HTTP/1.1 503")
        for _ in range(50):  # there is room again once they have gone
            if httpx.get(f"{server.address}/health").status_code == 200:
                break
            time.sleep(0.1)
        assert client.get("/health").status_code == 200
    assert not any("Too many open files" in line or "Traceback" in line for line in server.log)


@pytest.mark.slow
def test_thousands_of_connections_cost_little(tmp_path: Path) -> None:
    with (
        files_allowed(6000),
        served_process(tmp_path, files=4096) as server,
        httpx.Client(base_url=server.address, timeout=30) as client,
    ):
        assert client.post("/api/ask", json=SUN).status_code == 200
        memory = server.memory
        with contextlib.ExitStack() as opened:
            others: list[socket.socket] = []
            for _ in range(20):
                others += opened.enter_context(connected(server.port, 250))
                assert client.get("/health").status_code == 200  # and its connection is kept alive
            assert server.open_files < 700
            assert server.memory - memory < 60
            begun = time.monotonic()
            assert client.post("/api/ask", json=SUN).json()["answers"] == ["the sun"]
            assert time.monotonic() - begun < 10
            assert _closed(others, 5000 - 512)


@pytest.mark.slow
def test_bodies_that_never_end_are_bounded_together(tmp_path: Path) -> None:
    head = (
        f"POST /api/ask HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: {_MIB}\r\n\r\n"
    )
    sent = head.encode() + b" " * (_MIB - 10)
    with (
        files_allowed(2048),
        served_process(tmp_path, files=2048) as server,
        httpx.Client(base_url=server.address, timeout=30) as client,
    ):
        assert client.post("/api/ask", json=SUN).status_code == 200
        memory = server.memory
        with connected(server.port, 400) as others:
            for connection in others:
                connection.settimeout(0.3)
                with contextlib.suppress(OSError):  # refused in the middle of it
                    connection.sendall(sent)
            time.sleep(0.5)
            assert server.memory - memory < 150
            assert client.post("/api/ask", json=SUN).json()["answers"] == ["the sun"]
            held = [connection for connection in others if not _is_closed(connection)]
            assert 20 <= len(held) <= 256


async def test_many_slow_bodies_are_refused_and_their_connections_closed(serve: Serve) -> None:
    """Each sends a byte now and then, which would keep it open for ever."""
    application = serve(FakeBackbone(), body_seconds=0.5, most_requests=20)
    head = (
        b"POST /api/ask HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n"
    )
    async with served(application) as port:

        async def slow() -> bytes:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(head)

            async def trickle() -> None:
                with contextlib.suppress(OSError):
                    while True:
                        writer.write(b"x")
                        await writer.drain()
                        await asyncio.sleep(0.1)

            trickling = asyncio.create_task(trickle())
            try:
                return await asyncio.wait_for(reader.read(), 15)
            finally:
                trickling.cancel()
                writer.close()

        answers = await asyncio.gather(*(slow() for _ in range(60)))
    statuses = sorted(answer.split(b" ", 2)[1] for answer in answers)
    assert statuses == [b"408"] * 20 + [b"503"] * 40
    assert all(b"connection: close" in answer.lower() for answer in answers)


@pytest.mark.parametrize(
    ("head", "status"),
    [
        (b"Host: evil.example\r\nContent-Length: 100000", b"421"),
        (b"Host: 127.0.0.1\r\nContent-Length: 100000", b"401"),
        (b"Host: 127.0.0.1\r\nTransfer-Encoding: chunked", b"401"),
        (b"Host: 127.0.0.1\r\nAuthorization: Bearer " + TOKEN.encode() + b"\r\nContent-Length: 99999999", b"413"),
        (b"Host: 127.0.0.1\r\nAuthorization: Bearer " + TOKEN.encode() + b"\r\nContent-Length: 100000", b"408"),
    ],
)
async def test_a_refused_request_whose_body_goes_on_is_closed(
    serve: Serve, monkeypatch: pytest.MonkeyPatch, head: bytes, status: bytes
) -> None:
    monkeypatch.setattr(protocol, "LINGER_SECONDS", 0.5)
    application = serve(FakeBackbone(), token=Secret(TOKEN), body_seconds=0.3)
    async with served(application) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"POST /api/ask HTTP/1.1\r\nContent-Type: application/json\r\n" + head + b"\r\n\r\n")
        answer = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), 10)
        assert answer.startswith(b"HTTP/1.1 " + status) and b"connection: close" in answer.lower()
        begun = time.monotonic()
        with pytest.raises(OSError):
            while time.monotonic() - begun < 10:
                writer.write(b"x")
                await writer.drain()
                await asyncio.sleep(0.1)
        writer.close()


async def test_a_client_that_reads_nothing_is_closed(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(protocol, "FLUSH_SECONDS", 0.3)
    application = serve(FakeBackbone(), token=Secret(TOKEN), send_seconds=0.5)
    requests = (
        b"GET /page/app.js HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
        b"GET /api/indexes HTTP/1.1\r\nHost: evil.example\r\n\r\n",  # not even to its refusal
    )
    async with served(application) as port, httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}") as client:
        opened = []
        for request in requests:
            connection = socket.socket()
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            connection.setblocking(False)
            with contextlib.suppress(BlockingIOError):
                connection.connect(("127.0.0.1", port))
            opened.append((connection, request * 3000))
        end = time.monotonic() + 15
        gone: set[int] = set()
        while len(gone) < len(opened) and time.monotonic() < end:
            for number, (connection, sent) in enumerate(opened):
                try:
                    connection.send(sent)
                except BlockingIOError:
                    pass
                except OSError:
                    gone.add(number)
            await asyncio.sleep(0.05)
        assert gone == {0, 1}
        assert (await client.get("/health")).status_code == 200
        for connection, _ in opened:
            connection.close()


async def test_a_refusal_is_read_whole_although_the_body_was_not(serve: Serve) -> None:
    """A connection that is closed with unread data takes its answer back; so it lingers."""
    async with served(serve(FakeBackbone(), body_bytes=1000)) as port, httpx.AsyncClient() as client:
        for _ in range(5):
            answer = await client.post(
                f"http://127.0.0.1:{port}/api/ask",
                content=b" " * 3_000_000,
                headers={"content-type": "application/json"},
            )
            assert answer.status_code == 413 and answer.json()["error"]["title"]


def test_the_number_of_connections_follows_from_the_files(monkeypatch: pytest.MonkeyPatch) -> None:
    for files, most in ((64, 8), (128, 64), (256, 128), (1024, 512), (1 << 20, 512), (resource.RLIM_INFINITY, 512)):
        monkeypatch.setattr(resource, "getrlimit", lambda _kind, files=files: (files, files))
        assert most_connections() == most


def test_clients_of_other_machines_are_told_apart() -> None:
    assert whose("127.0.0.1") == whose("127.9.9.9") == whose("::1") == whose("::ffff:127.0.0.1") == whose("") == ""
    assert whose("192.168.1.7") == whose("::ffff:192.168.1.7") == "192.168.1.7"
    assert whose("2001:db8::1") == whose("2001:db8::ffff:1") != whose("2001:db8:0:1::1")
    assert whose("fe80::1%eth0")


def test_one_machine_may_have_half_of_the_connections(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("atomr_local.server.limits.whose", lambda address: address)
    with Listener(socket.AF_INET, socket.SOCK_STREAM, 0, 8) as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        listener.setblocking(False)
        port = listener.getsockname()[1]
        given = []
        with contextlib.ExitStack() as stack:
            for source in [("127.0.0.1", 0)] * 6 + [("127.0.0.2", 0)] * 3:
                stack.enter_context(socket.create_connection(("127.0.0.1", port), source_address=source))
            with contextlib.suppress(BlockingIOError):
                while True:
                    given.append(listener.accept())
            assert [address[0] for _, address in given] == ["127.0.0.1"] * 4 + ["127.0.0.2"] * 3
            assert (listener.open_connections, listener.refused) == (7, 2)
            for connection, _ in given:
                connection.close()
                connection.close()
            assert listener.open_connections == 0
