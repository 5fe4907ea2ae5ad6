"""The tools and resources of the MCP server through the SDK's own client, in one process, on fakes and a small graph."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from support.fake_parts import FakeBackbone, reply
from support.served_parts import Endless, PagesSource

pytest.importorskip("mcp", reason="the extra mcp is not installed")
from mcp import Client, MCPError

from atomr_local.assistant.asked import Answer
from atomr_local.assistant.assistant import Assistant
from atomr_local.errors import InputError
from atomr_local.indexing.graph_index.index import build_graph_index
from atomr_local.indexing.store import index_path
from atomr_local.reasoning.trace.schema import Trace
from atomr_local.server.mcp import Answers, check_handing_on, make_server
from atomr_local.server.serving import LookupDesk
from atomr_local.settings.schema import load_settings
from atomr_local.sources.graph import GraphSource
from atomr_local.sources.protocol import Request, Retrieval
from atomr_local.system.cancellation import Cancellation

FACTS = [
    {"s": "Mary Shelley", "p": "mother", "o": "Mary Wollstonecraft", "s_qid": "Q47152"},
    {"s": "Mary Shelley", "p": "place of birth", "o": "London", "s_qid": "Q47152"},
]

SUN = {"question": "What shines?", "strategy": "closed-book"}


class Held(PagesSource):
    """Searches until it is let go on; `most`: so many at once."""

    def __init__(self) -> None:
        super().__init__()
        self.go_on = threading.Event()
        self._lock = threading.Lock()
        self._inside = self.most = 0

    def retrieve(self, request: Request, cancellation: Cancellation) -> Retrieval:
        with self._lock:
            self._inside += 1
            self.most = max(self.most, self._inside)
        self.go_on.wait(20)
        with self._lock:
            self._inside -= 1
        return super().retrieve(request, cancellation)


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
        assert found["tree"][0]["question"] == found["understood_as"] == "What shines?"
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


async def test_a_relation_gives_as_many_values_as_are_wanted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ATOMR_HOME", str(tmp_path))
    facts = tmp_path / "facts.jsonl"
    facts.write_text(
        "".join(json.dumps({"s": "Club", "p": "member", "o": f"Person {number}"}) + "\n" for number in range(120))
    )
    build_graph_index([facts], "club")
    source = GraphSource.open(index_path("graph", "club"))
    async with client_of(FakeBackbone(), graph=source) as client:
        found = await call(client, "relate", entity="Club", relation="member")
        assert (len(found["values"]), found["notes"]) == (100, ["100 of 120 values"])
        found = await call(client, "relate", entity="Club", relation="member", limit=5)
        assert (len(found["values"]), found["notes"]) == (5, ["5 of 120 values"])
        found = await call(client, "relate", entity="Club", relation="member", limit=120)
        assert (len(found["values"]), found["notes"]) == (120, [])
        assert await refused(client, "relate", entity="Club", relation="member", limit=0)
    source.close()


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


@pytest.mark.usefixtures("graph")
async def test_a_graph_that_the_settings_leave_out_is_not_queried() -> None:
    settings = load_settings(sources=("text",), graph_index="mine", privacy={"indexes": "mine"})
    check_handing_on(Assistant(settings, FakeBackbone()))  # type: ignore[arg-type]
    assistant = Assistant(settings, FakeBackbone())  # type: ignore[arg-type]
    async with assistant, Client(make_server(assistant)) as client:
        told = await refused(client, "query_graph", sparql="SELECT ?s ?p ?o WHERE { ?s ?p ?o }")
        assert "do not use the source graph" in told
        assert "mine" not in told
        assert "do not use the source graph" in await refused(client, "find_entity", name="Mary Shelley")
        with pytest.raises(MCPError, match="do not use the source graph"):
            await client.read_resource("atomr://entity/Q47152")


async def test_a_private_index_that_is_built_later_is_refused_too(graph: GraphSource, tmp_path: Path) -> None:
    """Without a name in the settings, the only index that is built is used; which one that is may change."""
    graph.close()
    settings = load_settings(sources=("graph",), privacy={"indexes": "diary"})
    assistant = Assistant(settings, FakeBackbone(reply("x")))  # type: ignore[arg-type]
    check_handing_on(assistant)
    async with assistant, Client(make_server(assistant)) as client:
        indexes = tmp_path / "indexes" / "graph"
        (indexes / "mine").rename(indexes / "diary")
        for name, arguments in (
            ("query_graph", {"sparql": "SELECT ?s WHERE { ?s ?p ?o }"}),
            ("find_entity", {"name": "Mary Shelley"}),
            ("ask", {"question": "Who is Mary?", "strategy": "closed-book"}),
        ):
            assert "private: diary" in await refused(client, name, **arguments)


async def test_look_ups_and_questions_have_a_queue_with_an_end() -> None:
    backbone = Endless()
    assistant = Assistant(load_settings(llm={"parallel": 1}), backbone)  # type: ignore[arg-type]
    source = Held()
    assistant.parts.sources = {"text": source}
    desk = LookupDesk(places=2, queue=3, limit=20)
    async with assistant, Client(make_server(assistant, lookups=desk)) as client:
        calls = [asyncio.create_task(client.call_tool("search_text", {"query": "lake"})) for _ in range(40)]
        done, running = await asyncio.wait(calls, timeout=1)
        assert (len(running), source.most) == (5, 2)
        assert all("waiting already: 3" in str(task.result().content) for task in done)
        asked = [asyncio.create_task(client.call_tool("ask", SUN)) for _ in range(40)]
        full = next(iter(asyncio.as_completed(asked)))
        assert "questions are waiting already: 32" in str((await full).content)
        source.go_on.set()
        await asyncio.wait(running)
        assert await asyncio.to_thread(backbone.begun.wait, 30)
        for task in asked:
            task.cancel()
        assert await asyncio.to_thread(backbone.stopped.wait, 10)


async def test_cancelling_a_look_up_throws_its_switch(graph: GraphSource) -> None:
    """An endless query of the graph ends with its call, and the next one has the place."""
    async with client_of(FakeBackbone(), graph=graph) as client:
        endless = " ".join(f"?a{i} ?b{i} ?c{i} ." for i in range(12))
        task = asyncio.create_task(
            client.call_tool("query_graph", {"sparql": f"SELECT (COUNT(*) AS ?n) WHERE {{ {endless} }}"})
        )
        await asyncio.sleep(0.5)
        begun = time.monotonic()
        task.cancel()
        assert (await call(client, "query_graph", sparql="ASK { ?s ?p ?o }"))["rows"] == [["yes"]]
        assert time.monotonic() - begun < 8  # its time limit is ten seconds


@pytest.mark.parametrize(
    ("uri", "title"),
    [
        ("100%2525", "100%25"),
        ("100%25", "100%"),
        ("C%2B%2B", "C++"),
        ("AC%2FDC", "AC/DC"),
        ("%E6%9D%B1%E4%BA%AC", "東京"),
    ],
)
async def test_a_page_is_named_by_its_title_decoded_once(uri: str, title: str) -> None:
    source = PagesSource()
    asked: list[str] = []
    source.page = asked.append  # type: ignore[method-assign,assignment,return-value]
    async with client_of(FakeBackbone(), text=source) as client:
        with pytest.raises(MCPError):
            await client.read_resource(f"atomr://page/{uri}")
    assert asked == [title]


def test_no_session_pushes_out_the_answers_of_another() -> None:
    answers = Answers()

    def answer(name: str) -> Answer:
        return Answer(Trace("Who?", "rag", {}, id=name))

    answers.add("quiet", answer("kept"))
    for number in range(60):
        answers.add("loud", answer(f"loud{number}"))
    assert answers.get("loud", "loud9") is None and answers.get("loud", "loud10") is not None
    assert answers.get("loud", "kept") is None
    for session in range(160):  # more than there is room for beside the loud one's
        answers.add(f"s{session}", answer("one"))
    assert answers.get("quiet", "kept") is not None
    assert all(answers.get(f"s{session}", "one") is not None for session in range(160))
    assert answers.get("loud", "loud20") is None and answers.get("loud", "loud59") is not None
