"""The streamed answer of an OpenAI-compatible server, in pieces of any size: fragments, or one error."""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncIterator, Iterator

from atomr_local.models.openai.address import EndpointError, EventStream, Fragment, error_text
from fuzz.properties import expect, repeated

INSTRUMENTED = ("atomr_local.models.openai.address",)
DICTIONARY = (
    b"data: ", b"data:[DONE]\n", b"\n\n", b"\r\n", b'{"choices": [{"delta": {"content": "',
    b'"finish_reason": "stop"', b'"logprobs": {"content": [{"token": "', b'"logprob": -0.5',
    b'"usage": {"prompt_tokens": 5', b'"prompt_tokens_details": {"cached_tokens": 1',
    b'"timings": {"prompt_n": 1, "cache_n": 2}', b'{"error": {"message": "x"}}', b'{"error": "x"}', b"1e999", b"NaN",
    b"-Infinity", b"\\ud800", b"null", b"true", b"[", b"]", b"{", b"}", b": ping\n", b"event: x\n",
)  # fmt: skip


def seeds() -> Iterator[bytes]:
    yield (
        b'data: {"choices": [{"delta": {"content": "Hi"}, "logprobs": {"content": [{"token": "Hi", "logprob": -0.1}]}}]}\n\n'
        b': keep-alive\n\ndata: {"choices": [{"delta": {}, "finish_reason": "stop"}]}\n\n'
        b'data: {"choices": [], "usage": {"prompt_tokens": 5, "prompt_tokens_details": {"cached_tokens": 1}}}\n\ndata: [DONE]\n'
    )
    logprob = b'data: {"choices": [{"delta": {"content": "a"}, "logprobs": {"content": [{"token": "a", "logprob": -'
    yield repeated(b"9", 400, head=logprob, tail=b"}]}}]}\n")
    yield repeated(b"[", 20_000, head=b"data: ", tail=b"\n")
    yield b'data: {"choices": [{"delta": {"content": "a"}}], "timings": {"prompt_n": 1, "cache_n": 2}}\n\ndata: {"error": {"message": "no"}}\n'


async def _fragments(data: bytes, size: int) -> tuple[list[Fragment], str]:
    async def chunks() -> AsyncIterator[bytes]:
        for start in range(0, len(data), size):
            yield data[start : start + size]

    found: list[Fragment] = []
    try:
        async for fragment in EventStream(limit=1 << 20).fragments(chunks()):
            found.append(fragment)
    except EndpointError as error:
        return found, error.message
    return found, ""


def check(data: bytes) -> None:
    whole, small = asyncio.run(_fragments(data, 1 << 20)), asyncio.run(_fragments(data, 7))
    expect(repr(whole) == repr(small), "the same however it is cut", data)
    for fragment in whole[0]:
        for text, logprob in fragment.pieces:
            expect(isinstance(text, str) and (math.isnan(logprob) or logprob <= 0), "log-probabilities", logprob)
        for count in (fragment.prompt_tokens, fragment.cached_tokens):
            expect(count is None or 0 <= count < 1 << 31, "counts are bounded", count)
    expect(len(error_text({"error": data.decode("latin-1")})) <= 300, "errors are short")
