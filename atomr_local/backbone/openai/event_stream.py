"""Parses the streamed answer of an OpenAI-compatible server without trusting it.

Server-sent events as in the HTML standard, section 9.2, of which such servers use `data:` lines only.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from atomr_local.errors import ModelError

_LINE_BYTES = 1 << 18  # an event of one token with its alternatives has a few thousand
_SAID = 300
_LARGEST = sys.float_info.max


class EndpointError(ModelError):
    """The endpoint cannot be used: its settings, the connection or its answer is at fault."""

    title = "Endpoint not usable"


@dataclass(frozen=True, slots=True)
class Fragment:
    """One event of an answer.

    Attributes:
        pieces: text and natural log-probability of each token; nan where the server does not tell.
        alternatives: for each token the most likely ones at its place, itself included, with their log-probabilities;
            empty if the server does not tell.
        finish: the server's reason to end; None while it continues.
        prompt_tokens, cached_tokens: what the server says it read and took from its cache; None when it says nothing.
    """

    pieces: tuple[tuple[str, float], ...] = ()
    finish: str | None = None
    prompt_tokens: int | None = None
    cached_tokens: int | None = None
    alternatives: tuple[tuple[tuple[str, float], ...], ...] = ()


@dataclass(slots=True)
class Watched:
    """Finds the probabilities of texts among the alternatives that a server lists (see the backbone's protocol).

    Attributes:
        texts, after: what is watched, and behind which output.
        logprobs: one for each text; nan until the place has been seen, and where the server lists nothing there.
    """

    texts: tuple[str, ...]
    after: str
    logprobs: tuple[float, ...] = ()
    _open: bool = True

    def __post_init__(self) -> None:
        self.logprobs = (math.nan,) * len(self.texts)

    def see(self, before: str, alternatives: Sequence[Sequence[tuple[str, float]]]) -> None:
        """Take the alternatives of the token that follows the output `before`."""
        if not self._open or before != self.after or not self.texts:
            return
        self._open = False
        if alternatives and alternatives[0]:
            self.logprobs = tuple(self._of(text, alternatives[0]) for text in self.texts)

    @staticmethod
    def _of(text: str, listed: Sequence[tuple[str, float]]) -> float:
        # A tokenizer takes the longest beginning that it knows; the server does not say how it would cut the text.
        fitting = [(len(token), logprob) for token, logprob in listed if token and text.startswith(token)]
        return max(fitting)[1] if fitting else min(logprob for _, logprob in listed)


@dataclass(slots=True)
class EventStream:
    """Splits chunks of bytes into events.

    Attributes:
        limit: bytes that the whole answer may take.
        hide: takes out of the server's words what must not be shown.
        done: the server said that the answer is complete.
    """

    limit: int
    hide: Callable[[str], str] = str
    done: bool = False
    _rest: bytearray = field(default_factory=bytearray)
    _taken: int = 0

    async def fragments(self, chunks: AsyncIterator[bytes]) -> AsyncGenerator[Fragment, None]:
        """The events of the answer, up to [DONE] or the end of the chunks.

        Raises:
            EndpointError: an event is no JSON of the expected shape, is an error, or a size is out of bounds.
        """
        async for chunk in chunks:
            self._taken += len(chunk)
            self._rest += chunk
            lines: list[bytearray] = []
            if b"\n" in chunk:
                *lines, self._rest = self._rest.split(b"\n")
            if self._taken > self.limit or len(self._rest) > _LINE_BYTES:
                raise EndpointError("the server's answer is too long", hint="Check what answers at endpoint.url.")
            for line in lines:
                if not line.startswith(b"data:"):
                    continue
                data = bytes(line[5:].strip())
                if data == b"[DONE]":
                    self.done = True
                    return
                yield _fragment(data, self.hide)


def _fragment(data: bytes, hide: Callable[[str], str]) -> Fragment:
    try:
        event = json.loads(data)
    except (ValueError, RecursionError):
        raise _unexpected() from None
    if not isinstance(event, dict):
        raise _unexpected()
    if event.get("error"):
        raise EndpointError(f"the server failed: {error_text(event, hide)}")
    prompt_tokens, cached_tokens = _usage(event)
    choices = event.get("choices")
    if not isinstance(choices, list):
        raise _unexpected()
    if not choices:  # the last event may hold the usage alone
        return Fragment((), None, prompt_tokens, cached_tokens)
    choice = choices[0]
    delta = choice.get("delta") if isinstance(choice, dict) else None
    if not isinstance(delta, dict):
        raise _unexpected()
    content, finish = delta.get("content") or "", choice.get("finish_reason")
    if not isinstance(content, str) or not isinstance(finish, str | None):
        raise _unexpected()
    pieces, alternatives = _pieces(content, choice.get("logprobs"))
    return Fragment(pieces, finish, prompt_tokens, cached_tokens, alternatives)


def _unexpected() -> EndpointError:
    return EndpointError(
        "the server's answer is not a chat completion", hint="endpoint.url is the address that ends in /v1."
    )


_Listed = tuple[tuple[str, float], ...]


def _pieces(content: str, logprobs: Any) -> tuple[_Listed, tuple[_Listed, ...]]:
    """The tokens of a fragment and the alternatives to each."""
    if not content:
        return (), ()
    entries = logprobs.get("content") if isinstance(logprobs, dict) else None
    entries = entries if isinstance(entries, list) else []
    told = [token for entry in entries if (token := _token(entry)) is not None]
    if len(told) < len(entries):
        return ((content, math.nan),), ()
    others = tuple(_alternatives(entry.get("top_logprobs")) for entry in entries)
    if told and "".join(text for text, _ in told) == content:
        return tuple(told), others
    # Tokens that end within a character cannot be distinguished in text.
    return ((content, sum(logprob for _, logprob in told) / len(told) if told else math.nan),), others[:1]


def _token(entry: Any) -> tuple[str, float] | None:
    text, logprob = (entry.get("token"), entry.get("logprob")) if isinstance(entry, dict) else (None, None)
    # JSON's whole numbers have no bound; comparing them with one is exact, where converting them fails.
    if not isinstance(text, str) or not isinstance(logprob, int | float) or not abs(logprob) <= _LARGEST:
        return None
    return text, min(0.0, float(logprob))


def _alternatives(listed: Any) -> _Listed:
    return tuple(token for entry in listed if (token := _token(entry)) is not None) if isinstance(listed, list) else ()


def _count(value: Any) -> int | None:
    return value if type(value) is int and 0 <= value < 1 << 31 else None


def _usage(event: dict[str, Any]) -> tuple[int | None, int | None]:
    """Prompt tokens and those of them from the cache: OpenAI's usage, or llama-server's timings."""
    usage, timings = event.get("usage"), event.get("timings")
    if isinstance(timings, dict):
        read, cached = _count(timings.get("prompt_n")), _count(timings.get("cache_n"))
        if read is not None and cached is not None:
            return read + cached, cached
    if isinstance(usage, dict):
        details = usage.get("prompt_tokens_details")
        return _count(usage.get("prompt_tokens")), _count(
            details.get("cached_tokens") if isinstance(details, dict) else None
        )
    return None, None


def error_text(body: Any, hide: Callable[[str], str] = str) -> str:
    """What an error answer says, at most 300 characters.

    Args:
        hide: takes out of the whole text what must not be shown, before it is cut.
    """
    error = body.get("error", body) if isinstance(body, dict) else body
    text = (error.get("message") or error.get("detail") or error) if isinstance(error, dict) else error
    return " ".join(hide(str(text)).split())[:_SAID]
