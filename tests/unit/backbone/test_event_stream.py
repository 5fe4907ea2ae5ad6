"""What a server streams is taken apart without trusting it."""

from __future__ import annotations

import math
from collections.abc import AsyncIterator

from atomr_local.backbone.event_stream import EventStream, Fragment


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
