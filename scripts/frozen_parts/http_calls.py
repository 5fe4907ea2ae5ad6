"""What the HTTP API answers: requests of each address, good and bad, with status, headers and body."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from frozen_parts.cases import Case, Run
from frozen_parts.telling import Masks, lines_of
from frozen_parts.worlds import cases_of_extra

if TYPE_CHECKING:
    from support.asgi_calls import Call

    from atomr_local.server.app import Server

_TOKEN = "correct-horse-battery-staple"
_BEARER = {"authorization": f"Bearer {_TOKEN}"}
_MCP = {"accept": "application/json, text/event-stream"}
_SUN = {"question": "What shines?", "strategy": "closed-book"}
_ASKED = [{"role": "user", "content": "What shines?"}]
_CHAT = {"model": "closed-book", "messages": _ASKED}
_TOOLS = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
# Of another length or content in each run.
_LEFT_OUT = frozenset({"content-length", "date", "etag", "last-modified"})
_TOOK = re.compile(r"\b\d+(?:\.\d+)? (?:s|ms|seconds?)\b")
_WHOLE = 30_000  # characters of a body that is no JSON; of a longer one a digest


@dataclass(frozen=True)
class _Request:
    method: str
    path: str
    body: Any = None
    headers: Mapping[str, str] = field(default_factory=dict)


def _get(path: str, **headers: str) -> _Request:
    return _Request("GET", path, headers={name.replace("_", "-"): value for name, value in headers.items()})


def _ask(**body: Any) -> _Request:
    return _Request("POST", "/api/ask", _SUN | body)


def _chat(**body: Any) -> _Request:
    return _Request("POST", "/v1/chat/completions", _CHAT | body)


_OTHER_ASKED: tuple[dict[str, Any], ...] = (
    {"question": ""}, {"question": "x" * 2001}, {"question": 5}, {"strategy": "magic"}, {"sources": ["web"]},
    {"sources": "text"}, {"web": "yes"}, {"colour": "red"}, {"plan": "no plan"}, {"plan": {"plan": 1}},
    {"strategy": "atomr", "plan": '1. What is x? = Search("x")\n 2. y? = Search("[9]")'},
    {"revision": {"trace": "none"}}, {"revision": {"trace": "a", "answers": {"one": ["x"]}}},
    {"earlier": ["nobody"]}, {"earlier": ["x"] * 21}, {"keep": False, "stream": False},
)  # fmt: skip
_WRONG_CHATS: tuple[dict[str, Any], ...] = (
    {"model": "gpt-5"}, {"model": 5}, {"messages": []}, {"messages": [{"role": "assistant", "content": "x"}]},
    {"messages": "hello"}, {"messages": [{"role": "user", "content": " "}]}, {"n": 2},
    {"tools": [{"type": "function"}]}, {"logprobs": True}, {"response_format": {"type": "json_object"}},
    {"modalities": ["text", "audio"]}, {"stream": "maybe"}, {"temperature": 3},
)  # fmt: skip
# In this order: later ones see what earlier ones have left in the history. {trace} and {number} are those of the last.
_REQUESTS = (
    _get("/health"),
    _get("/"),
    _get("/page/app.js"),
    _get("/page/words.json"),
    _get("/page/none.js"),
    _get("/api/server"),
    _get("/openapi.json"),
    _get("/api/indexes"),
    _get("/api/traces"),
    _ask(),
    _ask(stream=False),
    _ask(question="What is a lake?", strategy="rag", stream=False),
    _ask(question="Who is the mother of Mary Shelley?", strategy="atomr", stream=False, sources=["graph"]),
    _ask(question="Who is the mother of Mary Shelley?", strategy="atomr", stream=False,
         plan='1. Who is the mother of Mary Shelley? = Relate("Mary Shelley", "mother")'),
    _get("/api/traces"),
    _get("/api/traces?limit=1"),
    _get("/api/traces/{trace}"),
    _get("/api/traces/{number}"),
    _get("/api/traces/{trace}?format=markdown"),
    _ask(question="And her?", earlier=["{trace}"], stream=False),
    _ask(stream=False, revision={"trace": "{trace}"}),
    _Request("DELETE", "/api/traces/{number}"),
    _get("/api/traces/{trace}"),
    _get("/api/search?q=lake&limit=1"),
    _get("/api/search?q=nothing"),
    _get("/api/pages?title=Como"),
    _get("/api/pages?title=Cmo"),
    _get("/api/entities?name=Mary%20Shelley"),
    _get("/api/entities?name=Nobody"),
    _get("/api/entities/Q47152"),
    _get("/api/entities/Q1"),
    _get("/api/facts?entity=Mary%20Shelley&relation=mother"),
    _get("/api/facts?entity=Mary%20Shelley&relation=nothing"),
    *map(_get, (
        "/api/search", "/api/search?q=", f"/api/search?q={'x' * 2001}", "/api/search?q=a&limit=0",
        "/api/search?q=a&limit=51", "/api/search?q=a&limit=1e3", "/api/pages", "/api/entities", "/api/facts?entity=x",
        "/api/facts?entity=x&relation=y&limit=10001", "/api/traces?limit=x", "/api/traces/x", "/api/traces/0",
        "/api/traces/..%2f..%2fetc%2fpasswd", "/api/traces?before=99999999999999999999",
    )),
    *(_ask(**body) for body in _OTHER_ASKED),
    _get("/v1/models"),
    _get("/v1/models/atomr"),
    _get("/v1/models/gpt"),
    _chat(),
    _chat(stream=True),
    _chat(stream=True, stream_options={"include_usage": True}),
    _chat(model="rag", messages=[{"role": "user", "content": "What is a lake?"}]),
    _chat(messages=[*_ASKED, {"role": "assistant", "content": "The sun."}, {"role": "user", "content": "And then?"}]),
    *(_chat(**body) for body in _WRONG_CHATS),
    _Request("POST", "/v1/embeddings", {"model": "embedder", "input": ["a lake", "the sun"]}),
    _Request("POST", "/v1/embeddings", {"model": "embedder", "input": "a lake", "encoding_format": "base64"}),
    _Request("POST", "/v1/embeddings", {"model": "atomr", "input": "a lake"}),
    _Request("POST", "/v1/embeddings", {"model": "embedder", "input": []}),
    _get("/nowhere"),
    _get("/api/ask"),
    _Request("POST", "/health", {}),
    _Request("OPTIONS", "/api/ask"),
    _get("/api/server", host="evil.example"),
    _get("/api/server", origin="http://evil.example"),
    _get("/api/server", authorization="Bearer wrong"),
)  # fmt: skip
# Of a server that wants a token.
_GUARDED = (
    _get("/health"),
    _get("/"),
    _get("/api/server"),
    _get("/api/server", authorization="Bearer wrong"),
    _get("/api/server", **_BEARER),
    _get("/v1/models"),
    _get("/v1/models", **_BEARER),
    _Request("POST", "/mcp", _TOOLS, _MCP),
)


def cases(run: Run) -> Iterator[Case]:
    return cases_of_extra(run, "serve", ("starlette", "mcp"), _all)


async def _all(run: Run, hidden: Masks) -> list[Case]:
    from atomr_local.server.app import Server
    from atomr_local.server.options import ServeOptions
    from atomr_local.system.credentials import Secret
    from frozen_parts.served import assistant

    with assistant(run.scratch) as served:
        found = [case async for case in _transcript("open", Server(served, ServeOptions()), _REQUESTS, hidden)]
        guarded = Server(served, ServeOptions(token=Secret(_TOKEN)))
        return found + [case async for case in _transcript("guarded", guarded, _GUARDED, hidden)]


async def _transcript(group: str, server: Server, requests: tuple[_Request, ...], hidden: Masks) -> AsyncIterator[Case]:
    from support.asgi_calls import Call

    last = {"trace": "none", "number": "0"}
    for order, request in enumerate(requests, 1):
        body = json.loads(_filled(json.dumps(request.body), last)) if request.body is not None else None
        path = _filled(request.path, last)
        call = await Call(server, request.method, path, body, headers=dict(request.headers)).done()
        asked = f"{request.method} {request.path} {json.dumps(request.body) if request.body is not None else ''}"
        yield Case(f"{group}/{order:03d} {asked.strip()[:160]}", tuple(_told(call, hidden)))
        if request.path == "/api/ask" and call.status == 200 and '"keep": false' not in json.dumps(body):
            traces = (await Call(server, "GET", "/api/traces?limit=1").done()).json["traces"]
            if traces:
                number = str(traces[0]["number"])
                trace = (await Call(server, "GET", f"/api/traces/{number}").done()).json
                last = {"trace": trace["id"], "number": number}


def _filled(text: str, last: Mapping[str, str]) -> str:
    for name, value in last.items():
        text = text.replace(f"{{{name}}}", value)
    return text


def _told(call: Call, hidden: Masks) -> Iterator[str]:
    yield f"status {call.status}"
    for name, value in sorted(call.headers.items()):
        if name not in _LEFT_OUT:
            several = ", ".join(sorted(value.split(", "))) if name == "allow" else value
            yield hidden.text(f"{name}: {several}")
    kind = call.headers.get("content-type", "")
    if "event-stream" in kind:
        for block in call.body.decode("utf-8").split("\n\n"):
            for line in filter(None, block.split("\n")):
                key, _, data = line.partition(": ")
                if key == "data" and data.startswith("{"):
                    yield from lines_of({"data": _own(json.loads(data))}, hidden)
                else:
                    yield hidden.text(line)
    elif "json" in kind:
        yield from lines_of(_own(call.json), hidden)
    else:
        text = _TOOK.sub("<duration>", hidden.text(call.body.decode("utf-8", "replace")))
        whole = len(text) <= _WHOLE
        yield from text.split("\n") if whole else [f"{len(text)} characters, {hashlib.sha256(call.body).hexdigest()}"]


def _own(value: Any) -> Any:
    """Without the moments that are told as numbers, and the sizes of files, which vary."""
    if isinstance(value, dict):
        named = {"created": "<time>", "bytes": "<size>"}
        return {name: named[name] if name in named else _own(inside) for name, inside in value.items()}
    return [_own(inside) for inside in value] if isinstance(value, list) else value
