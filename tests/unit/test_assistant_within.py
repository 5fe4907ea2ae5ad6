"""Questions asked in a part of a real text index: by Python, the command line, HTTP and MCP. The model is a fake."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.asgi_calls import Call
from support.fake_embedder import FakeEmbedder
from support.fake_parts import FakeBackbone, FakeSource, reply

from atomr_local.assistant.assistant import Assistant
from atomr_local.cli.main import main
from atomr_local.errors import InputError
from atomr_local.indexing import store
from atomr_local.indexing.text_index.documents import build_documents_index
from atomr_local.reasoning.revision import Revision
from atomr_local.settings.schema import load_settings
from atomr_local.sources.text import TextSource

QUESTION = "What is the hotel limit?"
PARTS = {"hr/travel.md": "140", "it/laptop.md": "900"}
PLAN = '1. What is the hotel limit? = Search("hotel limit")\n'


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    home = tmp_path_factory.mktemp("home")
    for path, amount in PARTS.items():
        file = home / "docs" / path
        file.parent.mkdir(parents=True)
        file.write_text(f"---\ntags: [{path[:2]}]\n---\nThe hotel limit is {amount} euros a night.")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ATOMR_HOME", str(home))
        build_documents_index([home / "docs"], "docs", embedder=FakeEmbedder())
        yield store.index_path("text", "docs")


@pytest.fixture
def graph() -> FakeSource:
    return FakeSource("graph")


@pytest.fixture
def assistant(directory: Path, graph: FakeSource) -> Iterator[Assistant]:
    backbone = FakeBackbone(*[reply("140 euros", evidence=[1])] * 9)
    with Assistant(load_settings(strategy="rag"), backbone) as made:  # type: ignore[arg-type]
        made.parts.sources = {"text": TextSource(directory, FakeEmbedder()), "graph": graph}
        yield made


def read(trace: Any) -> set[str]:
    return {item.locator["file"] for item in trace.evidence}


def test_a_question_is_asked_in_the_part_alone(assistant: Assistant, graph: FakeSource) -> None:
    answer = assistant.answer(QUESTION, within=["hr", "#hr"], web=True)
    assert answer.status == "answered"
    assert read(answer.trace) == {"hr/travel.md"}
    assert answer.trace.settings["in"] == ["hr", "#hr"]
    assert (answer.trace.settings["sources"], answer.trace.settings["web"]) == (["text"], False)
    assert "asked in a part of the text index: without graph and web" in answer.trace.warnings
    assert graph.queries == []


def test_without_a_part_the_trace_says_nothing_of_one(assistant: Assistant, graph: FakeSource) -> None:
    trace = assistant.answer(QUESTION).trace
    assert read(trace) == set(PARTS)
    assert "in" not in trace.settings
    assert graph.queries and not any("part of" in text for text in trace.warnings)


def test_steps_of_a_plan_keep_to_the_part(assistant: Assistant) -> None:
    trace = assistant.answer(QUESTION, strategy="atomr", within=["it"]).trace
    assert read(trace) == {"it/laptop.md"}


def test_a_part_with_nothing_in_it_is_an_error_that_names_what_is_there(assistant: Assistant) -> None:
    trace = assistant.answer(QUESTION, within=["hr/travl.md"]).trace
    assert trace.status == "failed"
    assert any("hr/travl.md" in text and "hr/travel.md" in text for text in trace.warnings)
    assert assistant.answer(QUESTION).status == "answered", "the index stays open"


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"within": ["after:soon"]}, "has no date"),
        ({"within": ["hr"], "sources": ["graph"]}, "the source text is off"),
        ({"within": ["hr"], "strategy": "closed-book"}, "uses no source"),
    ],
)
def test_what_cannot_be_asked_in_a_part_is_refused(assistant: Assistant, options: Any, told: str) -> None:
    with pytest.raises(InputError, match=told):
        assistant.ask(QUESTION, **options)


def test_a_correction_keeps_to_the_part_of_its_answer(assistant: Assistant, graph: FakeSource) -> None:
    base = assistant.answer(QUESTION, strategy="atomr", within=["it"]).trace
    revision = Revision(base, rerun=frozenset({0}))
    again = assistant.answer(QUESTION, strategy="atomr", revision=revision).trace
    assert (read(again), again.settings["in"]) == ({"it/laptop.md"}, ["it"])
    with pytest.raises(InputError, match="in the part of the index that was asked"):
        assistant.ask(QUESTION, strategy="atomr", revision=revision, within=["hr"])
    assert graph.queries == []


def test_a_lookup_is_made_in_a_part(assistant: Assistant) -> None:
    def found(*within: str) -> set[str]:
        return {item.locator["file"] for item in assistant.lookups.search_text("limit", within=within)}

    assert found() == set(PARTS)
    assert found("#it") == {"it/laptop.md"}
    with pytest.raises(InputError, match="nothing in the text index"):
        found("#zz")


def test_the_command_line_asks_in_a_part(
    assistant: Assistant, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(Assistant, "open", classmethod(lambda *_, **__: assistant))
    for within, status in (("hr", 0), ("zz", 1)):
        with pytest.raises(SystemExit) as stop:
            main(["ask", QUESTION, "-s", "rag", "--in", within, "--json"])
        assert stop.value.code == status
        trace = json.loads(capsys.readouterr().out)
        assert trace["settings"]["in"] == [within]
        assert {item["locator"]["file"] for item in trace["evidence"]} == ({"hr/travel.md"} if not status else set())


async def test_http_asks_and_searches_in_a_part(assistant: Assistant) -> None:
    pytest.importorskip("starlette", reason="the extra serve is not installed")
    from atomr_local.server.app import Server
    from atomr_local.server.options import ServeOptions

    server = Server(assistant, ServeOptions())
    trace = (await Call(server, "POST", "/api/ask", {"question": QUESTION, "in": ["hr"], "stream": False}).done()).json
    assert [item["locator"]["file"] for item in trace["evidence"]] == ["hr/travel.md"]
    assert trace["settings"]["in"] == ["hr"]
    found = await Call(server, "GET", "/api/search?q=limit&in=it&in=%23it").done()
    assert [item["title"] for item in found.json["passages"]] == ["laptop"]
    for path, body in (
        ("/api/search?q=limit&in=%23zz", None),
        ("/api/ask", {"question": QUESTION, "in": ["before:x"]}),
    ):
        refused = await Call(server, "POST" if body else "GET", path, body).done()
        assert refused.status == 400
    assert (await Call(server, "POST", "/api/ask", {"question": QUESTION, "within": ["hr"]}).done()).status == 400


async def test_mcp_asks_and_searches_in_a_part(assistant: Assistant) -> None:
    mcp = pytest.importorskip("mcp", reason="the extra mcp is not installed")
    from atomr_local.server.mcp import make_server

    async with mcp.Client(make_server(assistant)) as client:
        asked = await client.call_tool("ask", {"question": QUESTION, "within": ["hr"]})
        assert [item["title"] for item in asked.structured_content["citations"]] == ["travel"]
        found = await client.call_tool("search_text", {"query": "limit", "within": ["#it"]})
        assert [item["title"] for item in found.structured_content["passages"]] == ["laptop"]
        assert (await client.call_tool("search_text", {"query": "limit", "within": ["#zz"]})).is_error
