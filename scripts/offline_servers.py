"""`atomr mcp` and `atomr serve` under a system-call trace, for `offline_check.py`: a client asks each, and looks up."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

_SMALL = ("--graph-index", "small", "--text-index", "small")
_ADDRESS = re.compile(r"http://127\.0\.0\.1:\d+")
_SECONDS = 500
_MCP = "2025-06-18"
# What a server of this machine does with its own socket; nothing of it leads anywhere else.
_LISTENS = re.compile(
    r"\b(?:socket\(AF_INET, SOCK_STREAM\b|bind\(\d+, \{sa_family=AF_INET, [^}]*inet_addr\(\"127\.0\.0\.1\"\)\}"
    r"|listen\(\d|accept4?\(\d)"
)


def outward(calls: Sequence[str]) -> list[str]:
    """Those of the traced calls that do more than listen on 127.0.0.1 and take connections there."""
    return [call for call in calls if not _LISTENS.search(call)]


def ask_mcp(command: Sequence[str], environment: dict[str, str], home: Path, question: str) -> tuple[int, str]:
    """Ask over standard input and output; the exit status of the server, and what is wrong with its answers."""
    with _started(command, environment, home, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as (process, told):
        given, taken = process.stdin, process.stdout
        assert given is not None and taken is not None
        answers = iter(taken.readline, "")

        def call(number: int, method: str, **parameters: Any) -> Any:
            _send(given, {"jsonrpc": "2.0", "id": number, "method": method, "params": parameters})
            for line in answers:
                if (said := json.loads(line)).get("id") == number:
                    return said.get("result", {})
            raise TimeoutError(f"no answer: {''.join(told)[-300:]}")

        client = {"name": "offline check", "version": "1"}
        try:
            call(1, "initialize", protocolVersion=_MCP, capabilities={}, clientInfo=client)
            _send(given, {"jsonrpc": "2.0", "method": "notifications/initialized", "params": {}})
            # First the question: it has time to wait for what is loaded, and a look-up has 30 seconds.
            asked = call(2, "tools/call", name="ask", arguments={"question": question})
            found = call(3, "tools/call", name="search_text", arguments={"query": "painter"})
        except (TimeoutError, OSError, ValueError) as error:
            return 1, str(error)
        given.close()
        status = process.wait(60)
    wrong = "" if "Ann Lee" in str(found) else "search_text found nothing"
    if asked.get("structuredContent", {}).get("status") != "answered":
        wrong = f"ask: {str(asked)[:200]}"
    return status, wrong


def ask_serve(command: Sequence[str], environment: dict[str, str], home: Path, question: str) -> tuple[int, str]:
    """Ask over HTTP, in each protocol; the exit status of the server, and what is wrong with its answers."""
    with _started(command, environment, home) as (process, told):
        address = _wait_for(lambda: next((found[0] for line in told if (found := _ADDRESS.search(line))), ""), process)
        if not address:
            return 1, f"it did not start: {''.join(told)[-300:]}"
        try:
            wrong = "; ".join(name for name, holds in _served(address, question) if not holds)
        except (OSError, ValueError, LookupError) as error:
            return 1, f"{type(error).__name__}: {error}"
        for child in Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text(encoding="ascii").split():
            os.kill(int(child), signal.SIGTERM)  # strace ends with it
        status = process.wait(60)
    return status, f"not as it should be: {wrong}" if wrong else ""


def _served(address: str, question: str) -> Iterator[tuple[str, bool]]:
    """What the server offers, and whether it did it as it should."""
    page = _fetched(f"{address}/")
    files = re.findall(r'(?:src|href)="/?(page/[^"]+)"', page)
    yield "the page and its files", "<html" in page and bool(files) and all(_fetched(f"{address}/{it}") for it in files)
    # First a question: it has time to wait for what is loaded, and a look-up has 30 seconds.
    asked = json.loads(_fetched(f"{address}/api/ask", {"question": question, "stream": False}))
    yield f"/api/ask: {asked['status']}", asked["status"] == "answered"
    streamed = _fetched(f"{address}/api/ask", {"question": question, "earlier": [asked["id"]]})
    yield "/api/ask, streamed", "event: finished" in streamed and '"status":"answered"' in streamed
    yield "/api/search", "Ann Lee" in _fetched(f"{address}/api/search?q=painter")
    yield "/api/traces", asked["id"] in _fetched(f"{address}/api/traces/{asked['id']}")
    yield "the web is refused", _status(f"{address}/api/ask", {"question": question, "web": True}) == 403
    chat: dict[str, Any] = {"model": "atomr", "messages": [{"role": "user", "content": question}]}
    answer = json.loads(_fetched(f"{address}/v1/chat/completions", chat))
    yield "/v1/chat/completions", "Bob Lee" in answer["choices"][0]["message"]["content"]
    chunks = _fetched(f"{address}/v1/chat/completions", chat | {"stream": True})
    yield "/v1/chat/completions, streamed", "Bob Lee" in chunks and "[DONE]" in chunks
    yield "/v1/models", '"atomr"' in _fetched(f"{address}/v1/models")
    vectors = json.loads(_fetched(f"{address}/v1/embeddings", {"model": "embedder", "input": question}))
    yield "/v1/embeddings", bool(vectors["data"][0]["embedding"])
    told = _MCPOverHTTP(f"{address}/mcp")
    answered = told.call("ask", question=question)
    yield "/mcp: ask", answered.get("structuredContent", {}).get("status") == "answered"
    yield "/mcp: search_text", "Ann Lee" in str(told.call("search_text", query="painter"))
    yield "/mcp: query_graph", "rows" in str(told.call("query_graph", sparql="SELECT ?s WHERE {?s ?p ?o} LIMIT 1"))


class _MCPOverHTTP:
    """A session of the Model Context Protocol over HTTP."""

    def __init__(self, address: str) -> None:
        self._address = address
        self._headers = {"Accept": "application/json, text/event-stream"}
        self._number = 0
        client = {"name": "offline check", "version": "1"}
        self._send("initialize", {"protocolVersion": _MCP, "capabilities": {}, "clientInfo": client})
        self._send("notifications/initialized", {}, notification=True)

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """The result of the tool."""
        return self._send("tools/call", {"name": tool, "arguments": arguments})

    def _send(self, method: str, parameters: dict[str, Any], *, notification: bool = False) -> dict[str, Any]:
        self._number += 1
        message = {"jsonrpc": "2.0", "method": method, "params": parameters}
        request = _request(self._address, message if notification else message | {"id": self._number}, self._headers)
        with _OPENER.open(request, timeout=_SECONDS) as answer:
            if session := answer.headers.get("mcp-session-id"):
                self._headers["mcp-session-id"] = session
                self._headers["mcp-protocol-version"] = _MCP
            lines = [line.removeprefix("data: ") for line in answer.read().decode().splitlines()]
        found = [json.loads(line) for line in lines if line.startswith("{")]
        given: dict[str, Any] = next((item for item in found if item.get("id") == self._number), {})
        return dict(given.get("result", {}))


SERVERS: dict[str, tuple[tuple[str, ...], Callable[..., tuple[int, str]], bool]] = {
    # arguments, how it is asked, whether it listens
    "mcp": (("mcp", *_SMALL), ask_mcp, False),
    "serve": (("serve", "--port", "0", "--grace", "0.1", *_SMALL), ask_serve, True),
}


@contextmanager
def _started(
    command: Sequence[str], environment: dict[str, str], home: Path, **pipes: Any
) -> Iterator[tuple[subprocess.Popen[str], list[str]]]:
    """The process, with the lines that it writes to standard error; ended at the latest after a while."""
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment, cwd=home, **pipes)
    told: list[str] = []
    threading.Thread(target=lambda: told.extend(process.stderr or ()), daemon=True).start()
    end = threading.Timer(_SECONDS, process.kill)
    end.start()
    try:
        yield process, told
    finally:
        end.cancel()
        process.kill()
        process.wait()


def _send(stream: IO[str], message: dict[str, Any]) -> None:
    stream.write(f"{json.dumps(message)}\n")
    stream.flush()


def _wait_for(look: Callable[[], str], process: subprocess.Popen[str]) -> str:
    """What `look` gives as soon as it gives something; empty if the process ends before."""
    waits = threading.Event()
    while not (found := look()) and process.poll() is None:
        waits.wait(0.1)
    return found


# Without what the environment says of proxies.
_OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def _request(
    address: str, body: dict[str, Any] | None = None, headers: dict[str, str] | None = None
) -> urllib.request.Request:
    data = None if body is None else json.dumps(body).encode()
    return urllib.request.Request(address, data, {"Content-Type": "application/json", **(headers or {})})


def _fetched(address: str, body: dict[str, Any] | None = None) -> str:
    with _OPENER.open(_request(address, body), timeout=_SECONDS) as answer:
        return str(answer.read().decode())


def _status(address: str, body: dict[str, Any]) -> int:
    try:
        with _OPENER.open(_request(address, body), timeout=_SECONDS) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        return error.code


if __name__ == "__main__":
    sys.exit("Run scripts/offline_check.py.")
