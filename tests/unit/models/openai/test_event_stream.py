"""What a server streams is taken apart without trusting it."""

from __future__ import annotations

import json
import math
from collections.abc import AsyncIterator

import pytest

from atomr_local.models.openai.address import EventStream, Fragment, Watched


async def fragments(line: bytes) -> list[Fragment]:
    async def chunks() -> AsyncIterator[bytes]:
        yield b"data: " + line + b"\n"

    return [fragment async for fragment in EventStream(limit=1 << 20).fragments(chunks())]


async def test_a_log_probability_beyond_all_floating_point_numbers_is_none() -> None:
    logprobs = b'{"content": [{"token": "a", "logprob": -1' + b"0" * 400 + b"}]}"
    [fragment] = await fragments(b'{"choices": [{"delta": {"content": "a"}, "logprobs": ' + logprobs + b"}]}")
    [(text, logprob)] = fragment.pieces
    assert text == "a"
    assert math.isnan(logprob)


def listed(*entries: tuple[str, list[tuple[str, float]]]) -> bytes:
    content = [
        {"token": text, "logprob": -0.1, "top_logprobs": [{"token": t, "logprob": p} for t, p in others]}
        for text, others in entries
    ]
    delta = {"content": "".join(text for text, _ in entries)}
    return json.dumps({"choices": [{"delta": delta, "logprobs": {"content": content}}]}).encode()


async def test_a_watched_text_is_found_among_the_alternatives_at_its_place() -> None:
    [fragment] = await fragments(listed(("A", [("A", -0.1), ("Un", -3.0)]), ("nn", [("nn", -0.2), ("Unknown", -1.0)])))
    watched = Watched(("Unknown", "no"), "")
    watched.see("", fragment.alternatives[:1])
    watched.see("A", fragment.alternatives[1:])
    assert watched.logprobs == (
        -3.0,
        -3.0,
    )  # "Un" begins it; "no" is not listed, so it can be no likelier than the last


@pytest.mark.parametrize("alternatives", [None, "text", [], [{"token": 1}], [{"token": "a", "logprob": "b"}]])
async def test_where_a_server_lists_nothing_the_probability_is_not_known(alternatives: object) -> None:
    content = [{"token": "A", "logprob": -0.1, "top_logprobs": alternatives}]
    event = {"choices": [{"delta": {"content": "A"}, "logprobs": {"content": content}}]}
    [fragment] = await fragments(json.dumps(event).encode())
    assert fragment.pieces == (("A", -0.1),)
    watched = Watched(("Unknown",), "")
    watched.see("", fragment.alternatives[:1])
    assert math.isnan(watched.logprobs[0])
