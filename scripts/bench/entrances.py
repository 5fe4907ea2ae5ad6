#!/usr/bin/env python
"""What each entrance adds to a question: the library, `atomr serve` in its three protocols, `atomr mcp`.

    scripts/bench/entrances.py [--rounds 100] [--starter]

By default a model of clockwork answers in a fixed time, so that what differs is the entrance; --starter asks the real
starter, the same question each time. The library runs in this process, each server in one of its own, with a home of
its own. In each round every entrance is asked once, in turn, so that whatever else the machine does meets all of them.

First sign: until a client has the first thing that tells it of the question's progress: an event of a stage, a plan or
a step, which MCP gives as progress and a chat completion as reasoning. Answer: until it has the whole answer.
Processor: what the client and the server together used of it meanwhile; other work on the machine changes it less.
Prints JSON: medians in milliseconds, and the median of the differences to the library in the same round.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from serve_load import Clockwork

from atomr_local.server.mcp import progress_text

if TYPE_CHECKING:
    from atomr_local.assistant.assistant import Assistant

_ADDRESS = re.compile(r"http://127\.0\.0\.1:\d+")
_PROGRESS = re.compile(r"event: (?:stage_changed|plan_ready|node_started|node_finished)")
_QUESTION = "Who was the paternal grandfather of Charles Darwin?"
_CLOCKWORK_STRATEGY = "closed-book"
_STARTER_STRATEGY = "atomr"
# The entrances, with the server of each.
_SERVERS = {
    "library": "",
    "http /api/ask": "http",
    "http /v1/chat/completions": "http",
    "http /mcp": "http",
    "mcp stdio": "mcp",
}


@dataclass(frozen=True)
class Taken:
    """Seconds until the first sign of a question, and until its answer; of the processor until then."""

    first: float
    answer: float
    processor: float = 0.0


Ask = Callable[[], Awaitable[Taken]]


def assistant_of(seconds: float | None) -> Assistant:
    """The assistant that every entrance serves; `seconds`: of a call of the clockwork, None: the starter."""
    from atomr_local.assistant.assistant import Assistant
    from atomr_local.settings.schema import load_settings

    strategy = _STARTER_STRATEGY if seconds is None else _CLOCKWORK_STRATEGY
    settings = load_settings(strategy=strategy, history={"keep": False})
    return Assistant(settings, None if seconds is None else Clockwork(seconds))


def serve(entrance: str, seconds: float | None) -> None:
    """A server's process."""
    _process_file(entrance).write_text(str(os.getpid()), encoding="ascii")
    with assistant_of(seconds) as assistant:
        assistant.preload()
        if entrance == "mcp":
            from atomr_local.server.mcp import make_server

            asyncio.run(make_server(assistant).run_stdio_async())
            return
        from atomr_local.server.app import listening_socket, run
        from atomr_local.server.options import ServeOptions

        listener = listening_socket("127.0.0.1", 0)
        print(f"http://127.0.0.1:{listener.getsockname()[1]}", file=sys.stderr, flush=True)
        run(assistant, ServeOptions(keep=False), listener, lambda _: None)


def _process_file(entrance: str) -> Path:
    """Holds the number of the server's process."""
    return Path(os.environ["ATOMR_HOME"]) / f"{entrance}.pid"


def _processor_seconds(entrance: str) -> float:
    """What this process has used of the processor, and the server of the entrance; empty: there is none."""
    if not entrance:
        return time.process_time()
    number = int(_process_file(entrance).read_text(encoding="ascii"))
    # The clock of another process in Linux, as clock_getcpuclockid(3) gives it; its ended threads count.
    return time.process_time() + time.clock_gettime((~number << 3) | 2)


def _command(entrance: str, seconds: float | None) -> list[str]:
    more = ["--starter"] if seconds is None else ["--call-seconds", str(seconds)]
    return [sys.executable, __file__, "--serve", entrance, *more]


@contextmanager
def http_server(seconds: float | None) -> Iterator[str]:
    """Its address."""
    process = subprocess.Popen(_command("http", seconds), stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    try:
        address = next((found[0] for line in process.stderr if (found := _ADDRESS.search(line))), None)
        if address is None:
            raise SystemExit("the server did not start")
        threading.Thread(target=process.stderr.read, daemon=True).start()  # a full pipe would stop it
        yield address
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(60)


def library(assistant: Assistant) -> Ask:
    async def ask() -> Taken:
        begun, first = time.perf_counter(), None
        async for event in assistant.astream(_QUESTION):
            if first is None and progress_text(event):
                first = time.perf_counter() - begun
        return Taken(first or time.perf_counter() - begun, time.perf_counter() - begun)

    return ask


def native(http: httpx.AsyncClient) -> Ask:
    async def ask() -> Taken:
        begun, first = time.perf_counter(), None
        async with http.stream("POST", "/api/ask", json={"question": _QUESTION}) as answer:
            answer.raise_for_status()
            async for line in answer.aiter_lines():
                if first is None and _PROGRESS.match(line):
                    first = time.perf_counter() - begun
        return Taken(first or time.perf_counter() - begun, time.perf_counter() - begun)

    return ask


def chat(http: httpx.AsyncClient, strategy: str) -> Ask:
    body = {"model": strategy, "stream": True, "messages": [{"role": "user", "content": _QUESTION}]}

    async def ask() -> Taken:
        begun, first = time.perf_counter(), None
        async with http.stream("POST", "/v1/chat/completions", json=body) as answer:
            answer.raise_for_status()
            async for line in answer.aiter_lines():
                if first is None and '"reasoning_content":' in line:
                    first = time.perf_counter() - begun
        return Taken(first or time.perf_counter() - begun, time.perf_counter() - begun)

    return ask


def tool(client: Client) -> Ask:
    async def ask() -> Taken:
        first: list[float] = []
        begun = time.perf_counter()

        async def progress(progress: float, total: float | None, message: str | None) -> None:  # noqa: ARG001
            first.append(time.perf_counter() - begun)

        given = await client.call_tool("ask", {"question": _QUESTION}, progress_callback=progress)
        taken = time.perf_counter() - begun
        if given.is_error:
            raise SystemExit(f"MCP: {given.content}")
        return Taken(first[0] if first else taken, taken)

    return ask


@asynccontextmanager
async def entrances(seconds: float | None) -> AsyncIterator[dict[str, Ask]]:
    """Every entrance, open."""
    strategy = _STARTER_STRATEGY if seconds is None else _CLOCKWORK_STRATEGY
    command, *arguments = _command("mcp", seconds)
    async with AsyncExitStack() as opened:
        assistant = opened.enter_context(assistant_of(seconds))
        await asyncio.to_thread(assistant.preload)
        address = opened.enter_context(http_server(seconds))
        http = await opened.enter_async_context(httpx.AsyncClient(base_url=address, timeout=600))
        parameters = StdioServerParameters(command=command, args=arguments, env=dict(os.environ))
        stdio = await opened.enter_async_context(Client(stdio_client(parameters)))
        streamed = await opened.enter_async_context(Client(f"{address}/mcp"))
        asks = (library(assistant), native(http), chat(http, strategy), tool(streamed), tool(stdio))
        yield dict(zip(_SERVERS, asks, strict=True))


async def measure(seconds: float | None, rounds: int) -> dict[str, Any]:
    taken: dict[str, list[Taken]] = defaultdict(list)
    async with entrances(seconds) as every:
        for turn in range(rounds + 2):
            for name, ask in every.items():
                used = _processor_seconds(_SERVERS[name])
                found = await ask()
                found = replace(found, processor=_processor_seconds(_SERVERS[name]) - used)
                if turn >= 2:  # the first ones open connections and import what is left
                    taken[name].append(found)
    base = taken["library"]

    def told(name: str, part: Callable[[Taken], float]) -> dict[str, float]:
        mine = [1000 * part(item) for item in taken[name]]
        added = [here - 1000 * part(there) for here, there in zip(mine, base, strict=True)]
        return {"median_ms": round(statistics.median(mine), 2), "added_ms": round(statistics.median(added), 2)}

    return {
        "rounds": rounds,
        "model": "the starter" if seconds is None else f"clockwork, {seconds:g} s a call",
        "entrances": {
            name: {
                "first_sign": told(name, lambda item: item.first),
                "answer": told(name, lambda item: item.answer),
                "processor": told(name, lambda item: item.processor),
            }
            for name in taken
        },
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--call-seconds", type=float, default=0.05, help="of a model call of the clockwork")
    parser.add_argument("--starter", action="store_true", help="ask the starter instead")
    parser.add_argument("--serve", choices=("http", "mcp"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    seconds = None if options.starter else options.call_seconds
    if options.serve:
        serve(options.serve, seconds)
        return 0
    with tempfile.TemporaryDirectory(prefix="atomr-entrances-") as home:
        os.environ["ATOMR_HOME"] = str(Path(home))
        print(json.dumps(asyncio.run(measure(seconds, options.rounds)), indent=2))
    return 0


if __name__ == "__main__":
    sys.exit(main())
