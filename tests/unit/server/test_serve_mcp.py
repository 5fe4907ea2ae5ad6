"""The Model Context Protocol over HTTP: lost connections in each version, what clients may not do to each other, floods."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest
from support.fake_parts import FakeBackbone, reply
from support.mcp_http import HANDSHAKES, MODERN, McpHttp
from support.served_parts import Endless, PagesSource
from unit.server.conftest import Serve, served

from atomr_local.assistant.history.store import history_file
from atomr_local.server.app import Server
from atomr_local.sources.protocol import Request, Retrieval
from atomr_local.system.cancellation import Cancellation

SUN = {"question": "What shines?", "strategy": "closed-book"}
ASK: dict[str, Any] = {"name": "ask", "arguments": SUN}
VERSIONS = (*HANDSHAKES, MODERN)


@asynccontextmanager
async def clients(application: Server, *versions: str) -> AsyncIterator[list[McpHttp]]:
    async with (
        served(application) as port,
        httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", timeout=60) as http,
    ):
        yield [await McpHttp(http, version).begin() for version in versions]


async def empty(application: Server) -> None:
    """Until no question is inside."""
    async with asyncio.timeout(20):
        while application.questions.desk.inside:
            await asyncio.sleep(0.01)


async def left(tasks: list[asyncio.Task[Any]], count: int) -> list[asyncio.Task[Any]]:
    """Those that still wait once all but so many of them are done."""
    async with asyncio.timeout(20):
        while len(waiting := [task for task in tasks if not task.done()]) > count:
            await asyncio.sleep(0.01)
    return waiting


async def lost(client: McpHttp, begun: threading.Event, tool: str, arguments: dict[str, Any]) -> None:
    """Call a tool, and drop the connection once its work has begun."""
    calling = asyncio.create_task(client.call(1, tool, **arguments))
    assert await asyncio.to_thread(begun.wait, 30)
    calling.cancel()
    with pytest.raises(asyncio.CancelledError):
        await calling


class Watched(PagesSource):
    """A search that lasts until it is cancelled."""

    def __init__(self) -> None:
        super().__init__()
        self.begun, self.stopped = threading.Event(), threading.Event()

    def retrieve(self, request: Request, cancellation: Cancellation) -> Retrieval:
        self.begun.set()
        cancellation.wait(20)
        if cancellation.cancelled:
            self.stopped.set()
        return Retrieval(())


# -- a client whose connection drops


@pytest.mark.parametrize("version", VERSIONS)
async def test_a_question_is_cancelled_when_its_connection_is_lost(serve: Serve, version: str) -> None:
    backbone = Endless()
    application = serve(backbone)
    async with clients(application, version) as [client]:
        await lost(client, backbone.begun, "ask", SUN)
        assert await asyncio.to_thread(backbone.stopped.wait, 10)
        await empty(application)
        found = await client.call(2, "search_text", query="lake")
        assert found["structuredContent"]["passages"], "the session goes on"


@pytest.mark.parametrize("version", [HANDSHAKES[-1], MODERN])
async def test_a_look_up_is_cancelled_when_its_connection_is_lost(serve: Serve, version: str) -> None:
    application = serve(FakeBackbone())
    source = Watched()
    application.questions._assistant.parts.sources = {"text": source}
    async with clients(application, version) as [client]:
        await lost(client, source.begun, "search_text", {"query": "lake"})
        assert await asyncio.to_thread(source.stopped.wait, 10)


@pytest.mark.parametrize("version", HANDSHAKES)
async def test_what_was_lost_cannot_be_fetched_later(serve: Serve, version: str) -> None:
    """No events are kept: a client that comes back with the id of the last one is told that there is nothing new."""
    async with clients(serve(FakeBackbone()), version) as [client]:
        body, headers = client.asked(1, "tools/list", {})
        answer = await client.http.post("/mcp", json=body, headers=headers)
        assert not [line for line in answer.text.splitlines() if line.startswith("id:")]


# -- clients beside each other


@pytest.mark.parametrize("version", VERSIONS)
async def test_a_client_cannot_cancel_the_request_of_another(serve: Serve, version: str) -> None:
    backbone = Endless()
    application = serve(backbone)
    async with clients(application, version, version, MODERN) as [one, *others]:
        asking = asyncio.create_task(one.post("shared id", "tools/call", **ASK))
        assert await asyncio.to_thread(backbone.begun.wait, 10)
        for other in others:
            for number in ("shared id", 1, None, ["shared id"]):
                assert (await other.notify("notifications/cancelled", requestId=number)).status_code == 202
        await asyncio.sleep(0.3)
        assert not backbone.stopped.is_set() and not asking.done()
        asking.cancel()
        assert await asyncio.to_thread(backbone.stopped.wait, 10)


@pytest.mark.parametrize("version", HANDSHAKES)
async def test_a_client_cancels_its_own_request(serve: Serve, version: str) -> None:
    backbone = Endless()
    application = serve(backbone)
    async with clients(application, version) as [client]:
        asking = asyncio.create_task(client.post(7, "tools/call", **ASK))
        assert await asyncio.to_thread(backbone.begun.wait, 10)
        await client.notify("notifications/cancelled", requestId=7)
        assert "error" in await asyncio.wait_for(asking, 10)
        assert await asyncio.to_thread(backbone.stopped.wait, 10)
        await empty(application)


async def test_a_session_does_not_see_the_traces_of_another(serve: Serve) -> None:
    old = HANDSHAKES[-1]
    async with clients(serve(FakeBackbone(reply("the sun"))), old, old, MODERN) as [one, *others]:
        uri = (await one.call(1, "ask", **SUN))["structuredContent"]["trace"]
        read = await one.post(2, "resources/read", uri=uri)
        assert json.loads(read["result"]["contents"][0]["text"])["answers"] == ["the sun"]
        for other in others:
            assert "error" in await other.post(3, "resources/read", uri=uri)
    assert not history_file().exists(), "what another program's model asks is not kept"


async def test_without_sessions_the_id_of_a_trace_is_what_opens_it(serve: Serve) -> None:
    async with clients(serve(FakeBackbone(reply("the sun"))), MODERN, MODERN) as [one, other]:
        uri = (await one.call(1, "ask", **SUN))["structuredContent"]["trace"]
        assert len(uri.removeprefix("atomr://trace/")) == 32, "which nobody can guess"
        for client in (one, other):
            assert "result" in await client.post(2, "resources/read", uri=uri)


@pytest.mark.parametrize("session", ["", "x", "0" * 32, "../../x", "é".encode().decode("latin-1")])
async def test_a_session_that_there_is_not_is_refused(serve: Serve, session: str) -> None:
    async with clients(serve(FakeBackbone()), HANDSHAKES[-1]) as [client]:
        body, headers = client.asked(1, "tools/list", {})
        answer = await client.http.post(
            "/mcp", json=body, headers=[(name, value) for name, value in headers.items() if name != "mcp-session-id"]
            + [("mcp-session-id", session.encode("latin-1"))],  # type: ignore[list-item]
        )  # fmt: skip
        assert answer.status_code in (400, 404)


# -- what is no request, and too many


@pytest.mark.parametrize(
    "body",
    [b"", b"{", b"[]", b"null", b"[" * 50_000, b'{"a":' * 50_000, b"\xff", b'{"jsonrpc":"2.0"}', b"9" * 10_000,
     b'{"jsonrpc":"2.0","id":{},"method":"ping"}', b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]',
     b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":[]}}',
     b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ask","arguments":{"question":"x"}}}'],
    ids=lambda body: repr(body)[2:40],
)  # fmt: skip
@pytest.mark.parametrize("version", ["", HANDSHAKES[-1], MODERN, "2099-01-01", "x" * 500])
async def test_what_is_no_request_is_refused_and_opens_no_session(serve: Serve, body: bytes, version: str) -> None:
    application = serve(FakeBackbone())
    async with clients(application, HANDSHAKES[-1]) as [client]:
        headers = {"content-type": "application/json", "accept": "application/json, text/event-stream"}
        answer = await client.http.post(
            "/mcp", content=body, headers=headers | ({"mcp-protocol-version": version} if version else {})
        )
        refused = answer.status_code >= 400 or "error" in answer.text
        assert refused, (answer.status_code, answer.text)
        assert "Traceback" not in answer.text and len(answer.text) < 20_000
        assert (await client.post(2, "tools/list"))["result"]["tools"]


async def test_streams_that_would_only_listen_take_no_places(serve: Serve) -> None:
    """Each could last for ever; with 256 of them nobody else would be served."""
    application = serve(FakeBackbone(), most_requests=20)
    async with clients(application, MODERN, HANDSHAKES[-1]) as [client, old]:
        wanted = {"notifications": {"toolsListChanged": True, "resourcesListChanged": True}}
        async with asyncio.timeout(30):
            told = await asyncio.gather(*(client.post(n, "subscriptions/listen", **wanted) for n in range(15)))
        assert all("error" in answer for answer in told)
        assert (await client.http.get("/health")).status_code == 200
        listening = [
            asyncio.create_task(
                client.http.get("/mcp", headers={"accept": "text/event-stream", "mcp-session-id": old.session})
            )
            for _ in range(10)
        ]
        waiting = await left(listening, 1)  # one stream of a session
        assert all(task.result().status_code == 409 for task in listening if task not in waiting)
        for task in waiting:
            task.cancel()


async def test_a_flood_of_questions_is_refused_beyond_the_queue(serve: Serve) -> None:
    backbone = Endless()
    application = serve(backbone, settings={"llm": {"parallel": 1}}, queue=5)
    async with clients(application, HANDSHAKES[-1], MODERN) as [old, new]:
        asking = [asyncio.create_task(client.call(n, "ask", **SUN)) for n in range(30) for client in (old, new)]
        await left(asking, 6)
        found = await new.call("other", "search_text", query="lake")
        assert found["structuredContent"]["passages"], "look-ups have places of their own"
        waiting = [task for task in asking if not task.done()]
        assert len(waiting) == 6
        refused = [task.result() for task in asking if task.done()]
        assert all(answer["isError"] and "waiting already" in str(answer) for answer in refused)
        for task in waiting:
            task.cancel()
        assert await asyncio.to_thread(backbone.stopped.wait, 10)
        await empty(application)


async def test_sessions_are_bounded(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("atomr_local.server.app._MOST_SESSIONS", 3)
    async with clients(serve(FakeBackbone()), *[HANDSHAKES[-1]] * 3) as made:
        late = McpHttp(made[0].http, HANDSHAKES[-1])
        with pytest.raises(AssertionError, match="Too many open sessions"):
            await late.begin()
        assert (await made[0].post(1, "tools/list"))["result"]["tools"]
        ended = await made[1].http.delete("/mcp", headers={"mcp-session-id": made[1].session})
        assert ended.status_code == 200
        await late.begin()


async def test_citations_lead_to_the_page(serve: Serve) -> None:
    backbone = FakeBackbone(reply("deep", evidence=[1]))
    application = serve(backbone, settings={"sources": ("text",)})
    source = PagesSource()
    source.found["What is lake Como?"] = source.found["lake"]
    application.questions._assistant.parts.sources = {"text": source}
    async with clients(application, MODERN) as [client]:
        asked = await client.call(1, "ask", question="What is lake Como?", strategy="rag")
        found = asked["structuredContent"]
        address = f"{client.http.base_url}".rstrip("/")
        identifier = found["trace"].removeprefix("atomr://trace/")
        assert found["page"] == f"{address}/#trace={identifier}"
        for item in found["citations"]:
            assert item["url"] == f"{address}/#trace={identifier}&evidence={item['id']}"
        assert found["citations"]
        trace = (await client.http.get(f"/api/traces/{identifier}")).json()
        assert {item["id"] for item in trace["evidence"]} >= {item["id"] for item in found["citations"]}
