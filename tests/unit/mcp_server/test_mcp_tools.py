"""The tools and resources of the MCP server through the SDK's own client, in one process, on fakes and a small graph."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from support.fake_parts import FakeBackbone, reply
from support.served_parts import Endless, PagesSource

pytest.importorskip("mcp", reason="the extra mcp is not installed")
from mcp import Client, MCPError

from atomr_local.assistant import Assistant
from atomr_local.errors import InputError
from atomr_local.indexing.graph_index.index import build_graph_index
from atomr_local.mcp_server.server import check_handing_on, make_server
from atomr_local.settings.schema import load_settings
from atomr_local.sources.graph import GraphSource

FACTS = [
    {"s": "Mary Shelley", "p": "mother", "o": "Mary Wollstonecraft", "s_qid": "Q47152"},
    {"s": "Mary Shelley", "p": "place of birth", "o": "London", "s_qid": "Q47152"},
]


@pytest.fixture
def graph(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> GraphSource:
    monkeypatch.setenv("ATOMR_HOME", str(tmp_path))
    facts = tmp_path / "facts.jsonl"
    facts.write_text("".join(json.dumps(fact) + "\n" for fact in FACTS), encoding="utf-8")
    build_graph_index([facts], "mine")
    return GraphSource.open(tmp_path / "indexes" / "graph" / "mine")


@asynccontextmanager
async def client_of(backbone: FakeBackbone, **sources: Any) -> AsyncIterator[Client]:
    assistant = Assistant(load_settings(), backbone)  # type: ignore[arg-type]
    assistant.parts.sources = dict(sources)
    async with assistant, Client(make_server(assistant)) as client:
        yield client


async def call(client: Client, name: str, /, **arguments: Any) -> dict[str, Any]:
    found = await client.call_tool(name, arguments)
    assert not found.is_error, found.content
    assert found.structured_content is not None
    return found.structured_content


async def refused(client: Client, name: str, /, **arguments: Any) -> str:
    found = await client.call_tool(name, arguments)
    assert found.is_error
    return "".join(item.text for item in found.content if item.type == "text")


async def test_ask_gives_answer_tree_and_trace_and_tells_its_progress() -> None:
    told: list[str] = []

    async def progress(_done: float, _total: float | None, message: str | None) -> None:
        told.append(message or "")

    async with client_of(FakeBackbone(reply("the sun"))) as client:
        done = await client.call_tool(
            "ask", {"question": "What shines?", "strategy": "closed-book"}, progress_callback=progress
        )
        found = done.structured_content
        assert found is not None
        assert (found["status"], found["values"], found["basis"]) == ("answered", ["the sun"], "model")
        assert found["tree"][0]["question"] == "What shines?"
        [kept] = (await client.read_resource(found["trace"])).contents
        assert json.loads(kept.text)["answers"] == ["the sun"]  # type: ignore[union-attr]
    assert "the sun" in told


async def test_wrong_input_is_an_error_of_the_tool() -> None:
    async with client_of(FakeBackbone(), text=PagesSource()) as client:
        assert "the question is empty" in await refused(client, "ask", question=" ")
        assert "no strategy" in (await refused(client, "ask", question="Who?", strategy="magic")).casefold()
        assert await refused(client, "ask", question="x" * 2001)
        assert await refused(client, "search_text", query="lake", limit=21)
        assert "empty" in await refused(client, "read_page", title="\n")
        with pytest.raises(MCPError, match="no answer of this session"):
            await client.read_resource("atomr://trace/none")
        for place in ("atomr://trace/../../etc/passwd", "atomr://page/..%2f..%2fetc%2fpasswd", "file:///etc/passwd"):
            with pytest.raises(MCPError, match="Unknown resource"):
                await client.read_resource(place)


async def test_texts_are_found_without_the_model_and_cleaned() -> None:
    async with client_of(FakeBackbone(), text=PagesSource()) as client:
        [passage] = (await call(client, "search_text", query="lake"))["passages"]
        assert (passage["title"], passage["place"]) == ("Como", "lakes.pdf, p. 2")
        assert "\x1b" not in passage["text"]
        assert (await call(client, "read_page", title="Como"))["text"] == "Como is a lake. It is deep."
        assert (await call(client, "read_page", title="Cmo"))["similar_titles"] == ["Como"]
        [page] = (await client.read_resource("atomr://page/Como")).contents
        assert page.text == "Como is a lake. It is deep."  # type: ignore[union-attr]
        with pytest.raises(MCPError, match="no page has this title"):
            await client.read_resource("atomr://page/Nowhere")


async def test_a_long_page_is_cut() -> None:
    async with client_of(FakeBackbone(), text=PagesSource("word " * 20_000)) as client:
        assert len((await call(client, "read_page", title="Como"))["text"]) == 40_001


async def test_the_graph_is_looked_around_in_and_cannot_be_changed(graph: GraphSource) -> None:
    async with client_of(FakeBackbone(), graph=graph) as client:
        [entity] = (await call(client, "find_entity", name="Mary Shelley"))["entities"]
        assert entity["iri"].endswith("Q47152")
        related = await call(client, "relate", entity="Mary Shelley", relation="mother")
        assert [value["label"] for value in related["values"]] == ["Mary Wollstonecraft"]
        rows = await call(client, "query_graph", sparql="SELECT ?s WHERE { ?s ?p ?o }", limit=1)
        assert (len(rows["rows"]), rows["truncated"]) == (1, True)
        assert "refused" in await refused(client, "query_graph", sparql="DELETE WHERE { ?s ?p ?o }")
        assert "refused" in await refused(
            client, "query_graph", sparql="SELECT * WHERE { SERVICE <http://example.org/> { ?s ?p ?o } }"
        )
        [described] = (await client.read_resource("atomr://entity/Q47152")).contents
        properties = json.loads(described.text)["properties"]  # type: ignore[union-attr]
        assert {"mother", "place of birth"} <= {item["property"] for item in properties}
        with pytest.raises(MCPError, match="no entity with this id"):
            await client.read_resource("atomr://entity/Q1")


async def test_a_source_that_the_settings_leave_out_is_refused() -> None:
    assistant = Assistant(load_settings(sources=("graph",)), FakeBackbone())  # type: ignore[arg-type]
    async with assistant, Client(make_server(assistant)) as client:
        assert "do not use the source text" in await refused(client, "search_text", query="lake")


async def test_cancelling_a_call_stops_the_model() -> None:
    backbone = Endless()
    async with client_of(backbone) as client:
        task = asyncio.create_task(client.call_tool("ask", {"question": "What shines?", "strategy": "closed-book"}))
        assert await asyncio.to_thread(backbone.begun.wait, 10)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert await asyncio.to_thread(backbone.stopped.wait, 10)


async def test_no_question_turns_the_web_on() -> None:
    async with client_of(FakeBackbone(reply("the sun"))) as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert "web" not in tools["ask"].input_schema["properties"]
        done = await client.call_tool(
            "ask", {"question": "Turn web search on.", "strategy": "closed-book", "web": True, "sources": ["web"]}
        )
        if not done.is_error:
            found = done.structured_content
            assert found is not None
            [kept] = (await client.read_resource(found["trace"])).contents
            assert json.loads(kept.text)["settings"]["web"] is False  # type: ignore[union-attr]


def test_private_indexes_are_not_handed_on(graph: GraphSource) -> None:
    settings = load_settings(privacy={"indexes": "mine"}, graph_index="mine")
    with pytest.raises(InputError, match="private: mine"):
        check_handing_on(Assistant(settings, FakeBackbone()))  # type: ignore[arg-type]
    shared = load_settings(privacy={"indexes": "mine", "share": True}, graph_index="mine")
    check_handing_on(Assistant(shared, FakeBackbone()))  # type: ignore[arg-type]
