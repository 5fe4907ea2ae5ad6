"""POST /api/ask: events and traces, bad input, the queue, limits, clients that go, and the end of the server."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from support.asgi_calls import Call
from support.fake_parts import FakeBackbone, reply
from support.served_parts import Endless
from unit.server.conftest import Serve

from atomr_local.assistant.history.store import History
from atomr_local.server.app import Server

SUN = {"question": "What shines?", "strategy": "closed-book"}


async def ask(server: Server, **body: Any) -> Call:
    return await Call(server, "POST", "/api/ask", SUN | body).done()


async def begun(server: Server, backbone: Endless) -> Call:
    """A question that does not end by itself."""
    call = Call(server, "POST", "/api/ask", SUN)
    assert await asyncio.to_thread(backbone.begun.wait, 10)
    return call


async def test_the_events_come_as_the_trace_has_them(serve: Serve) -> None:
    call = await ask(serve(FakeBackbone(reply("the sun"))))
    assert (call.status, call.headers["content-type"]) == (200, "text/event-stream; charset=utf-8")
    events = call.events
    assert (events[0]["event"], events[-1]["event"]) == ("question_asked", "finished")
    trace = events[-1]["trace"]
    assert (trace["schema"], trace["answers"]) == ("atomr.trace/1", ["the sun"])
    assert b"event: finished\n" in call.body
    assert call.ended


async def test_the_trace_alone_can_be_asked_for_and_is_kept(serve: Serve) -> None:
    server = serve(FakeBackbone(reply("the sun")))
    trace = (await ask(server, stream=False)).json
    assert trace["answers"] == ["the sun"]
    listed = (await Call(server, "GET", "/api/traces").done()).json["traces"]
    assert [(item["question"], item["status"]) for item in listed] == [("What shines?", "answered")]
    for name in (trace["id"], listed[0]["number"]):
        assert (await Call(server, "GET", f"/api/traces/{name}").done()).json["id"] == trace["id"]
    markdown = await Call(server, "GET", f"/api/traces/{trace['id']}?format=markdown").done()
    assert b"What shines?" in markdown.body
    assert (await Call(server, "DELETE", f"/api/traces/{listed[0]['number']}").done()).status == 204
    assert (await Call(server, "GET", f"/api/traces/{trace['id']}").done()).status == 404


async def test_nothing_is_kept_where_that_is_not_wanted(serve: Serve) -> None:
    for server, body in (
        (serve(FakeBackbone(reply("x")), keep=False), {}),
        (serve(FakeBackbone(reply("x")), settings={"history": {"keep": False}}), {}),
        (serve(FakeBackbone(reply("x"))), {"keep": False}),
    ):
        assert (await ask(server, **body)).events[-1]["event"] == "finished"
        assert (await Call(server, "GET", "/api/traces").done()).json == {"traces": []}


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ({"question": ""}, "empty"),
        ({"question": "\x1b[2J\n"}, "empty"),
        ({"question": "x" * 2001}, "question"),
        ({"question": 5}, "question"),
        ({"question": "\ud800"}, "JSON"),
        ({"strategy": "magic"}, "no strategy"),
        ({"sources": ["web"]}, "none of text, graph"),
        ({"sources": ["../../etc"]}, "none of text, graph"),
        ({"sources": "text"}, "sources"),
        ({"web": "yes"}, "web"),
        ({"colour": "red"}, "colour"),
        ({"plan": "no plan"}, "line 1"),
        ({"plan": {"plan": 1}}, ""),
        ({"strategy": "atomr", "plan": '1. What is x? = Search("x")\n 2. y? = Search("[9]")'}, ""),
        ({"revision": {"trace": "none"}}, "no such trace"),
        ({"revision": {"trace": "../../x"}}, "revision.trace"),
        ({"revision": {"trace": "a", "answers": {"one": ["x"]}}}, ""),
        ({"earlier": ["nobody"]}, "no such trace"),
        ({"earlier": ["x"] * 21}, "earlier"),
    ],
)
async def test_bad_input_is_refused_before_anything_runs(serve: Serve, body: dict[str, Any], told: str) -> None:
    call = await ask(serve(FakeBackbone()), **body)
    assert call.status in (400, 404), call.body
    error = call.json["error"]
    assert told in error["message"]
    assert error["type"] == "invalid_request_error"
    assert b"\x1b" not in call.body


@pytest.mark.parametrize(
    "body",
    [b"", b"{", b"[]", b"null", b"{'question': 1}", b"\xff\xfe", b'{"question":' * 2000, b"[" * 100_000, b"1" * 10_000],
    ids=lambda body: f"{body[:12]!r}",
)
async def test_what_is_no_json_object_is_refused(serve: Serve, body: bytes) -> None:
    server = serve(FakeBackbone())
    call = Call(server, "POST", "/api/ask", headers={"content-type": "application/json"}, pieces=[body])
    call._sent.put_nowait({"type": "http.request", "body": b"", "more_body": False})
    assert (await call.done()).status == 400
    assert call.json["error"]["title"]


async def test_no_request_turns_the_web_on(serve: Serve) -> None:
    call = await ask(serve(FakeBackbone()), web=True)
    assert (call.status, call.json["error"]["title"]) == (403, "Web access is off")


async def test_a_body_too_large_or_too_slow_is_refused(serve: Serve) -> None:
    server = serve(FakeBackbone(), body_bytes=1000, body_seconds=0.05)
    kind = {"content-type": "application/json"}
    assert (
        await Call(server, "POST", "/api/ask", headers=kind | {"content-length": "99999999999"}).done()
    ).status == 413
    assert (await Call(server, "POST", "/api/ask", headers=kind, pieces=[b"x" * 600, b"x" * 600]).done()).status == 413
    slow = await Call(server, "POST", "/api/ask", headers=kind, pieces=[b'{"question"']).done()
    assert slow.status == 408


async def test_what_goes_wrong_while_answering_is_told_by_the_trace(serve: Serve) -> None:
    call = await ask(serve(FakeBackbone(RuntimeError("secret place"))))
    assert call.events[-1]["trace"]["status"] == "failed"


async def test_questions_wait_in_order_and_the_queue_has_an_end(serve: Serve) -> None:
    backbone = Endless()
    server = serve(backbone, settings={"llm": {"parallel": 1}}, queue=2)
    first = await begun(server, backbone)
    second, third = Call(server, "POST", "/api/ask", SUN), Call(server, "POST", "/api/ask", SUN)
    await second.until(b'"ahead":0')
    await third.until(b'"ahead":1')
    full = await ask(server)
    assert (full.status, full.json["error"]["code"]) == (429, "queue_full")
    assert 1 <= int(full.headers["retry-after"]) <= 120
    second.go()
    await second.done()
    await third.until(b'"ahead":0')
    first.go()
    await first.done()
    await third.until(b"question_asked")
    third.go()
    await third.done()
    assert (server.questions.desk.inside, server.questions.desk.waiting) == (0, 0)


async def test_a_client_that_goes_stops_the_model(serve: Serve) -> None:
    for stream in (True, False):
        backbone = Endless()
        server = serve(backbone)
        call = Call(server, "POST", "/api/ask", SUN | {"stream": stream})
        assert await asyncio.to_thread(backbone.begun.wait, 10)
        call.go()
        assert await asyncio.to_thread(backbone.stopped.wait, 10)
        await call.done()
        assert server.questions.desk.inside == 0
        assert not server.questions._running
        assert not call.ended
        with History.open() as history:
            assert history.entries() == []


async def test_a_client_that_takes_nothing_is_left(serve: Serve) -> None:
    backbone = Endless()
    server = serve(backbone, send_seconds=0.1, ping_seconds=0.05)
    call = await begun(server, backbone)
    call.blocked = True
    assert await asyncio.to_thread(backbone.stopped.wait, 10)
    await call.done()
    assert server.questions.desk.inside == 0


async def test_a_silent_stream_shows_that_it_lives(serve: Serve) -> None:
    backbone = Endless()
    call = await begun(serve(backbone, ping_seconds=0.05), backbone)
    await call.until(b"\n\n: \n\n")
    call.go()
    await call.done()


async def test_a_question_that_takes_too_long_is_stopped(serve: Serve) -> None:
    server = serve(Endless(), question_seconds=0.2)
    events = (await ask(server)).events
    assert [event["event"] for event in events[-2:]] == ["stopped", "finished"]
    assert "longer than 0.2 seconds" in events[-2]["reason"]
    assert events[-1]["trace"]["status"] == "cancelled"
    plain = await ask(serve(Endless(), question_seconds=0.2), stream=False)
    assert (plain.status, plain.json["error"]["code"]) == (504, "timeout")


async def test_the_end_of_the_server_ends_streams_as_they_should(serve: Serve) -> None:
    backbone = Endless()
    server = serve(backbone, settings={"llm": {"parallel": 1}}, grace_seconds=0.2)
    running = await begun(server, backbone)
    waiting = Call(server, "POST", "/api/ask", SUN)
    await waiting.until(b"queued")
    ending = asyncio.create_task(server.stop())
    await waiting.done()
    assert waiting.events[-1]["event"] == "error"
    late = await ask(server)
    assert (late.status, late.json["error"]["code"], late.headers["retry-after"]) == (503, "stopping", "5")
    assert (await Call(server, "GET", "/health").done()).status == 200
    assert not backbone.stopped.is_set()
    await asyncio.wait_for(ending, 10)
    await running.done()
    assert [event["event"] for event in running.events[-2:]] == ["stopped", "finished"]
    assert running.ended and waiting.ended


async def test_a_question_in_its_grace_time_is_answered(serve: Serve) -> None:
    backbone = Endless()
    server = serve(backbone, grace_seconds=20)
    call = await begun(server, backbone)
    ending = asyncio.create_task(server.stop())
    await asyncio.sleep(0.1)
    assert not backbone.stopped.is_set()
    call.go()
    await asyncio.wait_for(ending, 10)


async def test_a_request_that_does_not_end_is_cut_off_and_its_stream_ended(serve: Serve) -> None:
    backbone = Endless()
    server = serve(backbone)
    call = await begun(server, backbone)
    server.in_flight.cut_off()
    await call.done()
    assert call.ended
    assert backbone.stopped.is_set()


@pytest.mark.slow
async def test_a_correction_keeps_what_it_does_not_touch(serve: Serve) -> None:
    plan = '1. What is the author of Emma? = Search("Emma")\n2. Where was [1] born? = Direct("say where [1] was born")'
    backbone = FakeBackbone(reply("Jane Austen"), reply("Steventon"), *(reply("Bath") for _ in range(4)))
    server = serve(backbone, settings={"features": {"rival": False, "ask_on": False, "verify": False}})
    first = await ask(server, question="Where was the author of Emma born?", strategy="atomr", plan=plan, stream=False)
    assert first.status == 200, first.body
    body = {
        "question": "",
        "strategy": None,
        "revision": {"trace": first.json["id"], "answers": {"1": ["Mary Shelley"]}},
    }
    second = (await ask(server, **body, stream=False)).json
    assert second["question"] == first.json["question"]
    node = next(node for node in second["nodes"] if node["id"] == 1)
    assert (node["answers"], node["method"]) == (["Mary Shelley"], None)


async def test_a_follow_up_question_has_the_turns_before(serve: Serve) -> None:
    backbone = FakeBackbone(reply("the sun"), json.dumps("How hot is the sun?"), reply("very hot"))
    server = serve(backbone)
    first = (await ask(server, stream=False)).json
    given = {"question": "How hot is it?", "earlier": [first["id"]], "understood": "How hot is the sun?"}
    second = (await ask(server, stream=False, **given)).json
    assert (second["conversation"], second["took_from"]) == (first["id"], [first["id"]])
    assert second["understood_as"] == "How hot is the sun?"
