"""Server-sent events: what is there at once goes at once, a slow client bounds what waits, silence is filled."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import suppress
from typing import Any

import pytest
from support.asgi_calls import Call
from support.fake_parts import FakeBackbone, reply
from unit.server.conftest import Serve

from atomr_local.server.questions import EventStream, json_text

Pieces = list[bytes]


async def sent(
    chunks: AsyncGenerator[bytes, None],
    *,
    ping_seconds: float = 60,
    before: Callable[[], Awaitable[None]] | None = None,
) -> Pieces:
    """The bodies that the stream sends; `before`: awaited before each is taken."""
    bodies: Pieces = []

    async def send(message: Any) -> None:
        if message["type"] == "http.response.body":
            if before is not None:
                await before()
            bodies.append(message["body"])

    async def receive() -> Any:
        await asyncio.Event().wait()

    async with asyncio.timeout(60):
        await EventStream(chunks, ping_seconds=ping_seconds)({"type": "http"}, receive, send)
    return bodies


async def test_what_is_there_at_once_is_sent_at_once() -> None:
    async def chunks() -> AsyncGenerator[bytes, None]:
        yield b"a"
        yield b"b"
        await asyncio.sleep(0.01)
        yield b"c"
        yield b"d"
        await asyncio.sleep(0.01)

    assert await sent(chunks()) == [b"ab", b"cd", b""]


async def test_the_last_events_do_not_wait_for_what_is_done_behind_them() -> None:
    tidied, taken = asyncio.Event(), asyncio.Event()

    async def chunks() -> AsyncGenerator[bytes, None]:
        yield b"the answer"
        await taken.wait()  # would last for ever if the answer waited for this
        tidied.set()

    async def before() -> None:
        taken.set()

    assert await sent(chunks(), before=before) == [b"the answer", b""]
    assert tidied.is_set()


async def test_a_client_that_reads_slowly_bounds_what_waits() -> None:
    made = 0

    async def chunks() -> AsyncGenerator[bytes, None]:
        nonlocal made
        for _ in range(40):
            made += 1
            yield b"x" * 10_000

    most = 0

    async def before() -> None:
        nonlocal most
        delivered = made
        await asyncio.sleep(0.01)
        most = max(most, made - delivered)

    bodies = await sent(chunks(), before=before)
    assert sum(map(len, bodies)) == 400_000
    assert most <= 14, "while one piece is taken, a bounded number of further ones is made"


async def test_silence_is_filled_until_something_comes() -> None:
    async def chunks() -> AsyncGenerator[bytes, None]:
        await asyncio.sleep(0.3)
        yield b"late"

    bodies = await sent(chunks(), ping_seconds=0.05)
    *silence, late = [body for body in bodies if body]
    assert silence, "something was sent"
    assert set(silence) == {b": \n\n"}
    assert late == b"late"


async def test_an_error_ends_the_stream_and_the_sending() -> None:
    closed = asyncio.Event()

    async def chunks() -> AsyncGenerator[bytes, None]:
        try:
            for _ in range(1000):
                yield b"x"
                await asyncio.sleep(0)
        finally:
            closed.set()

    async def before() -> None:
        raise TimeoutError

    with suppress(TimeoutError), pytest.raises(ExceptionGroup):
        await sent(chunks(), before=before)
    assert closed.is_set()


@pytest.mark.parametrize(
    ("given", "written"),
    [
        ({"a": [1, 2.5, None, True, float("nan"), (float("inf"), "\x1b[31mred")]}, '{"a":[1,2.5,null,true,null,[null,"red"]]}'),
        ({"k\x07ey": "é\u202e"}, '{"key":"\\u00e9"}'),
        ({"text": "/usr/lib/thing"}, '{"text":"/usr/lib/thing"}'),
        ({"warnings": ["/usr/lib/thing"]}, '{"warnings":["thing"]}'),
        ({"node": {"error": {"deep": ["see /usr/lib/thing"]}}}, '{"node":{"error":{"deep":["see thing"]}}}'),
    ],
)  # fmt: skip
def test_json_is_clean_finite_and_names_no_folder(given: Any, written: str) -> None:
    assert json_text(given) == written


async def test_a_question_that_is_refused_has_a_status_and_no_stream(serve: Serve) -> None:
    server = serve(FakeBackbone(reply("the sun")))
    for body, told in (({"strategy": "nothing"}, "nothing"), ({"plan": "1. x = [9]?"}, "")):
        call = await Call(server, "POST", "/api/ask", {"question": "What shines?"} | body).done()
        assert (call.status, call.ended) == (400, True)
        assert told in call.json["error"]["message"]
    assert (server.questions.desk.inside, server.questions.desk.waiting) == (0, 0)
    assert (await Call(server, "GET", "/api/traces").done()).json["traces"] == []
