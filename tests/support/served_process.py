"""A server in a process of its own, with fakes behind it: what a test may do to it hurts no other.

As a script it is that process: `python served_process.py OPTIONS`, where OPTIONS are JSON.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_TESTS = Path(__file__).parents[1]
_READY = re.compile(r"PORT (\d+)")


@dataclass(frozen=True)
class ServedProcess:
    """A running server. `log`: what it has written."""

    port: int
    process: int
    log: list[str]

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def open_files(self) -> int:
        return sum(1 for _ in Path(f"/proc/{self.process}/fd").iterdir())

    @property
    def memory(self) -> float:
        """MiB that it holds."""
        status = Path(f"/proc/{self.process}/status").read_text(encoding="ascii")
        return int(re.findall(r"VmRSS:\s+(\d+)", status)[0]) / 1024


@contextmanager
def served_process(home: Path, *, files: int | None = None, **options: Any) -> Iterator[ServedProcess]:
    """The server; `files`: that it may open, `options`: those of the server, and `token`."""
    limit = f"ulimit -n {files} && " if files else ""
    command = ["bash", "-c", f'{limit}exec "$@"', "bash", sys.executable, __file__, json.dumps(options)]
    environment = {**os.environ, "ATOMR_HOME": str(home)}
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment, cwd=_TESTS.parent
    )
    assert process.stdout is not None
    log: list[str] = []
    try:
        ready = None
        for line in process.stdout:
            log.append(line)
            if ready := _READY.match(line):
                break
        assert ready is not None, "".join(log)
        threading.Thread(target=lambda: log.extend(process.stdout or ()), daemon=True).start()
        yield ServedProcess(int(ready[1]), process.pid, log)
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            raise


def main() -> None:
    sys.path[:0] = [str(_TESTS.parent), str(_TESTS)]
    from atomr_local.assistant.assistant import Assistant
    from atomr_local.assistant.session import Session
    from atomr_local.server.app import listening_socket, run
    from atomr_local.server.options import ServeOptions
    from atomr_local.settings.schema import load_settings
    from atomr_local.system.credentials import Secret
    from support.fake_parts import FakeBackbone, reply
    from support.served_parts import PagesSource

    Session._load_span_reader = lambda _self: None  # type: ignore[method-assign]
    options = json.loads(sys.argv[1])
    options["token"] = Secret(options.pop("token", ""))
    assistant = Assistant(load_settings(), FakeBackbone(*[reply("the sun")] * 1000))  # type: ignore[arg-type]
    assistant.parts.sources = {"text": PagesSource()}
    listener = listening_socket("127.0.0.1", 0)
    print(f"PORT {listener.getsockname()[1]}", flush=True)
    run(assistant, ServeOptions(**options), listener, lambda text: print(text, flush=True))


if __name__ == "__main__":
    main()
