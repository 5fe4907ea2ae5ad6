"""Look-ups, traces, indexes and the description of the API, which has to fit the routes and what they give."""

from __future__ import annotations

import asyncio
import re
import threading
from typing import Any

import jsonschema
import pytest
from support.asgi_calls import Call
from support.fake_parts import FakeBackbone, reply
from unit.server.conftest import Serve

from atomr_local.assistant.history.store import record_trace
from atomr_local.errors import AtomrError
from atomr_local.indexing.store import index_path
from atomr_local.reasoning.trace.schema import Trace
from atomr_local.server.app import Server
from atomr_local.server.openapi import openapi
from atomr_local.server.serving import LookupDesk, Refused
from atomr_local.system.cancellation import Cancellation
from atomr_local.system.credentials import Secret


async def get(server: Server, path: str) -> Call:
    return await Call(server, "GET", path).done()


def check(server: Server, data: Any, name: str) -> None:
    """Against the schema of this name in the server's description."""
    schema = {"$ref": f"#/components/schemas/{name}", "components": openapi(server.endpoints)["components"]}
    jsonschema.Draft202012Validator(schema).validate(data)


async def test_passages_and_pages_are_found_and_cleaned(serve: Serve) -> None:
    server = serve(FakeBackbone())
    found = (await get(server, "/api/search?q=lake&limit=1")).json
    check(server, found, "Found")
    [passage] = found["passages"]
    assert (passage["title"], passage["place"], "\x1b" in passage["text"]) == ("Como", "lakes.pdf, p. 2", False)
    page = (await get(server, "/api/pages?title=Como")).json
    check(server, page, "PageText")
    assert page["text"] == "Como is a lake. It is deep."
    assert (await get(server, "/api/pages?title=Cmo")).json["similar_titles"] == ["Como"]


@pytest.mark.parametrize(
    "path",
    [
        "/api/search", "/api/search?q=", "/api/search?q=%20", f"/api/search?q={'x' * 2001}", "/api/search?q=a&limit=0",
        "/api/search?q=a&limit=51", "/api/search?q=a&limit=-1", "/api/search?q=a&limit=1e3", "/api/search?q=a&limit=%D9%A3",
        "/api/pages", "/api/entities", "/api/facts?entity=x", "/api/facts?entity=x&relation=y&limit=10001", "/api/traces?limit=x", "/api/traces?before=99999999999999999999",
        "/api/entities?name=%1b%5d0%3bx%07",
    ],
)  # fmt: skip
async def test_parameters_are_checked(serve: Serve, path: str) -> None:
    server = serve(FakeBackbone(), settings={"sources": ("text",)})
    call = await get(server, path)
    assert call.status == 400
    check(server, call.json, "Error")
    assert b"\x1b" not in call.body


@pytest.mark.parametrize("name", ["0", "7", "x", "..%2f..%2fetc%2fpasswd", "9" * 40, "%00", "\u00b2", "é"])
async def test_a_trace_that_is_not_there(serve: Serve, name: str) -> None:
    record_trace(Trace("Who?", "atomr", {}, id="abc"))
    server = serve(FakeBackbone())
    assert (await get(server, f"/api/traces/{name}")).status == 404
    assert (await Call(server, "DELETE", f"/api/traces/{name}").done()).status in (400, 404)


async def test_kept_traces_are_listed_found_and_deleted(serve: Serve) -> None:
    for number in range(3):
        record_trace(Trace(f"Who is {number}?", "atomr", {}, "answered", "Nobody", id=f"id{number}"))
    server = serve(FakeBackbone())
    listed = (await get(server, "/api/traces?limit=2")).json
    check(server, listed, "Traces")
    assert [item["question"] for item in listed["traces"]] == ["Who is 2?", "Who is 1?"]
    rest = (await get(server, f"/api/traces?before={listed['traces'][-1]['number']}")).json["traces"]
    assert [item["question"] for item in rest] == ["Who is 0?"]
    trace = (await get(server, "/api/traces/id1")).json
    check(server, trace, "Trace")
    assert trace["question"] == "Who is 1?"
    assert (await Call(server, "DELETE", f"/api/traces/{rest[0]['number']}").done()).status == 204
    assert (await get(server, "/api/traces/id0")).status == 404
    assert (await Call(server, "DELETE", "/api/traces/id1").done()).status == 400


async def test_what_is_given_is_as_described(serve: Serve) -> None:
    server = serve(FakeBackbone(reply("the sun"), reply("the sun")))
    for path, name in (
        ("/health", "Health"),
        ("/api/server", "Server"),
        ("/api/indexes", "Indexes"),
        ("/v1/models", "Models"),
        ("/v1/models/rag", "Model"),
    ):
        check(server, (await get(server, path)).json, name)
    asked = {"question": "What shines?", "strategy": "closed-book", "stream": False}
    check(server, (await Call(server, "POST", "/api/ask", asked).done()).json, "Trace")
    chat = {"model": "closed-book", "messages": [{"role": "user", "content": "What shines?"}]}
    check(server, (await Call(server, "POST", "/v1/chat/completions", chat).done()).json, "Completion")
    check(server, asked, "AskBody")


async def test_the_description_has_the_routes_and_no_others(serve: Serve) -> None:
    server = serve(FakeBackbone())
    described = (await get(server, "/openapi.json")).json
    assert described["openapi"].startswith("3.1")
    served: dict[str, set[str]] = {}
    for route in server.routes:
        methods = route.methods or {"GET", "POST", "DELETE"}  # type: ignore[attr-defined]
        served.setdefault(route.path, set()).update(method.lower() for method in methods if method != "HEAD")  # type: ignore[attr-defined]
    assert {path: set(operations) for path, operations in described["paths"].items()} == served
    for path, operations in described["paths"].items():
        for operation in operations.values():
            named = {item["name"] for item in operation.get("parameters", ()) if item["in"] == "path"}
            assert named == set(re.findall(r"{(\w+)}", path))
    known = described["components"]["schemas"]
    for name in re.findall(r"#/components/schemas/(\w+)", str(described)):
        assert name in known
        jsonschema.Draft202012Validator.check_schema(known[name])
    identifiers = [operation["operationId"] for item in described["paths"].values() for operation in item.values()]
    assert len(set(identifiers)) == len(identifiers)


async def test_a_wrong_address_or_method_is_told_as_json(serve: Serve) -> None:
    server = serve(FakeBackbone())
    for method, path, status in (
        ("GET", "/nowhere", 404),
        ("GET", "/api/ask", 405),
        ("POST", "/health", 405),
        ("OPTIONS", "/api/ask", 405),
    ):
        call = await Call(server, method, path, {}).done()
        assert call.status == status
        check(server, call.json, "Error")


async def test_a_server_of_private_indexes_serves_no_mcp(serve: Serve) -> None:
    server = serve(FakeBackbone(), settings={"privacy": {"indexes": "diary"}, "text_index": "diary"})
    call = await Call(server, "POST", "/mcp", {}).done()
    assert call.status == 403
    assert "private" in call.json["error"]["message"]


async def test_other_machines_do_not_see_a_history_that_may_hold_private_texts(serve: Serve) -> None:
    record_trace(Trace("Who is in my diary?", "atomr", {"text_index": "diary"}, id="abc"))
    settings = {"privacy": {"indexes": "diary"}, "sources": ("graph",)}
    public = {"host": "0.0.0.0", "token": Secret("correct-horse-battery-staple")}
    bearer = {"authorization": "Bearer correct-horse-battery-staple"}
    server = serve(FakeBackbone(), settings=settings, **public)
    for path in ("/api/traces", "/api/traces/1", "/api/traces/abc"):
        call = await Call(server, "GET", path, headers=bearer).done()
        assert call.status == 403
        assert b"diary" not in call.body
    shared = serve(FakeBackbone(), settings=settings | {"privacy": {"indexes": "diary", "share": True}}, **public)
    assert (await Call(shared, "GET", "/api/traces/abc", headers=bearer).done()).status == 200
    assert (await get(serve(FakeBackbone(), settings=settings), "/api/traces/abc")).status == 200


async def test_look_ups_wait_their_turn_and_are_limited_in_time() -> None:
    desk, held = LookupDesk(queue=1, limit=0.3), threading.Event()

    def hold(cancellation: Cancellation) -> None:
        held.wait(10)

    running = [asyncio.create_task(desk.run(hold)) for _ in range(4)]
    await asyncio.sleep(0.05)
    waiting = asyncio.create_task(desk.run(lambda _: "in turn"))
    await asyncio.sleep(0.05)
    with pytest.raises(Refused, match="waiting already"):
        await desk.run(lambda _: None)
    for task in running:
        with pytest.raises(Refused, match="too long"):
            await task
    with pytest.raises(Refused, match="too long"):
        await waiting
    assert desk.inside == 4  # the threads still run
    held.set()
    assert await desk.run(lambda _: "free again") == "free again"
    async with asyncio.timeout(10):  # each of the other threads ends in its own time
        while desk.inside:
            await asyncio.sleep(0.01)
    assert desk.waiting == 0


async def test_an_error_of_a_look_up_is_told() -> None:
    def fail(cancellation: Cancellation) -> None:
        raise AtomrError("broken")

    desk = LookupDesk()
    with pytest.raises(AtomrError, match="broken"):
        await desk.run(fail)
    await asyncio.sleep(0)
    assert desk.inside == 0


async def test_other_machines_are_not_told_of_private_indexes(serve: Serve) -> None:
    for name in ("diary", "open"):
        (folder := index_path("text", name)).mkdir(parents=True)
        (folder / "note").write_text("x", encoding="utf-8")
    settings: dict[str, Any] = {"privacy": {"indexes": "diary"}, "sources": ("graph",)}
    public: dict[str, Any] = {"host": "0.0.0.0", "token": Secret("correct-horse-battery-staple")}
    bearer = {"authorization": "Bearer correct-horse-battery-staple"}

    async def told(server: Server) -> list[str]:
        call = await Call(server, "GET", "/api/indexes", headers=bearer).done()
        return [item["name"] for item in call.json["indexes"]]

    assert await told(serve(FakeBackbone(), settings=settings, **public)) == ["open"]
    assert await told(serve(FakeBackbone(), settings=settings)) == ["diary", "open"]
    shared = settings | {"privacy": {"indexes": "diary", "share": True}}
    assert await told(serve(FakeBackbone(), settings=shared, **public)) == ["diary", "open"]


async def test_kept_traces_are_read_at_the_desk(serve: Serve) -> None:
    server = serve(FakeBackbone(), queue=0)
    held = threading.Event()
    running = [asyncio.create_task(server.lookups.run(lambda _: held.wait(10))) for _ in range(4)]
    await asyncio.sleep(0.05)
    assert (await get(server, "/api/traces/7")).status == 429
    held.set()
    await asyncio.gather(*running)
