"""Processes beside the one of the tests."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path


def dead_process() -> int:
    """The number of a process that has ended."""
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    return ended.pid


def is_running(pid: int) -> bool:
    """Whether there is such a process that has not ended; one that nobody waits for has."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
