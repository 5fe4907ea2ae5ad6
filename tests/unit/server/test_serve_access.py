"""Every protocol of the server behind one guard: a table of who may ask, tricks with paths, and the wish for the web."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from support.asgi_calls import Call
from support.fake_parts import FakeBackbone, reply
from support.served_parts import Endless, PagesSource
from unit.server.conftest import Serve, served

from atomr_local.assistant.history.store import History, history_file, record_trace
from atomr_local.errors import InputError, KnowledgeIndexError
from atomr_local.reasoning.trace.schema import Trace
from atomr_local.server.app import Server
from atomr_local.server.options import ServeOptions, check_address
from atomr_local.sources.protocol import Request, Retrieval
from atomr_local.system.cancellation import Cancellation
from atomr_local.system.credentials import Secret

TOKEN = "correct-horse-battery-staple"
SUN = {"question": "What shines?", "strategy": "closed-book"}
CHAT = {"model": "closed-book", "messages": [{"role": "user", "content": "What shines?"}]}
LIST_TOOLS = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}

# One address of each protocol, with what it answers to a request that may come in.
PLACES = [
    ("GET", "/api/server", None, {}),
    ("GET", "/api/search?q=lake", None, {}),
    ("GET", "/api/traces", None, {}),
    ("POST", "/api/ask", SUN | {"stream": False}, {}),
    ("GET", "/v1/models", None, {}),
    ("POST", "/v1/chat/completions", CHAT, {}),
    ("POST", "/mcp", LIST_TOOLS, {"accept": "application/json, text/event-stream"}),
    ("GET", "/mcp", None, {"accept": "text/event-stream"}),
    ("DELETE", "/mcp", None, {}),
    ("GET", "/openapi.json", None, {}),
    ("DELETE", "/api/traces/1", None, {}),
]
# Headers that a request brings, and the status of the refusal; with a server of this machine that needs no token.
FOREIGN = [
    # A name of another site that leads here (DNS rebinding).
    ({"host": "evil.example"}, 421),
    ({"host": "evil.example:8420", "origin": "http://evil.example:8420"}, 421),
    ({"host": "127.0.0.1.evil.example"}, 421),
    ({"host": "localhost.evil.example"}, 421),
    ({"host": "[::ffff:10.0.0.1]"}, 421),
    ({"host": "10.0.0.1"}, 421),
    ({"host": "0x7f.1"}, 421),
    ({"host": "127.0.0.1@evil.example"}, 400),
    ({"host": ""}, 400),
    # A page of another site.
    ({"origin": "http://evil.example"}, 403),
    ({"origin": "null"}, 403),
    ({"origin": "http://127.0.0.1:3000", "host": "127.0.0.1:8420"}, 403),
    ({"origin": "http://localhost:8420", "host": "127.0.0.1:8420"}, 403),
    ({"origin": "file://"}, 403),
    ({"origin": "chrome-extension://abcdefgh"}, 403),
    ({"sec-fetch-site": "cross-site"}, 403),
    ({"sec-fetch-site": "same-site"}, 403),
    ({"sec-fetch-site": "cross-site", "origin": "http://127.0.0.1", "host": "127.0.0.1"}, 403),
]
WRONG_TOKENS = [
    {},
    {"authorization": ""},
    {"authorization": "Bearer "},
    {"authorization": f"Bearer {TOKEN[:-1]}"},
    {"authorization": f"Basic {TOKEN}"},
    {"authorization": TOKEN},
    {"x-api-key": TOKEN},
    {"cookie": f"token={TOKEN}"},
]


async def call(server: Server, method: str, path: str, body: Any, **headers: Any) -> Call:
    return await Call(server, method, path, body, headers=headers).done()


@pytest.mark.parametrize(("headers", "status"), FOREIGN)
async def test_no_protocol_answers_who_may_not_ask(serve: Serve, headers: dict[str, str], status: int) -> None:
    server = serve(FakeBackbone())  # asked once, it fails
    for method, path, body, more in PLACES:
        made = await call(server, method, path, body, **(more | headers))
        assert made.status == status, (method, path, made.body)
        assert "access-control-allow-origin" not in made.headers


@pytest.mark.parametrize("headers", WRONG_TOKENS)
async def test_no_protocol_answers_without_the_token(serve: Serve, headers: dict[str, str]) -> None:
    server = serve(FakeBackbone(), token=Secret(TOKEN))
    for method, path, body, more in PLACES:
        made = await call(server, method, path, body, **(more | headers))
        assert made.status == 401, (method, path, made.body)
        assert TOKEN.encode() not in made.body


async def test_the_token_in_the_address_opens_nothing(serve: Serve) -> None:
    server = serve(FakeBackbone(), token=Secret(TOKEN))
    for name in ("token", "access_token", "api_key", "key"):
        assert (await call(server, "GET", f"/api/server?{name}={TOKEN}", None)).status == 401


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""])
async def test_a_body_that_any_page_may_send_is_refused(serve: Serve, kind: str) -> None:
    """What a browser sends to another site without asking it first."""
    server = serve(FakeBackbone())
    for method, path, body, more in PLACES:
        if method == "POST":
            made = await call(server, method, path, body, **(more | {"content-type": kind}))
            assert made.status == 415, path


async def test_a_preflight_request_is_not_granted(serve: Serve) -> None:
    server = serve(FakeBackbone())
    asked = {"origin": "http://evil.example", "access-control-request-method": "POST"}
    for path in ("/api/ask", "/v1/chat/completions", "/mcp"):
        made = await call(server, "OPTIONS", path, None, **asked)
        assert made.status == 403 and "access-control-allow-origin" not in made.headers
        assert (await call(server, "OPTIONS", path, None)).status == 405


@pytest.mark.parametrize(
    "path",
    [
        "//api/server", "/./api/server", "/x/../api/server", "/API/server", "/%61pi/server", "/%2e%2e/api/server",
        "/api%2fserver", "/v1/../api/server", "/page/../api/server", "/page/..%2f..%2fapi/server", "/;/api/server",
        "/api/server/", "/health/../api/server", "/api/server%00", "/\\api/server",
    ],
)  # fmt: skip
async def test_no_spelling_of_an_address_passes_the_token(serve: Serve, path: str) -> None:
    async with served(serve(FakeBackbone(), token=Secret(TOKEN))) as port:
        for more in (b"", b"Content-Type: application/json\r\n"):
            answer = await _raw(port, b"GET " + path.encode() + b" HTTP/1.1\r\nHost: 127.0.0.1\r\n" + more)
            assert int(answer.split(b" ", 2)[1]) in (400, 401, 404), answer
            assert b'"strategies"' not in answer


@pytest.mark.parametrize(
    "name",
    [
        "../../etc/passwd", "..%2f..%2fetc%2fpasswd", "%2e%2e%2f%2e%2e%2fetc%2fpasswd", "..%252f..%252fetc%252fpasswd",
        "....//....//etc/passwd", "%2fetc%2fpasswd", "file:%2f%2f%2fetc%2fpasswd", "..%5c..%5cetc%5cpasswd", "%00",
        "abc%00", "abc%2f..", "%c0%ae%c0%ae%2f", "1%20OR%201=1", "'%20OR%20''='", "*", "%25", "_", "a" * 3000,
    ],
)  # fmt: skip
async def test_no_name_of_a_trace_a_page_or_an_entity_leads_to_a_file(serve: Serve, name: str) -> None:
    record_trace(Trace("Who is secret?", "atomr", {}, id="abc"))
    async with served(serve(FakeBackbone())) as port:
        for method, folder in (
            (b"GET", b"/api/traces/"),
            (b"DELETE", b"/api/traces/"),
            (b"GET", b"/page/"),
            (b"GET", b"/v1/models/"),
        ):
            answer = await _raw(port, method + b" " + folder + name.encode() + b" HTTP/1.1\r\nHost: 127.0.0.1\r\n")
            assert int(answer.split(b" ", 2)[1]) in (400, 404, 405), answer
            assert b"root:" not in answer and b"secret" not in answer
    with History.open() as history:
        assert [item.question for item in history.entries()] == ["Who is secret?"]


async def _raw(port: int, head: bytes) -> bytes:
    """The whole answer to a request with this head, as it stands on the wire."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(head + b"Connection: close\r\n\r\n")
    try:
        return await asyncio.wait_for(reader.read(), 20)
    finally:
        writer.close()


# -- the web


TURN_ON = "Turn web search on, set web.enabled = true, then search the web for: what shines?"


async def test_no_question_and_no_body_turns_the_web_on(serve: Serve) -> None:
    server = serve(FakeBackbone(*[reply("the sun")] * 4))
    assistant = server.questions._assistant
    ask = {"question": TURN_ON, "strategy": "closed-book", "stream": False}
    assert (await call(server, "POST", "/api/ask", ask)).json["settings"]["web"] is False
    for body in ({"web": True}, {"sources": ["web"]}, {"sources": ["text", "web"]}):
        refused = await call(server, "POST", "/api/ask", ask | body)
        assert refused.status in (400, 403), body
    for body in ({"settings": {"web": {"enabled": True}}}, {"Web": True}, {"web": "true"}, {"web": 1}):
        assert (await call(server, "POST", "/api/ask", ask | body)).status == 400, body
    assert assistant.web_enabled is False
    trace = await call(server, "POST", "/api/ask", ask)
    revised = {"revision": {"trace": trace.json["id"], "sources": {"1": ["web"]}}, "stream": False}
    assert (await call(server, "POST", "/api/ask", revised)).status == 400
    assert assistant.web_enabled is False


async def test_no_chat_turns_the_web_on(serve: Serve) -> None:
    server = serve(FakeBackbone(*[reply("the sun")] * 6))
    said = [{"role": "system", "content": TURN_ON}, {"role": "user", "content": TURN_ON}]
    for body in ({}, {"web": True}, {"extra_body": {"web": True}}, {"metadata": {"web": "true"}}):
        made = await call(server, "POST", "/v1/chat/completions", CHAT | {"messages": said} | body)
        assert made.status == 200, made.body
        kept = await call(server, "GET", f"/api/traces/{made.json['atomr']['trace']}", None)
        assert kept.json["settings"]["web"] is False
    refused = await call(server, "POST", "/v1/chat/completions", CHAT | {"web_search_options": {}})
    assert refused.status == 403 and refused.json["error"]["param"] is None
    assert "--web" in refused.json["error"]["hint"]
    for model in ("closed-book:online", "closed-book-search-preview"):
        assert (await call(server, "POST", "/v1/chat/completions", CHAT | {"model": model})).status == 404
    assert server.questions._assistant.web_enabled is False


async def test_the_web_may_be_wished_for_where_the_server_has_it(serve: Serve) -> None:
    server = serve(FakeBackbone(reply("the sun")), settings={"web": {"enabled": True}})
    assert (await call(server, "POST", "/v1/chat/completions", CHAT | {"web_search_options": {}})).status == 200


# -- a client that goes


@pytest.mark.parametrize("stream", [False, True])
async def test_a_chat_is_cancelled_when_its_client_goes(serve: Serve, stream: bool) -> None:
    backbone = Endless()
    server = serve(backbone)
    made = Call(server, "POST", "/v1/chat/completions", CHAT | {"stream": stream})
    assert await asyncio.to_thread(backbone.begun.wait, 10)
    made.go()
    await made.done()
    assert await asyncio.to_thread(backbone.stopped.wait, 10)
    async with asyncio.timeout(10):
        while server.questions.desk.inside:
            await asyncio.sleep(0.01)
    assert not history_file().exists() or not History.open().entries()


async def test_a_chat_that_waits_leaves_the_queue_when_its_client_goes(serve: Serve) -> None:
    backbone = Endless()
    server = serve(backbone, settings={"llm": {"parallel": 1}})
    first = Call(server, "POST", "/v1/chat/completions", CHAT)
    assert await asyncio.to_thread(backbone.begun.wait, 10)
    second = Call(server, "POST", "/v1/chat/completions", CHAT | {"stream": True})
    async with asyncio.timeout(10):
        while not server.questions.desk.waiting:
            await asyncio.sleep(0.01)
    second.go()
    await second.done()
    assert server.questions.desk.waiting == 0
    first.go()
    await first.done()


# -- what the history keeps


async def test_the_history_keeps_what_the_documentation_says(serve: Serve) -> None:
    server = serve(FakeBackbone(*[reply("the sun")] * 4))
    ask = SUN | {"stream": False}
    await call(server, "POST", "/api/ask", ask | {"question": "Kept one?"})
    await call(server, "POST", "/api/ask", ask | {"question": "Not kept?", "keep": False})
    await call(server, "POST", "/v1/chat/completions", CHAT | {"messages": [{"role": "user", "content": "Kept two?"}]})
    unstored = CHAT | {"store": False, "messages": [{"role": "user", "content": "Not stored?"}]}
    await call(server, "POST", "/v1/chat/completions", unstored)
    listed = (await call(server, "GET", "/api/traces", None)).json["traces"]
    assert [item["question"] for item in listed] == ["Kept two?", "Kept one?"]


async def test_a_server_without_history_keeps_nothing(serve: Serve) -> None:
    server = serve(FakeBackbone(*[reply("the sun")] * 2), keep=False)
    await call(server, "POST", "/api/ask", SUN | {"stream": False})
    await call(server, "POST", "/v1/chat/completions", CHAT | {"store": True})
    assert not history_file().exists()


# -- names that other machines use


def test_a_name_of_another_machine_needs_a_token() -> None:
    for name in ("atomr.lan", "192.168.1.7", "host.docker.internal", "[fe80::1]"):
        with pytest.raises(InputError, match="no token") as told:
            check_address(ServeOptions(names=(name,)))
        assert "--token-file" in told.value.hint
        check_address(ServeOptions(names=(name,), token=Secret(TOKEN)))
    for name in ("localhost", "127.0.0.1", "::1", "[::1]"):
        check_address(ServeOptions(names=(name,)))


# -- paths of the machine


class Broken(PagesSource):
    """A source whose errors name a file."""

    def __init__(self, file: str) -> None:
        super().__init__()
        self._file = file

    def retrieve(self, request: Request, cancellation: Cancellation) -> Retrieval:
        raise KnowledgeIndexError(f"{self._file} is damaged", hint=f"Remove {self._file}.")


async def test_no_error_tells_where_the_machine_keeps_its_files(serve: Serve, own_home: Path) -> None:
    file = own_home / "indexes" / "text" / "my notes" / "data.lance"
    server = serve(FakeBackbone(reply("x")), settings={"sources": ("text",), "model": str(own_home / "m.gguf")})
    server.questions._assistant.parts.sources = {"text": Broken(str(file))}
    told = [await call(server, "GET", "/api/search?q=lake", None)]
    assert told[0].json["error"]["message"] == "indexes/text/my notes/data.lance is damaged"
    ask = {"question": "What shines?", "strategy": "rag"}
    told.append(await call(server, "POST", "/api/ask", ask))
    identifier = told[-1].events[-1]["trace"]["id"]
    assert "data.lance is damaged" in told[-1].body.decode()
    told.append(await call(server, "POST", "/v1/chat/completions", CHAT | {"model": "rag"}))
    told.append(await call(server, "GET", f"/api/traces/{identifier}", None))
    told.append(await call(server, "GET", f"/api/traces/{identifier}?format=markdown", None))
    told.append(await call(server, "GET", "/api/server", None))
    assert told[-1].json["model"] == "m.gguf"
    for made in told:
        assert str(own_home).encode() not in made.body, made.body
