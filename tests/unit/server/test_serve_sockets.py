"""The server behind a real socket: clients of the Model Context Protocol, lost connections and slow ones."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket

import httpx
import pytest
from mcp import Client
from support.fake_parts import FakeBackbone, reply
from support.served_parts import Endless
from unit.server.conftest import Serve, served

from atomr_local.errors import InputError
from atomr_local.server import limits as protocol
from atomr_local.server.app import listening_socket

SUN = {"question": "What shines?", "strategy": "closed-book"}


@pytest.mark.slow
async def test_a_client_of_the_model_context_protocol_asks_and_looks_up(serve: Serve) -> None:
    async with served(serve(FakeBackbone(reply("the sun")))) as port, Client(f"http://127.0.0.1:{port}/mcp") as client:
        assert "ask" in {tool.name for tool in (await client.list_tools()).tools}
        told: list[str] = []

        async def progress(_done: float, _total: float | None, message: str | None) -> None:
            told.append(message or "")

        done = await client.call_tool("ask", SUN, progress_callback=progress)
        found = done.structured_content
        assert found is not None
        assert found["values"] == ["the sun"]
        assert "the sun" in told
        [kept] = (await client.read_resource(found["trace"])).contents
        assert json.loads(kept.text)["answers"] == ["the sun"]  # type: ignore[union-attr]
        passages = (await client.call_tool("search_text", {"query": "lake"})).structured_content
        assert passages is not None and passages["passages"][0]["title"] == "Como"


@pytest.mark.slow
async def test_a_lost_connection_stops_the_model(serve: Serve) -> None:
    backbone = Endless()
    application = serve(backbone)
    async with served(application) as port, httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}") as client:
        async with client.stream("POST", "/api/ask", json=SUN) as answer:
            assert answer.status_code == 200
            assert await asyncio.to_thread(backbone.begun.wait, 10)
        assert await asyncio.to_thread(backbone.stopped.wait, 10)
        async with asyncio.timeout(10):
            while application.questions.desk.inside:
                await asyncio.sleep(0.01)
        assert (await client.get("/health")).json() == {"status": "ok"}


@pytest.mark.slow
async def test_a_slow_header_and_what_is_no_http_end_the_connection(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(protocol, "HEADER_SECONDS", 0.2)
    async with served(serve(FakeBackbone())) as port:
        for sent in (
            b"",
            b"GET /health HTTP/1.1\r\nHost: 127",
            b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\r\n\r\n",
            b"A" * 200_000,
        ):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(sent)
            answer = b""
            with contextlib.suppress(ConnectionResetError):  # it closes with what it has not read
                answer = await asyncio.wait_for(reader.read(), 10)
            assert answer == b"" or answer.startswith(b"HTTP/1.1 400")
            writer.close()
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        for _ in range(2):  # one that is kept alive may be silent for longer
            writer.write(b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
            assert (await asyncio.wait_for(reader.readuntil(b'"ok"}'), 10)).startswith(b"HTTP/1.1 200")
            await asyncio.sleep(0.3)
        writer.close()


def test_an_address_that_cannot_be_used_is_told() -> None:
    with listening_socket("127.0.0.1", 0) as taken, pytest.raises(InputError, match="is in use") as told:
        listening_socket("127.0.0.1", taken.getsockname()[1])
    assert "--port 0" in told.value.hint
    for host in ("nowhere.invalid", "x" * 300, "203.0.113.7", "a\x00b"):
        with pytest.raises(InputError):
            listening_socket(host, 0)
    assert socket.getdefaulttimeout() is None
