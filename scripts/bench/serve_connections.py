#!/usr/bin/env python
"""Very many connections to `atomr serve`: what they cost it, and whether it still answers.

    scripts/bench/serve_connections.py [--connections 10000] [--files 1024]

The server runs in a process of its own that may open `--files` files, as a shell usually allows; this process raises
its own limit to hold all the connections. They send nothing. One client that was there before asks a question before,
while they are open and after. Prints JSON. Exits with 1 if the server opened more files than it may for connections,
grew by more than 60 MiB, left a question unanswered, or did not take connections again afterwards.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import resource
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path

import httpx

_ADDRESS = re.compile(r"http://127\.0\.0\.1:(\d+)")
_MOST_GROWTH = 60.0  # MiB
_QUESTION = {"question": "What shines?", "strategy": "closed-book", "stream": False}
_PATIENCE = 20.0


def _files(process: int) -> int:
    return sum(1 for _ in Path(f"/proc/{process}/fd").iterdir())


def _memory(process: int) -> float:
    status = Path(f"/proc/{process}/status").read_text(encoding="ascii")
    return round(int(re.findall(r"VmRSS:\s+(\d+)", status)[0]) / 1024, 1)


def _asked(client: httpx.Client) -> float | None:
    """Seconds until the answer; None if there was none."""
    begun = time.monotonic()
    try:
        answer = client.post("/api/ask", json=_QUESTION)
    except httpx.HTTPError:
        return None
    return round(time.monotonic() - begun, 3) if answer.status_code == 200 else None


def _state(connection: socket.socket) -> str:
    """What has become of a connection."""
    connection.setblocking(False)
    try:
        answer = connection.recv(4096)
    except BlockingIOError:
        return "open"
    except OSError:
        return "reset"
    return "refused with 503" if b" 503 " in answer else "closed"


def measure(port: int, process: int, wanted: int) -> dict[str, object]:
    seen: Counter[str] = Counter()
    most_files, most_memory = 0, 0.0
    connections: list[socket.socket] = []
    with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=60) as client:
        before = {"question_seconds": _asked(client), "files": _files(process), "memory_mib": _memory(process)}
        begun = time.monotonic()
        for number in range(wanted):
            try:
                connections.append(socket.create_connection(("127.0.0.1", port), timeout=60))
            except OSError as error:
                seen[f"not connected: {error}"] += 1
            if number % 250 == 0:
                client.get("/health")  # so that its connection stays
                most_files, most_memory = max(most_files, _files(process)), max(most_memory, _memory(process))
        taken = time.monotonic() - begun
        while_open = {"question_seconds": _asked(client)}
        most_files, most_memory = max(most_files, _files(process)), max(most_memory, _memory(process))
        for connection in connections:
            seen[_state(connection)] += 1
            connection.close()
        after: dict[str, object] = {"question_seconds": _asked(client)}
    end = time.monotonic() + _PATIENCE
    while time.monotonic() < end:
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=60) as client:
            after["new_client_seconds"] = _asked(client)
        if after["new_client_seconds"] is not None:
            break
        time.sleep(0.2)
    after |= {"files": _files(process), "memory_mib": _memory(process)}
    return {
        "connections": wanted,
        "seconds_to_open": round(taken, 1),
        "became": dict(seen),
        "before": before,
        "while_open": while_open | {"most_files": most_files, "most_memory_mib": most_memory},
        "after": after,
    }


def _failures(told: dict[str, object], files: int) -> list[str]:
    before, during, after = (told[name] for name in ("before", "while_open", "after"))
    assert isinstance(before, dict) and isinstance(during, dict) and isinstance(after, dict)
    found = []
    if during["most_files"] >= files:
        found.append("it opened as many files as it may")
    if during["most_memory_mib"] - before["memory_mib"] > _MOST_GROWTH:
        found.append(f"it grew by more than {_MOST_GROWTH:g} MiB")
    if during["question_seconds"] is None:
        found.append("a question was not answered while they were open")
    if after["new_client_seconds"] is None:
        found.append("a new client was not served afterwards")
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--connections", type=int, default=10_000)
    parser.add_argument("--files", type=int, default=1024, help="that the server may open")
    options = parser.parse_args()
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    needed = options.connections + 100
    if hard not in (resource.RLIM_INFINITY,) and hard < needed:
        print(f"this process may open {hard} files; {needed} are needed (ulimit -Hn)", file=sys.stderr)
        return 2
    command = [sys.executable, str(Path(__file__).with_name("serve_load.py")), "--serve", "--queue", "32"]
    limited = ["bash", "-c", f'ulimit -n {options.files} && exec "$@"', "bash", *command, "--call-seconds", "0.05"]
    with tempfile.TemporaryDirectory(prefix="atomr-connections-") as home:
        process = subprocess.Popen(limited, stderr=subprocess.PIPE, text=True, env={**os.environ, "ATOMR_HOME": home})
        assert process.stderr is not None
        address = next((found for line in process.stderr if (found := _ADDRESS.search(line))), None)
        if address is None:
            print("the server did not start", file=sys.stderr)
            return 1
        threading.Thread(target=process.stderr.read, daemon=True).start()  # a full pipe would stop it
        resource.setrlimit(resource.RLIMIT_NOFILE, (needed, hard))
        told = measure(int(address[1]), process.pid, options.connections)
        process.send_signal(signal.SIGTERM)
        told["exit_status"] = process.wait(60)
    told["failures"] = failures = _failures(told, options.files)
    print(json.dumps(told, indent=2))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
