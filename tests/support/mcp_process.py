"""A server of the Model Context Protocol in a process of its own, with fakes behind it, spoken to in raw lines.

As a script it is that process: `python mcp_process.py endless|ready`.
"""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

_TESTS = Path(__file__).parents[1]
_VERSION = "2025-06-18"


class McpProcess:
    """A running server and what it has said."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process
        self.answers: dict[Any, dict[str, Any]] = {}
        self.told: list[str] = []
        self._lines: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        threading.Thread(target=self._read, daemon=True).start()
        threading.Thread(target=self._read_errors, daemon=True).start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._lines.put(line)
        self._lines.put(None)

    def _read_errors(self) -> None:
        assert self.process.stderr is not None
        self.told.extend(line.decode(errors="replace") for line in self.process.stderr)

    def send(self, *lines: bytes) -> None:
        """Raw lines."""
        assert self.process.stdin is not None
        self.process.stdin.write(b"".join(line + b"\n" for line in lines))
        self.process.stdin.flush()

    def ask(self, number: Any, method: str, **parameters: Any) -> None:
        self.send(request(number, method, **parameters))

    def answer(self, number: Any, seconds: float = 60) -> dict[str, Any]:
        """The answer to the request with this id."""
        end = time.monotonic() + seconds
        while number not in self.answers:
            line = self._lines.get(timeout=max(0.01, end - time.monotonic()))
            assert line is not None, f"the server ended: {''.join(self.told)[-2000:]}"
            said = json.loads(line)
            if "id" in said:
                assert said["id"] not in self.answers, "a request is answered once"
                self.answers[said["id"]] = said
        return self.answers[number]

    def call(self, number: Any, tool: str, **arguments: Any) -> dict[str, Any]:
        """The result of a tool."""
        self.ask(number, "tools/call", name=tool, arguments=arguments)
        return self.answer(number)["result"]  # type: ignore[no-any-return]

    @property
    def memory(self) -> float:
        """The most MiB that it ever held."""
        for line in Path(f"/proc/{self.process.pid}/status").read_text(encoding="ascii").splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) / 1024
        raise AssertionError("the process has ended")


def request(number: Any, method: str, **parameters: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": parameters}).encode()


def notification(method: str, **parameters: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "method": method, "params": parameters}).encode()


@contextmanager
def mcp_process(home: Path, model: str = "ready") -> Iterator[McpProcess]:
    """The server, with which the client has shaken hands. `model`: ready, or endless: it never comes to an answer."""
    process = subprocess.Popen(
        [sys.executable, __file__, model],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        env={**os.environ, "ATOMR_HOME": str(home)}, cwd=_TESTS.parent,
    )  # fmt: skip
    try:
        made = McpProcess(process)
        client = {"protocolVersion": _VERSION, "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
        made.ask("hello", "initialize", **client)
        assert made.answer("hello")["result"]["serverInfo"]["name"] == "atomr-local"
        made.send(notification("notifications/initialized"))
        yield made
    finally:
        process.kill()
        process.wait()


def main() -> None:
    sys.path[:0] = [str(_TESTS.parent), str(_TESTS)]
    from atomr_local.assistant.assistant import Assistant
    from atomr_local.assistant.session import Session
    from atomr_local.server.mcp import run
    from atomr_local.settings.schema import load_settings
    from support.fake_parts import FakeBackbone, reply
    from support.served_parts import Endless, PagesSource

    Session._load_span_reader = lambda _self: None  # type: ignore[method-assign]
    backbone = Endless() if sys.argv[1] == "endless" else FakeBackbone(*[reply("the sun")] * 1000)
    assistant = Assistant(load_settings(), backbone)  # type: ignore[arg-type]
    assistant.parts.sources = {"text": PagesSource()}
    run(assistant, lambda text: print(text, file=sys.stderr, flush=True))


if __name__ == "__main__":
    main()
