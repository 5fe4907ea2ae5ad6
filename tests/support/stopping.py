"""Stops a process for a moment, as Ctrl-Z or a laptop's lid does, while it waits for somebody to read what it writes."""

from __future__ import annotations

import os
import signal
import struct
import subprocess
import time

import pytest

needs_stopping = pytest.mark.skipif(not hasattr(signal, "SIGSTOP"), reason="no process can be stopped on this system")
_MOST_HELD = 1 << 15  # bytes; a pipe that holds more and takes no more is full


def stop_while_it_waits(process: subprocess.Popen[bytes]) -> None:
    """Stop the process once its standard output is full, and let it go on."""
    import fcntl
    import termios

    assert process.stdout is not None
    before, held = -1, 0
    deadline = time.monotonic() + 120
    while held <= _MOST_HELD or held != before:
        assert time.monotonic() < deadline, "it writes too little"
        time.sleep(0.1)
        before = held
        (held,) = struct.unpack("i", fcntl.ioctl(process.stdout.fileno(), termios.FIONREAD, bytes(4)))
    os.kill(process.pid, signal.SIGSTOP)
    time.sleep(0.05)
    os.kill(process.pid, signal.SIGCONT)
    time.sleep(0.05)
