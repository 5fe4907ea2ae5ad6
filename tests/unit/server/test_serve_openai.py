"""The part of OpenAI's API that is served: answers with citations, conversations, embeddings, and errors in its form."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np
import pytest
from support.asgi_calls import Call
from support.fake_parts import FakeBackbone, reply
from support.quoting_traces import closest_trace, quotation_trace, quoting_trace
from support.served_parts import Endless
from unit.server.conftest import Serve

from atomr_local.reasoning.trace.schema import EvidenceTrace, NodeTrace, Trace
from atomr_local.server.app import Server
from atomr_local.server.openai_api import Message, asked_of, content_of
from atomr_local.server.routes import trace_summary
from atomr_local.settings.schema import load_settings
from atomr_local.strategies.registry import all_strategies

ASKED = [{"role": "user", "content": "What shines?"}]


async def chat(server: Server, **body: Any) -> Call:
    return await Call(server, "POST", "/v1/chat/completions", {"model": "closed-book", "messages": ASKED} | body).done()


def answered(question: str = "Who wrote Emma?") -> Trace:
    trace = Trace(question, "atomr", {}, "answered", "Jane \x1b[31mAusten.", ["Jane Austen"], id="t1")
    trace.nodes = [
        NodeTrace(0, None, question, "root", answers=["Jane Austen"], cited=["e2", "e1", "gone"], entities=["urn:x"])
    ]
    trace.evidence = [
        EvidenceTrace("e1", "text", "Emma", "…", 1.0, "", {"file": "a.pdf", "page": 2}),
        EvidenceTrace("e2", "web", "Austen", "…", 1.0, "", {"url": "https://example.org/a"}),
    ]
    return trace


async def test_an_answer_is_a_completion_with_its_use_of_the_model(serve: Serve) -> None:
    call = await chat(
        serve(FakeBackbone(reply("the sun"))), temperature=0.3, seed=1, stop=["x"], unknown_field={"a": 1}
    )
    assert call.status == 200, call.body
    found = call.json
    message = found["choices"][0]["message"]
    assert (message["role"], message["annotations"]) == ("assistant", [])
    assert "the sun" in message["content"]
    assert found["usage"]["prompt_tokens"] > 0
    assert found["usage"]["total_tokens"] == found["usage"]["prompt_tokens"] + found["usage"]["completion_tokens"]
    assert (found["atomr"]["status"], found["atomr"]["basis"]) == ("answered", "model")
    assert found["id"] == f"chatcmpl-{found['atomr']['trace']}"


async def test_a_stream_ends_with_done_and_tells_usage_if_asked(serve: Serve) -> None:
    server = serve(FakeBackbone(reply("the sun")))
    call = await chat(server, stream=True, stream_options={"include_usage": True})
    assert call.body.endswith(b"data: [DONE]\n\n")
    *chunks, usage = call.events
    assert usage["choices"] == [] and usage["usage"]["completion_tokens"] > 0
    deltas = [chunk["choices"][0]["delta"] for chunk in chunks]
    assert deltas[0]["role"] == "assistant"
    assert "the sun" in "".join(delta.get("content", "") for delta in deltas)
    assert any("reasoning_content" in delta for delta in deltas)
    assert [chunk["choices"][0]["finish_reason"] for chunk in chunks][-1] == "stop"
    assert len({chunk["id"] for chunk in call.events}) == 1


@pytest.mark.parametrize(
    ("body", "status", "param"),
    [
        ({"model": "gpt-5"}, 404, "model"),
        ({"model": "../x"}, 404, "model"),
        ({"model": 5}, 400, "model"),
        ({"messages": []}, 400, "messages"),
        ({"messages": [{"role": "assistant", "content": "x"}]}, 400, "messages"),
        ({"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {}}]}]}, 400, "messages"),
        ({"messages": [{"role": "user", "content": " "}]}, 400, None),
        ({"messages": [{"role": "user", "content": "x" * 2001}]}, 400, None),
        ({"messages": "hello"}, 400, "messages"),
        ({"n": 2}, 400, "n"),
        ({"tools": [{"type": "function"}]}, 400, "tools"),
        ({"logprobs": True}, 400, "logprobs"),
        ({"response_format": {"type": "json_object"}}, 400, "response_format"),
        ({"modalities": ["text", "audio"]}, 400, "modalities"),
    ],
)
async def test_what_is_not_offered_is_an_error_in_their_form(
    serve: Serve, body: dict[str, Any], status: int, param: str | None
) -> None:
    call = await chat(serve(FakeBackbone()), **body)
    assert call.status == status, call.body
    error = call.json["error"]
    assert (error["type"], error["param"]) == ("invalid_request_error", param)
    assert error["message"]


async def test_failures_are_errors_and_not_answers(serve: Serve) -> None:
    failing = FakeBackbone(RuntimeError("x"))
    assert (await chat(serve(failing))).status == 500
    streamed = await chat(serve(FakeBackbone(RuntimeError("x"))), stream=True)
    assert streamed.events[-1]["error"]["type"] == "server_error"
    assert b"[DONE]" not in streamed.body
    assert (await chat(serve(Endless(), question_seconds=0.2))).status == 504
    late = await chat(serve(Endless(), question_seconds=0.2), stream=True)
    assert late.events[-1]["error"]["code"] == "timeout"


async def test_models_are_the_strategies_and_the_embedder(serve: Serve) -> None:
    server = serve(FakeBackbone())
    found = (await Call(server, "GET", "/v1/models").done()).json["data"]
    assert [item["id"] for item in found] == [*all_strategies(), "embedder"]
    assert (await Call(server, "GET", "/v1/models/rag").done()).json["id"] == "rag"
    assert (await Call(server, "GET", "/v1/models/gpt").done()).json["error"]["code"] == "model_not_found"


def test_citations_are_marks_with_addresses() -> None:
    text, citations = content_of(answered())
    assert text == "Jane Austen. [1] [2]"
    assert [text[item.start : item.end] for item in citations] == ["[1]", "[2]"]
    first, second = (item.annotation("http://127.0.0.1/", "t1")["url_citation"] for item in citations)
    assert (first["url"], first["title"]) == ("https://example.org/a", "Austen")
    assert (second["url"], second["title"]) == ("http://127.0.0.1/#trace=t1&evidence=e1", "Emma (a.pdf, p. 2)")


def test_an_unknown_answer_says_why() -> None:
    trace = Trace("Who?", "atomr", {}, "unknown", reason="No page tells it.", advice=["Ask \x1b]0;x\x07else."])
    assert content_of(trace) == ("Not found: No page tells it.\n→ Ask else.", [])


def test_messages_become_a_conversation() -> None:
    trace = answered()
    said = [
        {"role": "system", "content": "You are a pirate."},
        {"role": "user", "content": "Who wrote  Emma?"},
        {"role": "assistant", "content": content_of(trace)[0]},
        {"role": "user", "content": [{"type": "text", "text": "Thanks."}]},
        {"role": "assistant", "content": "Any \x1b[1mtime."},
        {"role": "user", "content": "Where was she born?"},
    ]
    question, conversation = asked_of([Message(**item) for item in said], [trace], load_settings())  # type: ignore[arg-type]
    assert question == "Where was she born?"
    assert conversation is not None
    assert (conversation.id, conversation.turns[0].answer) == ("t1", "Jane Austen")
    assert conversation.entity("Jane Austen") == "urn:x"
    assert (conversation.turns[1].question, conversation.turns[1].answer) == ("Thanks.", "Any time.")
    assert asked_of([Message(role="user", content="Who?")], [], load_settings()) == ("Who?", None)


def test_a_follow_up_says_how_it_was_understood() -> None:
    trace = answered("and who wrote it?")
    trace.understood_as, trace.took_from = "Who wrote \x1b[1mEmma?", ["t0"]
    text, citations = content_of(trace)
    assert text == "Jane Austen. [1] [2]\n\nUnderstood as: Who wrote Emma?"
    assert [text[item.start : item.end] for item in citations] == ["[1]", "[2]"]
    trace.status, trace.reason = "unknown", "No page tells it."
    assert content_of(trace)[0].endswith("\n\nUnderstood as: Who wrote Emma?")
    trace.took_from = []
    assert "Understood as" not in content_of(trace)[0], "a first question is not commented on"


def test_an_answer_that_is_no_longer_known_is_read_as_it_was_told() -> None:
    told = "The answer is J. R. R. Tolkien. [1] [2]\n\nUnderstood as: Who wrote The Hobbit?"
    said = [Message(role="user", content="who wrote it"), Message(role="assistant", content=told)]
    _, conversation = asked_of([*said, Message(role="user", content="and where?")], [], load_settings())
    assert conversation is not None
    [turn] = conversation.turns
    assert (turn.question, turn.answer) == ("Who wrote The Hobbit?", "J. R. R. Tolkien")


async def test_a_client_that_sends_the_history_is_told_what_was_asked(serve: Serve) -> None:
    said = [{"role": "user", "content": "Who wrote The Hobbit?"}, {"role": "assistant", "content": "J. R. R. Tolkien"}]
    server = serve(FakeBackbone("When was J. R. R. Tolkien born?", reply("1892")))
    found = (await chat(server, messages=[*said, {"role": "user", "content": "when was he born?"}])).json
    assert found["atomr"]["understood_as"] == "When was J. R. R. Tolkien born?"
    assert found["choices"][0]["message"]["content"].endswith("Understood as: When was J. R. R. Tolkien born?")
    whole = "Who was the paternal grandfather of Charles Darwin?"
    found = (
        await chat(serve(FakeBackbone(reply("Erasmus"))), messages=[*said, {"role": "user", "content": whole}])
    ).json
    assert found["atomr"]["understood_as"] == whole
    assert "Understood as" not in found["choices"][0]["message"]["content"]


async def test_an_answer_of_unknown_origin_does_not_reach_the_web_beside_private_indexes(serve: Serve) -> None:
    said = [{"role": "user", "content": "Who?"}, {"role": "assistant", "content": "Secret."}, *ASKED]
    settings = {"privacy": {"indexes": "diary"}, "web": {"enabled": True}, "sources": ("graph",)}
    call = await chat(serve(FakeBackbone(), settings=settings), model="rag", messages=said)
    assert call.status == 400
    assert "private" in call.json["error"]["message"]


class Halves:
    """An embedder of two dimensions."""

    identity, dimensions = "halves:1", 2

    def encode(self, texts: list[str]) -> np.ndarray[Any, Any]:
        return np.array([[0.5, -len(text) / 8] for text in texts], dtype=np.float32)


async def test_texts_are_embedded_as_numbers_and_in_base64(serve: Serve) -> None:
    server = serve(FakeBackbone())
    server.questions._assistant.parts._embedder = Halves()

    async def embed(**body: Any) -> Call:
        return await Call(
            server, "POST", "/v1/embeddings", {"model": "embedder", "input": ["one", "three"]} | body
        ).done()

    found = (await embed()).json
    assert [item["embedding"] for item in found["data"]] == [[0.5, -0.375], [0.5, -0.625]]
    assert found["model"] == "halves:1"
    packed = (await embed(encoding_format="base64")).json["data"][1]["embedding"]
    assert np.frombuffer(base64.b64decode(packed), "<f4").tolist() == [0.5, -0.625]
    assert len((await embed(input="one")).json["data"]) == 1
    for wrong in ({"input": []}, {"input": [""]}, {"input": [[1, 2]]}, {"dimensions": 3}, {"input": ["x"] * 257}):
        assert (await embed(**wrong)).status == 400
    assert (await embed(model="text-embedding-3-small")).status == 404


def test_a_message_shows_the_passage_that_the_answer_rests_on() -> None:
    text, citations = content_of(quoting_trace())
    assert text.startswith(
        "The answer is cash. [1]\n\n> The office is open from 9 to 17. »Permits are paid in cash.«\n>"
    )
    assert text.endswith("\n\nPermits (permits.pdf, p. 4, Fees)") and len(citations) == 1
    text, [citation] = content_of(quotation_trace())
    assert text == "> Bring the following:\n> passport\n> two photos\n\nPermits (permits.pdf, p. 4, Fees) [1]"
    assert text[citation.start : citation.end] == "[1]"


def test_a_message_without_an_answer_shows_the_closest_passages() -> None:
    text, citations = content_of(closest_trace())
    assert "\n\nNot answered; closest in your documents\n\n> The office" in text
    assert [(text[item.start : item.end], item.item.id) for item in citations] == [("[1]", "e1"), ("[2]", "e2")]
    assert text.endswith("→ Search the graph too.\n→ Add knowledge: pages or documents that tell it.")
    assert "--" not in text and "F2" not in text
    summary = trace_summary(closest_trace())
    assert summary["closest"][1] == {"evidence": "e2", "spans": [[0, 17]]}
    assert summary["advice"][0] == "Search the web too, if the server allows it."
