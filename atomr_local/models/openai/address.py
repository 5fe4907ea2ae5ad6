"""Parses the streamed answer of an OpenAI-compatible server without trusting it.

Server-sent events as in the HTML standard, section 9.2, of which such servers use `data:` lines only.
"""

from __future__ import annotations

import base64
import json
import logging
import math
import re
import sys
import urllib.request
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import httpx

from atomr_local.errors import ModelError
from atomr_local.system.credentials import Secret, SecretUrl, forms, is_loopback, without_secrets

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
    """The text of an error answer, at most 300 characters.

    Args:
        hide: takes out of the whole text what must not be shown, before it is cut.
    """
    error = body.get("error", body) if isinstance(body, dict) else body
    text = (error.get("message") or error.get("detail") or error) if isinstance(error, dict) else error
    return " ".join(hide(str(text)).split())[:_SAID]


# Where an endpoint is, and what it is told of who asks: taken apart so that no secret is in the address itself.
#
# The address that requests, errors and logs know holds neither user nor password nor query. These are put into a
# request at the last moment, by the transport (:class:`CredentialsTransport`), which nothing above it sees.

_NAME = re.compile(r"[\w.:-]+")  # a name, an IPv4 or an IPv6 address
_EXAMPLE = "Give an address such as http://127.0.0.1:8080/v1."
_TALKING = ("httpx", "httpcore.connection", "httpcore.http11", "httpcore.proxy")
_TELLING = 12  # characters from which on a secret in an answer is no chance


@dataclass(frozen=True)
class EndpointAddress:
    """An endpoint's address and credentials, both checked.

    Attributes:
        url: without user, password and query, and without a slash at the end.
        host: the host, with its port where one is given, as DNS knows it.
        loopback: whether it is this machine itself, so that nothing sent to it leaves the machine.
        authorization: the header of that name; empty for none.
        query: what is appended to every address that is asked.
    """

    url: str
    host: str
    loopback: bool
    authorization: Secret
    query: Secret
    secrets: tuple[Secret, ...]

    def hide(self, text: str) -> str:
        """`text`, which the server may have made of what it was sent, without the credentials."""
        return without_secrets(text, self._texts())

    def telling(self) -> tuple[str, ...]:
        """The credentials that are long enough to be known again wherever they stand."""
        return forms(tuple(text for text in self._texts() if len(text) >= _TELLING))

    def _texts(self) -> tuple[str, ...]:
        return tuple(secret.reveal() for secret in self.secrets)


def checked_endpoint(url: SecretUrl | str, api_key: Secret | str = "", *, unencrypted: bool = False) -> EndpointAddress:
    """Take an endpoint's settings apart.

    Args:
        url: may hold a user name and password, which are sent as HTTP Basic authentication (RFC 7617), and a query,
            which is sent with every request.
        api_key: sent as a bearer token (RFC 6750).
        unencrypted: whether credentials may be sent to another machine over http.

    Raises:
        ModelError: the address or the key cannot be used, or must not be sent there. No secret is in the message.
    """
    given = url if isinstance(url, SecretUrl) else SecretUrl(url)
    key = api_key if isinstance(api_key, Secret) else Secret(api_key)
    parsed = _parsed(given)
    if not (key.reveal().isascii() and key.reveal().isprintable()):
        raise EndpointError("endpoint.api_key has characters that no key has", hint="Copy the key again.")
    if key and parsed.userinfo:
        raise EndpointError(
            "endpoint.url holds a user name, and endpoint.api_key is set: only one of them can be sent",
            hint="Take one of them out of the settings.",
        )
    host = parsed.raw_host.decode("ascii")
    loopback = is_loopback(host)
    pair = f"{parsed.username}:{parsed.password}".encode()
    basic = base64.b64encode(pair).decode("ascii") if parsed.userinfo else ""
    query = Secret(parsed.query.decode("ascii"))
    if parsed.scheme == "http" and not loopback and not unencrypted and (key or basic or query):
        raise EndpointError(
            f"endpoint.url, {given}: the key or password would be sent unencrypted to another machine",
            hint="Use https://, or set endpoint.allow_unencrypted_credentials = true where the network is your own.",
        )
    values = [field.partition("=")[2] or field for field in query.reveal().split("&")]
    secrets = (key.reveal(), basic, parsed.username, parsed.password, query.reveal(), *values)
    plain = parsed.copy_with(userinfo=b"", query=None)
    at = f"[{host}]" if ":" in host else host
    return EndpointAddress(
        str(plain).rstrip("/"),
        f"{at}:{parsed.port}" if parsed.port else at,
        loopback,
        Secret(f"Bearer {key.reveal()}" if key else f"Basic {basic}" if basic else ""),
        query,
        tuple(Secret(text) for text in secrets if text),
    )


def _parsed(given: SecretUrl) -> httpx.URL:
    text = given.reveal().strip()
    try:
        parsed = httpx.URL(text)
        port = parsed.port
        parsed.raw_host.decode("ascii")
    except (httpx.InvalidURL, ValueError):  # their words may hold a piece of a password
        raise EndpointError(f"endpoint.url, {given}, is not an address", hint=_EXAMPLE) from None
    if parsed.scheme not in ("http", "https") or not _NAME.fullmatch(parsed.host) or port == 0 or (port or 1) > 65535:
        raise EndpointError(f"endpoint.url, {given}, is not usable", hint=_EXAMPLE)
    if "@" in f"{parsed.path}{parsed.query.decode('ascii', 'replace')}{parsed.fragment}":
        raise EndpointError(
            f"endpoint.url, {given}, has an @ behind its host",
            hint="In a user name or password, write / as %2F, ? as %3F, # as %23 and @ as %40.",
        )
    if parsed.fragment:
        raise EndpointError(f"endpoint.url, {given}, has a part behind #, which no server is sent", hint="Take it out.")
    return parsed


class CredentialsTransport(httpx.AsyncBaseTransport):
    """Adds the credentials to each request that goes to the endpoint itself, after everything else has seen it."""

    def __init__(self, address: EndpointAddress, *, use_proxy: bool = False) -> None:
        self._address = address
        self._origin = httpx.URL(address.url)
        self._inner = httpx.AsyncHTTPTransport(proxy=_proxy(self._origin, address.loopback) if use_proxy else None)
        self._filter = _HidingFilter(address)
        for name in _TALKING:
            logging.getLogger(name).addFilter(self._filter)

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send the request, with the credentials if it goes to the endpoint's own scheme, host and port."""
        url, origin = request.url, self._origin
        if (url.scheme, url.host, url.port) == (origin.scheme, origin.host, origin.port):
            headers: list[Any] = list(request.headers.raw)
            if self._address.authorization:
                headers.append((b"Authorization", self._address.authorization.reveal().encode("ascii")))
            if self._address.query:
                url = url.copy_with(query=self._address.query.reveal().encode("ascii"))
            request = httpx.Request(
                request.method, url, headers=headers, stream=request.stream, extensions=request.extensions
            )
        return await self._inner.handle_async_request(request)

    async def aclose(self) -> None:
        await self._inner.aclose()
        for name in _TALKING:
            logging.getLogger(name).removeFilter(self._filter)


class _HidingFilter(logging.Filter):
    """Takes the credentials out of what the HTTP libraries log of a server that sends them back."""

    def __init__(self, address: EndpointAddress) -> None:
        super().__init__()
        self._address = address

    def filter(self, record: logging.LogRecord) -> bool:
        told = record.getMessage()
        hidden = self._address.hide(told)
        if hidden != told:
            record.msg, record.args = hidden, None
        return True


def _proxy(url: httpx.URL, loopback: bool) -> httpx.Proxy | None:
    """The proxy that the environment names for this address; none for this machine's own servers."""
    if loopback or urllib.request.proxy_bypass(url.host):
        return None
    named = urllib.request.getproxies()
    address = named.get(url.scheme) or named.get("all")
    if not address:
        return None
    try:
        return httpx.Proxy(address if "://" in address else f"http://{address}")
    except (httpx.InvalidURL, ValueError):
        raise EndpointError(
            f"the proxy that the environment names for {url.scheme} is not usable: {SecretUrl(address)}",
            hint="Correct HTTP_PROXY, HTTPS_PROXY or ALL_PROXY, or set network.use_proxy = false.",
        ) from None
