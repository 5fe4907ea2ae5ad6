"""`atomr mcp` and `atomr serve` under a system-call trace, for `offline_check.py`: a client asks each, and looks up."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

_SMALL = ("--graph-index", "small", "--text-index", "small")
_ADDRESS = re.compile(r"http://127\.0\.0\.1:\d+")
_SECONDS = 300
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
    """Ask over HTTP; the exit status of the server, and what is wrong with its answers."""
    with _started(command, environment, home) as (process, told):
        address = _wait_for(lambda: next((found[0] for line in told if (found := _ADDRESS.search(line))), ""), process)
        if not address:
            return 1, f"it did not start: {''.join(told)[-300:]}"
        try:
            page = _fetched(f"{address}/")
            asked = json.loads(_fetched(f"{address}/api/ask", {"question": question, "stream": False}))
            found = _fetched(f"{address}/api/search?q=painter")
        except (OSError, ValueError) as error:
            return 1, str(error)
        for child in Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text(encoding="ascii").split():
            os.kill(int(child), signal.SIGTERM)  # strace ends with it
        status = process.wait(60)
    wrong = "" if "Ann Lee" in found and "<html" in page else "the look-up or the page is not as it should be"
    return status, wrong or ("" if asked["status"] == "answered" else f"ask: {asked['status']}")


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


def _fetched(address: str, body: dict[str, Any] | None = None) -> str:
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(address, data, {"Content-Type": "application/json"})
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(request, timeout=_SECONDS) as answer:
        return str(answer.read().decode())


if __name__ == "__main__":
    sys.exit("Run scripts/offline_check.py.")
