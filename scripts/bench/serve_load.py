#!/usr/bin/env python
"""Load on `atomr serve`: many clients ask at once; is anyone forgotten, is an answer lost, does memory grow?

    scripts/bench/serve_load.py --clients 50 --seconds 60

By default a model of clockwork answers, so that the server itself is measured; --starter asks the real starter. The
server runs in a process of its own with a home of its own. Each client asks a question of its own again and again, and
checks that it gets its own answer; a few hang up in the middle. Prints JSON. Exit status 1 if an answer was lost or
mixed up, if a client got fewer answers than --least-share of the one with the most, or if the memory grew by more than
--most-growth MiB after the first third; "failed" says which.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import math
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import httpx

if TYPE_CHECKING:
    from atomr_local.models.protocol import Generation, GenerationRequest, Prompt

_ADDRESS = re.compile(r"http://127\.0\.0\.1:\d+")
_HANGS_UP = 0.05  # share of the questions whose client goes before the answer
_SAMPLE_SECONDS = 1.0


class Clockwork:
    """A model that answers after a fixed time, or when it is cancelled."""

    def __init__(self, seconds: float) -> None:
        from atomr_local.models.protocol import BackboneInfo

        self.info = BackboneInfo("clockwork", None, 100_000)
        self._seconds = seconds

    def count_tokens(self, prompt: Prompt) -> int:
        return sum(len(message.content.split()) for message in prompt.messages)

    def generate(self, request: GenerationRequest) -> Generation:
        from atomr_local.models.protocol import Generation, Token

        if request.cancellation is not None:
            request.cancellation.wait(self._seconds)
            request.cancellation.check()
        text = json.dumps({"answer": "the sun", "answers": ["the sun"], "evidence": []})
        tokens = tuple(Token(word, math.log(0.8)) for word in re.findall(r"\s*\S+", text))
        count = self.count_tokens(request.prompt)
        return Generation(text, tokens, "stop", count, count, self._seconds, (math.nan,) * len(request.watch))

    def close(self) -> None: ...


def serve(seconds: float, queue: int) -> None:
    """The server's process."""
    from atomr_local.assistant.assistant import Assistant
    from atomr_local.server.app import listening_socket, run
    from atomr_local.server.options import ServeOptions
    from atomr_local.settings.schema import load_settings

    def tell(text: str) -> None:
        print(text, file=sys.stderr, flush=True)

    with Assistant(load_settings(), Clockwork(seconds)) as assistant:
        listener = listening_socket("127.0.0.1", 0)
        tell(f"http://127.0.0.1:{listener.getsockname()[1]}")
        run(assistant, ServeOptions(queue=queue), listener, tell)


@dataclass
class Load:
    """What the clients met."""

    answered: Counter[int] = field(default_factory=Counter)
    statuses: Counter[str] = field(default_factory=Counter)
    waits: list[float] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)
    memory: list[int] = field(default_factory=list)  # KiB

    def failures(self, clients: int, least_share: float, most_growth: float) -> list[str]:
        """What is not as it should be."""
        counts = [self.answered[number] for number in range(clients)]
        share = min(counts) / max(counts) if any(counts) else 0.0
        before, after = self.peaks()
        found = {
            f"{len(self.lost)} answers were lost or mixed up": bool(self.lost),
            f"a client got {share:.2f} of the answers of another": share < least_share,
            f"memory grew by {after - before:.1f} MiB": after - before > most_growth,
            "the memory was not measured": not self.memory,
        }
        return [told for told, holds in found.items() if holds]

    def peaks(self) -> tuple[float, float]:
        """The most MiB of the first third of the time, and of the last."""
        third = max(1, len(self.memory) // 3)
        return max(self.memory[:third], default=0) / 1024, max(self.memory[-third:], default=0) / 1024

    def told(self, clients: int, seconds: float) -> dict[str, object]:
        counts = [self.answered[number] for number in range(clients)]
        waits = sorted(self.waits)
        before, after = self.peaks()
        return {
            "clients": clients,
            "seconds": round(seconds, 1),
            "answered": sum(counts),
            "a_second": round(sum(counts) / seconds, 1),
            "by_client": {
                "least": min(counts),
                "most": max(counts),
                "share": round(min(counts) / (max(counts) or 1), 3),
            },
            # Jain's index: 1 where all get the same.
            "fairness": round(sum(counts) ** 2 / (clients * sum(n * n for n in counts) or 1), 4),
            "seconds_p50": round(waits[len(waits) // 2], 3) if waits else None,
            "seconds_p95": round(waits[int(len(waits) * 0.95)], 3) if waits else None,
            "seconds_most": round(waits[-1], 3) if waits else None,
            "statuses": dict(self.statuses),
            "lost": self.lost[:10],
            "memory_mib": {
                "after_a_third": round(before, 1),
                "at_the_end": round(after, 1),
                "grown": round(after - before, 1),
            },
        }


async def client(number: int, http: httpx.AsyncClient, load: Load, strategy: str, end: float) -> None:
    """One client: asks, reads its answer, asks again."""
    chance = random.Random(number)
    turn = 0
    while time.monotonic() < end:
        turn += 1
        question = f"What shines on planet {number} in year {turn}?"
        begun = time.monotonic()
        hangs_up = chance.random() < _HANGS_UP
        trace: dict[str, object] | None = None
        try:
            async with http.stream("POST", "/api/ask", json={"question": question, "strategy": strategy}) as answer:
                if answer.status_code != 200:
                    load.statuses[str(answer.status_code)] += 1
                    await asyncio.sleep(float(answer.headers.get("Retry-After", "1")))
                    continue
                async for line in answer.aiter_lines():
                    if hangs_up and "question_asked" in line:
                        break
                    if line.startswith('data: {"event":"finished"'):
                        trace = json.loads(line[6:])["trace"]
        except httpx.HTTPError as error:
            load.lost.append(f"{question} {type(error).__name__}")
            continue
        if hangs_up:
            load.statuses["hung up"] += 1
        elif trace is None or trace["question"] != question or trace["status"] not in ("answered", "unknown"):
            load.lost.append(f"{question} {trace['status'] if trace else 'no answer'}")
        else:
            load.answered[number] += 1
            load.statuses["answered"] += 1
            load.waits.append(time.monotonic() - begun)


async def drive(address: str, process: int, options: argparse.Namespace) -> Load:
    load = Load()

    async def sample() -> None:
        while True:
            with suppress(OSError):
                status = Path(f"/proc/{process}/status").read_text(encoding="ascii")
                load.memory.append(int(re.findall(r"VmRSS:\s+(\d+)", status)[0]))
            await asyncio.sleep(_SAMPLE_SECONDS)

    limits = httpx.Limits(max_connections=None)
    async with httpx.AsyncClient(base_url=address, timeout=options.seconds + 600, limits=limits) as http:
        strategy = "rag" if options.starter else "closed-book"
        await http.post("/api/ask", json={"question": "What is loaded first?", "strategy": strategy, "stream": False})
        end = time.monotonic() + options.seconds
        sampling = asyncio.create_task(sample())
        await asyncio.gather(*(client(number, http, load, strategy, end) for number in range(options.clients)))
        sampling.cancel()
    return load


def _processor_seconds(process: int) -> float:
    with suppress(OSError):
        fields = Path(f"/proc/{process}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return 0.0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clients", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--queue", type=int, help="questions that may wait; default: one for each client")
    parser.add_argument("--call-seconds", type=float, default=0.05, help="of a model call of the clockwork")
    parser.add_argument("--starter", action="store_true", help="ask the starter instead")
    parser.add_argument("--least-share", type=float, default=0.5, help="of the answers of the client with the most")
    parser.add_argument("--most-growth", type=float, default=25, help="MiB that the server may grow")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    queue = options.clients if options.queue is None else options.queue
    if options.serve:
        serve(options.call_seconds, queue)
        return 0
    command = [sys.executable, __file__, "--serve", "--queue", str(queue), "--call-seconds", str(options.call_seconds)]
    if options.starter:
        command = [sys.executable, "-m", "atomr_local", "serve", "--port", "0", "--queue", str(queue)]
    with tempfile.TemporaryDirectory(prefix="atomr-load-") as home:
        process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env={**os.environ, "ATOMR_HOME": home})
        assert process.stderr is not None
        address = None
        for line in process.stderr:
            address = address or _ADDRESS.search(line)
            if address is not None and (not options.starter or "Ready" in line):
                break
        if address is None:
            print("the server did not start", file=sys.stderr)
            return 1
        threading.Thread(target=process.stderr.read, daemon=True).start()  # a full pipe would stop it
        begun, used = time.monotonic(), _processor_seconds(process.pid)
        load = asyncio.run(drive(address[0], process.pid, options))
        told = load.told(options.clients, time.monotonic() - begun)
        spent = _processor_seconds(process.pid) - used
        told["processor_ms_a_question"] = round(1000 * spent / max(1, load.statuses.total()), 1)
        process.send_signal(signal.SIGTERM)
        told["exit_status"] = process.wait(60)
    told["load_of_the_machine"] = round(os.getloadavg()[1], 1)
    failed = told["failed"] = load.failures(options.clients, options.least_share, options.most_growth)
    print(json.dumps(told, indent=2))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
