"""A child process that reads untrusted content under limits: a task line, then a request a line, JSON in and out.

Parsers in C answer to no signal, and some content keeps them busy for hours; a process can be ended by the system. The
child's side is :mod:`atomr_local.indexing.readers.child_process`.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import select
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO

from atomr_local.errors import MissingPartError

_ROOT = Path(__file__).parents[3]
# Bytes that a pipe may hold; Linux lets a process without privileges have so many.
_PIPE = 1 << 20
_ANY_PIPE = 16 << 10  # that a pipe of any system holds


class ChildProcess:
    """The process of one worker; it ends with :meth:`close`, or with this process, however that ends.

    Args:
        worker: the script that it runs, which gets the folder of the package as its first argument.
        what: what it reads, for errors, such as "wikitext".
        task: what it is told when it starts, as JSON.

    Attributes:
        process: the one that runs; None before the first request and after one that ended it.
        room: bytes of requests that may be sent before an answer is read; with more, each process could wait for the
            other.
    """

    def __init__(self, worker: Path, what: str, task: Callable[[], dict[str, Any]]) -> None:
        self._worker = worker
        self._what = what
        self._task = task
        self.process: subprocess.Popen[bytes] | None = None
        self.room = _ANY_PIPE

    def start(self, *arguments: str, handles: Sequence[int] = ()) -> None:
        """Start it unless it runs.

        Args:
            arguments: more arguments for the worker.
            handles: descriptors that it inherits.

        Raises:
            MissingPartError: it cannot be started.
        """
        if self.process is not None:
            return
        # -P: nothing is imported from the directory that the user happens to be in.
        command = [sys.executable, "-P", str(self._worker), str(_ROOT), *arguments]
        try:
            # A session of its own: Ctrl-C is for this process, which then ends that one.
            self.process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
                pass_fds=tuple(handles),
            )
        except OSError as error:
            raise MissingPartError(f"the process that reads {self._what} cannot be started: {error}") from error
        self.room = _widened(self.process)
        self.send(json.dumps(self._task()).encode() + b"\n")
        assert self.process.stdout is not None
        if not self.process.stdout.readline():
            problems = self.process.communicate()[1].decode("utf-8", "replace").strip()
            self.process = None
            raise MissingPartError(f"the process that reads {self._what} does not start: {problems[-300:]}")

    def send(self, line: bytes) -> None:
        """Send a request, starting the process if need be. Where it has ended, the missing answer tells."""
        self.start()
        assert self.process is not None
        assert self.process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.write(line)
            self.process.stdin.flush()

    def answered(self, seconds: float) -> bool:
        """Wait so long for an answer, or the end of the process, to be there."""
        assert self.process is not None
        assert self.process.stdout is not None
        return bool(select.select([self.process.stdout], [], [], seconds)[0])

    def answer(self) -> dict[str, Any] | None:
        """The next answer; None where the process has ended over its request."""
        assert self.process is not None
        assert self.process.stdout is not None
        try:
            found = json.loads(self.process.stdout.readline())
        except ValueError:
            return None
        return found if isinstance(found, dict) else None

    def ended(self) -> int:
        """Wait for the end of the process and forget it; its exit status."""
        process, self.process = self.process, None
        if process is None:
            return 0
        process.communicate()
        return process.returncode

    def close(self) -> None:
        """End the process; the next request would start another."""
        if self.process is not None:
            self.process.kill()
            self.ended()


def _widened(process: subprocess.Popen[bytes]) -> int:
    """Let the pipes to the process and from it hold as much as they may; what of it can be relied on."""
    capacity = 0
    if hasattr(fcntl, "F_SETPIPE_SZ"):
        for stream in (process.stdin, process.stdout):
            assert stream is not None
            with contextlib.suppress(OSError):
                fcntl.fcntl(stream, fcntl.F_SETPIPE_SZ, _PIPE)
        assert process.stdin is not None
        with contextlib.suppress(OSError):
            capacity = fcntl.fcntl(process.stdin, fcntl.F_GETPIPE_SZ)
    # A pipe is made of pages, and a request may leave half of one empty.
    return max(_ANY_PIPE, capacity * 3 // 8)


def out_of_time(status: int) -> bool:
    """Whether a process with this exit status was ended because it had used up its processor time."""
    return status == -signal.SIGPROF


# The limits of a child process that reads untrusted content, and how it answers. Standard library only.


def bound_memory(size: int) -> None:
    """Let this process take `size` bytes of address space at most; more is a MemoryError."""
    with contextlib.suppress(ImportError, ValueError, OSError):
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (size, size))


@contextlib.contextmanager
def processor_time(seconds: float) -> Iterator[None]:
    """The system ends this process, even in C, when what is inside takes more processor time than this."""
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def answer(answers: BinaryIO, **found: Any) -> None:
    """Write one answer."""
    answers.write(json.dumps(found).encode() + b"\n")
    answers.flush()


def answer_stream() -> BinaryIO:
    """Standard output for answers."""
    # Of its own: with PYTHONUNBUFFERED that of `sys` loses what a write interrupted by a stop of the process left over.
    return os.fdopen(sys.stdout.fileno(), "wb", closefd=False)
