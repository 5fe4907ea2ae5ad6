"""What the children of the sandbox's tests do."""

from __future__ import annotations

import ctypes
import os
import resource
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from atomr_local.system.sandbox import LENGTH, LONGEST, Parent, message, processor_time


def echo(task: Any, parent: Parent) -> None:
    for content in parent:
        parent.send([task, content])


def read_files(_task: Any, parent: Parent) -> None:
    for name in parent:
        with parent.file() as stream:
            parent.send([name, stream.read().decode()])


def run(task: str, parent: Parent) -> None:
    """Run code, which knows the parent."""
    exec(task, {"parent": parent, **globals()})


def told_of_limits(folder: str, parent: Parent) -> None:
    def refused(act: Any) -> str:
        try:
            act()
        except (OSError, MemoryError) as error:
            return type(error).__name__
        return ""

    def open_many() -> None:
        kept = [os.open(os.devnull, os.O_RDONLY) for _ in range(1000)]
        del kept

    library = ctypes.CDLL(None, use_errno=True)
    place = Path(folder) / "written"
    for _ in parent:
        parent.send(
            {
                "memory": refused(lambda: bytearray(1 << 30)),
                "small file": refused(lambda: place.write_bytes(bytes(1 << 10))),
                "file": refused(lambda: place.write_bytes(bytes(2 << 20))),
                "size": place.stat().st_size,
                "sockets": [refused(lambda family=family: socket.socket(family)) for family in (2, 10, 1)],
                "below Python": library.socket(2, 1, 0),
                "in a child": subprocess.run(
                    [sys.executable, "-c", "import socket; socket.socket()"], capture_output=True, check=False
                ).returncode,
                "core": resource.getrlimit(resource.RLIMIT_CORE),
                "descriptors": refused(open_many),
            }
        )


def spin(seconds: float, parent: Parent) -> None:
    for _ in parent:
        with processor_time(seconds):
            while True:
                pass


__all__ = ["LENGTH", "LONGEST", "echo", "message", "read_files", "run", "signal", "spin", "time", "told_of_limits"]
