"""The plugin in the real llm, on fakes: models, options, conversation, errors and tools."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.fake_parts import FakeBackbone, FakeSource, passages, reply
from support.served_parts import PagesSource

pytest.importorskip("llm", reason="llm is not installed")
import llm
import llm_atomr
from llm.plugins import load_plugins, pm

from atomr_local import GraphRows
from atomr_local.assistant.assistant import Assistant
from atomr_local.settings.schema import load_settings
from atomr_local.strategies.names import OURS

QUESTION = "Who painted Guernica?"
HOSTILE = "Ann painted Guernica.\x1b]0;owned\x07"


@pytest.fixture(autouse=True)
def registered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("ATOMR_HOME", str(tmp_path))
    monkeypatch.setenv("LLM_USER_PATH", str(tmp_path / "llm"))
    load_plugins()
    if not pm.has_plugin("atomr"):
        pm.register(llm_atomr, name="atomr")
    yield
    llm_atomr._kept.close()


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[tuple[dict[str, Any], FakeBackbone]]:
    """The settings and the model of each assistant that the plugin opens; its source knows who painted Guernica."""
    made: list[tuple[dict[str, Any], FakeBackbone]] = []

    def open_(**overrides: Any) -> Assistant:
        backbone = FakeBackbone(*[reply("Ann", evidence=[1])] * 4)
        assistant = Assistant(load_settings(**overrides), backbone)  # type: ignore[arg-type]
        assistant.parts.sources = {"text": FakeSource("text", {QUESTION: passages(("Ann", HOSTILE))})}
        made.append((overrides, backbone))
        return assistant

    monkeypatch.setattr(llm_atomr.Assistant, "open", staticmethod(open_))
    return made


def test_every_strategy_is_a_model() -> None:
    names = {model.model_id for model in llm.get_models()}
    assert {"atomr", *(f"atomr-{name}" for name in OURS if name != "atomr")} <= names


def test_an_answer_comes_with_its_evidence_and_its_json(opened: list[Any]) -> None:
    response = llm.get_model("atomr-rag").prompt(QUESTION, sources="text")
    text = response.text()
    assert "Ann" in text.splitlines()[0]
    assert text.splitlines()[-1].startswith("[e1] text: Ann: Ann painted Guernica.")
    assert "\x1b" not in text
    found = response.json()
    assert (found["status"], found["values"]) == ("answered", ["Ann"])
    assert [item["id"] for item in found["citations"]] == ["e1"]
    assert "\x1b" not in json.dumps(found, ensure_ascii=False)
    assert response.usage().output is not None
    assert opened[0][0] == {"sources": ("text",)}


def test_steps_are_reasoning_and_the_answer_is_text(opened: list[Any]) -> None:
    response = llm.get_model("atomr-rag").prompt(QUESTION, sources="text", evidence=False)
    events = list(response.stream_events())
    assert [event.chunk for event in events if event.type == "reasoning"] == ["step 0: Ann\n"]
    assert "".join(event.chunk for event in events if event.type == "text") == response.text()
    assert "Evidence" not in response.text()


def test_one_assistant_is_kept_until_the_settings_change(opened: list[Any]) -> None:
    model = llm.get_model("atomr-rag")
    for sources in ("text", "text", "text,graph"):
        model.prompt(QUESTION, sources=sources).text()
    assert [overrides["sources"] for overrides, _ in opened] == [("text",), ("text", "graph")]


def test_a_conversation_hands_earlier_turns_on(opened: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    taken: list[list[str]] = []
    whole = llm_atomr.Conversation.of

    def of(traces: Any) -> Any:
        taken.append([trace.question for trace in traces])
        return whole(traces)

    monkeypatch.setattr(llm_atomr.Conversation, "of", staticmethod(of))
    conversation = llm.get_model("atomr-rag").conversation()
    conversation.prompt(QUESTION, sources="text").text()
    assert taken == []
    conversation.prompt("Who painted Guernica again?", sources="text").text()
    assert taken == [[QUESTION]]


def test_no_answer_says_so(opened: list[Any]) -> None:
    response = llm.get_model("atomr-rag").prompt("Who sank it?", sources="text")
    assert response.text().startswith("Not found")
    assert response.json()["status"] == "unknown"


@pytest.mark.parametrize(("question", "sources", "said"), [(QUESTION, "moon", "moon"), ("", "text", "question")])
def test_what_cannot_be_used_is_an_error(opened: list[Any], question: str, sources: str, said: str) -> None:
    with pytest.raises(llm.ModelError, match=said):
        llm.get_model("atomr-rag").prompt(question, sources=sources).text()


TOOLS = ("ask", "search_text", "read_page", "find_entity", "relate", "query_graph")


def call(tool: str, **arguments: Any) -> dict[str, Any]:
    return json.loads(llm.get_tools()[tool].implementation(**arguments))


def test_the_tools_look_things_up(opened: list[Any]) -> None:
    assert set(TOOLS) <= set(llm.get_tools())
    assert all(llm.get_tools()[name].description for name in TOOLS)
    found = call("search_text", query=QUESTION, limit=1000)
    assert [item["title"] for item in found["passages"]] == ["Ann"]
    assert "\x1b" not in found["passages"][0]["text"]


def test_a_tool_asks(opened: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ATOMR_SOURCES", '["text"]')
    monkeypatch.setenv("ATOMR_STRATEGY", "rag")
    found = call("ask", question=QUESTION)
    assert (found["status"], found["values"]) == ("answered", ["Ann"])
    assert [item["id"] for item in found["citations"]] == ["e1"]
    assert found["tree"][0]["question"] == QUESTION
    assert "trace" not in found  # there is nothing that could give it
    assert "\x1b" not in json.dumps(found, ensure_ascii=False)


def test_a_tool_reads_a_page_within_bounds(opened: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    call("search_text", query=QUESTION)
    source = PagesSource("Como is \x1b[2J deep. " * 4000)
    llm_atomr._kept._assistant.parts.sources["text"] = source  # type: ignore[union-attr]
    found = call("read_page", title="Como")
    assert found["title"] == "Como"
    assert len(found["text"]) == 40_001
    assert "\x1b" not in found["text"]
    assert call("read_page", title="Lario") == {"title": "", "text": "", "similar_titles": ["Como"]}


def test_a_tool_queries_the_graph_within_bounds(opened: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, float, int]] = []

    def query_graph(_self: Assistant, sparql: str, *, timeout: float, limit: int) -> GraphRows:
        asked.append((sparql, timeout, limit))
        return GraphRows(("name",), [("Ann\x1b[2J",)], truncated=True, seconds=0.1)

    monkeypatch.setattr(Assistant, "query_graph", query_graph)
    found = call("query_graph", sparql="SELECT ?name {}", limit=10_000)
    assert asked == [("SELECT ?name {}", 10.0, 500)]
    assert found == {"columns": ["name"], "rows": [["Ann"]], "truncated": True}
    with pytest.raises(llm_atomr.InputError, match="more than 20000"):
        call("query_graph", sparql="x" * 20_001)
    llm_atomr._kept.close()
    monkeypatch.setenv("ATOMR_SOURCES", '["text"]')  # then nobody has asked whether the graph index is private
    with pytest.raises(llm_atomr.InputError, match="do not use the source graph"):
        call("query_graph", sparql="SELECT ?name {}")
    assert len(asked) == 1


@pytest.mark.parametrize("option", [None, False, True])
def test_the_web_is_off_unless_the_option_turns_it_on(
    opened: list[Any], monkeypatch: pytest.MonkeyPatch, option: bool | None
) -> None:
    """Whatever the settings say."""
    monkeypatch.setenv("ATOMR_WEB__ENABLED", "true")
    webs: list[Any] = []
    stream = Assistant.stream

    def watched(self: Assistant, question: str, **given: Any) -> Any:
        webs.append(given["web"])
        return stream(self, question, **{**given, "web": False})

    monkeypatch.setattr(Assistant, "stream", watched)
    given = {} if option is None else {"web": option}
    llm.get_model("atomr-rag").prompt(QUESTION, sources="text", **given).text()
    assert webs == [bool(option)]


def test_a_tool_never_uses_the_web(opened: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ATOMR_WEB__ENABLED", "true")
    monkeypatch.setenv("ATOMR_SOURCES", '["text"]')
    webs: list[Any] = []
    answer = Assistant.answer

    def watched(self: Assistant, question: str, **given: Any) -> Any:
        webs.append(given["web"])
        return answer(self, question, **given)

    monkeypatch.setattr(Assistant, "answer", watched)
    call("ask", question=QUESTION)
    assert webs == [False]


ARGUMENTS: dict[str, tuple[str, ...]] = dict.fromkeys(TOOLS, ("lake",)) | {"relate": ("lake", "depth")}


@pytest.mark.parametrize("tool", TOOLS)
def test_tools_keep_private_indexes_here(tool: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "indexes" / "text" / "notes").mkdir(parents=True)
    monkeypatch.setenv("ATOMR_TEXT_INDEX", "notes")
    monkeypatch.setenv("ATOMR_PRIVACY__INDEXES", "notes")
    with pytest.raises(llm_atomr.InputError, match="private: notes"):
        getattr(llm_atomr, tool)(*ARGUMENTS[tool])
