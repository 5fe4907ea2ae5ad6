"""Child processes under limits, for content and libraries that may stall, crash or fill the memory.

Code in C answers to no signal, and some content keeps it busy for hours; a process can be ended by the system. Messages
are JSON after four bytes of length. A child imports the standard library alone here, and so starts quickly.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import importlib.util
import json
import os
import platform
import resource
import select
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

if TYPE_CHECKING:
    from atomr_local.system.cancellation import Cancellation

LENGTH = struct.Struct("<I")
LONGEST = 1 << 30  # bytes of a message; what a child may hold in memory leaves no room for longer ones
_READ = 1 << 16  # bytes at a time
_SAID = 1 << 16  # bytes kept of what a child prints, the last
_GRACE = 5.0  # seconds to end for a child that has closed its pipe, or sent what is no message
# Bytes that a pipe may hold; Linux lets a process without privileges have so many.
_PIPE = 1 << 20
_ANY_PIPE = 16 << 10  # that a pipe of any system holds
_ROOT = str(Path(__file__).resolve().parents[2])
# The very package that this process runs, and nothing else of the folder the user stands in: there may be a checkout
# of another version, or a json.py. The package's folder comes last on the path.
_FIND = "import sys; sys.path.insert(0, sys.argv.pop(1)); import atomr_local; sys.path.append(sys.path.pop(0)); "


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of a child process; None: those of this process. No child leaves a core file.

    Attributes:
        memory: bytes of address space.
        processor: seconds of processor time in all.
        file_size: bytes of a file that it writes.
        descriptors: that are open at the same time.
        sockets: whether it may open any (Linux alone can refuse them).
        one_thread: the system ends it with the thread that started it (Linux).
    """

    memory: int | None = None
    processor: int | None = None
    file_size: int | None = 1 << 20
    descriptors: int | None = 64
    sockets: bool = False
    one_thread: bool = False

    def apply(self) -> None:
        """Hold this process to them."""
        _bound(resource.RLIMIT_CORE, 0)
        _bound(resource.RLIMIT_CPU, self.processor, spare=1)
        _bound(resource.RLIMIT_FSIZE, self.file_size)
        _bound(resource.RLIMIT_NOFILE, self.descriptors)
        if not self.sockets:
            _refuse_sockets()
        _bound(resource.RLIMIT_AS, self.memory)


@dataclass(frozen=True, slots=True)
class End:
    """How a child ended.

    Attributes:
        status: its exit status; that of a signal is negative.
        late: it was ended here, for it took too long.
        ready: its function had asked for a message, or sent one.
        said: the last of what it printed.
    """

    status: int = 0
    late: bool = False
    ready: bool = True
    said: str = ""

    @property
    def out_of_time(self) -> bool:
        """Whether it took too long, by the clock or in processor time, here or by its own limit."""
        return self.late or self.status in (-signal.SIGPROF, -signal.SIGXCPU, -signal.SIGALRM)


def message(content: Any) -> bytes:
    """The bytes of a message."""
    return framed(json.dumps(content).encode())


def framed(body: bytes) -> bytes:
    """The bytes of a message that is JSON already."""
    return LENGTH.pack(len(body)) + body


def package_command(code: str, *arguments: str) -> list[str]:
    """The command of a Python process in which `atomr_local` is the package that runs here."""
    # -P: nothing is imported from the directory that the user happens to be in.
    return [sys.executable, "-P", "-c", _FIND + code, _ROOT, *arguments]


def signal_group(process: subprocess.Popen[Any], what: signal.Signals) -> None:
    """Send a signal to a process that began a session, and to all that it started."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, what)


class Sandbox:
    """A function in a child process, which starts with the first message, and again after each end.

    It ends with :meth:`close`, or with this process, however that ends. Belongs to one thread; :meth:`kill` is for any.

    Args:
        function: `module:function`, or `file.py:function` where the packages around the file take long to import;
            called with the task and a :class:`Parent`.
        task: what it is told when it starts, as JSON.
        limits: of the process.
        unstarted: the error for a process that does not start, from the rest of the sentence; by default it is an
            OSError, or an :class:`End` that was not ready.
        takes_files: whether open files are sent to it.

    Attributes:
        process: the one that runs; None before the first message and after the end.
        room: bytes of messages that may be sent before one is received, without waiting for the process.
    """

    _pipes: tuple[int, int, int]

    def __init__(
        self,
        function: str,
        task: Callable[[], Any],
        limits: Limits,
        *,
        unstarted: Callable[[str], Exception] | None = None,
        takes_files: bool = False,
    ) -> None:
        self._function = function
        self._task = task
        self._limits = limits
        self._unstarted = unstarted
        self._takes_files = takes_files
        self._files: socket.socket | None = None
        self.process: subprocess.Popen[bytes] | None = None
        self.room = _ANY_PIPE
        self._watched: Cancellation | None = None
        self._forget()

    def start(self) -> None:
        """:meth:`launch` it, and wait until its function asks for messages."""
        self.launch()
        while not (self._ready or self._incoming or self._at_end):
            self._flow(None)
        if not self._ready and not self._incoming:
            self.ended()

    def launch(self) -> None:
        """Start the process unless it runs.

        Raises:
            OSError: it cannot be started; in its place the error of `unstarted`, where there is one.
        """
        if self.process is not None:
            return
        passed: tuple[int, ...] = ()
        with contextlib.ExitStack() as theirs:
            if self._takes_files:
                self._files, other = socket.socketpair()
                passed = (theirs.enter_context(other).fileno(),)
            try:
                # A session of its own: Ctrl-C is for this process, which then ends that one.
                self.process = process = subprocess.Popen(
                    package_command("from atomr_local.system.sandbox import main; main()", *map(str, passed)),
                    bufsize=0, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                    start_new_session=True, pass_fds=passed,
                )  # fmt: skip
            except OSError as error:
                self._forget()
                if self._unstarted is None:
                    raise
                raise self._unstarted(f"cannot be started: {error}") from error
        assert process.stdin is not None and process.stdout is not None and process.stderr is not None
        self._pipes = process.stdin.fileno(), process.stdout.fileno(), process.stderr.fileno()
        os.set_blocking(self._pipes[0], False)
        self.room = _widened(*self._pipes[:2])
        begin = {"parent": os.getpid(), "function": self._function, "limits": asdict(self._limits)}
        self.send(message(begin | {"task": self._task()}))

    def send(self, sent: bytes, handle: int | None = None) -> None:
        """Send a :func:`message`, and a copy of an open file; where the process has ended, :meth:`receive` tells."""
        self.launch()
        if handle is not None and self._files is not None:
            with contextlib.suppress(OSError):  # it has ended
                socket.send_fds(self._files, [b"f"], [handle])
        left = memoryview(sent)
        while left:
            left = left[self._flow(None, left) :]

    def receive(
        self, left: Callable[[], float] | float | None = None, cancellation: Cancellation | None = None
    ) -> Any | None:
        """The next message; None where the process has ended, see :meth:`ended`.

        Args:
            left: seconds that it may take, or what tells them; then the process is ended.

        Raises:
            Cancelled: `cancellation` was thrown; the process is ended.
        """
        if cancellation is not None and cancellation is not self._watched:
            self._watched = cancellation
            cancellation.on_cancel(self.kill)
        if isinstance(left, int | float):
            until = time.monotonic() + left
            left = lambda: until - time.monotonic()  # noqa: E731
        found = self._next(left)
        if cancellation is not None and cancellation.cancelled:
            self.close()
            cancellation.check()
        return found

    def ended(self) -> End:
        """Wait for the end of a process that gives no more messages, and forget it; how it ended.

        Raises:
            Exception: that of `unstarted`, where it did not start.
        """
        if (process := self.process) is None:
            return End()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(_GRACE)
        signal_group(process, signal.SIGKILL)  # also what it started itself, and left
        for _ in range(_PIPE // _READ):  # whoever escaped may print for ever
            if self._said_all or not self._flow(0.0):
                break
        end = End(process.wait(), self._late, self._ready, self._said.decode("utf-8", "replace").strip())
        self._forget()
        if not end.ready and not end.late and self._unstarted is not None:
            raise self._unstarted(f"does not start: {end.said[-300:]}")
        return end

    def alive(self) -> bool:
        """Whether it runs; a process can be ended from outside."""
        return self.process is not None and self.process.poll() is None

    def kill(self) -> None:
        """End the process and all that it started, at once; who receives from it sees its end. From any thread."""
        if (process := self.process) is not None and process.returncode is None:  # its number is not given anew
            signal_group(process, signal.SIGKILL)

    def close(self) -> None:
        """End the process; the next message would start another."""
        self.kill()
        self._forget()

    def _forget(self) -> None:
        process, self.process = self.process, None
        if process is not None:
            with process:  # closes its pipes and waits for it
                pass
        if self._files is not None:
            self._files.close()
        self._files = None
        self._ready = self._late = self._at_end = self._said_all = False
        self._incoming, self._said = bytearray(), bytearray()
        self._watched = None

    def _next(self, left: Callable[[], float] | None) -> Any | None:
        """The next message; None at the end of the process, which it meets also by a message that is none."""
        while self.process is not None:
            end = LENGTH.size
            if len(self._incoming) >= end:
                end += LENGTH.unpack_from(self._incoming)[0]
                if end > LENGTH.size + LONGEST:
                    break
                if len(self._incoming) >= end:
                    body = self._incoming[LENGTH.size : end]
                    del self._incoming[:end]
                    try:
                        found = json.loads(body)
                    except (ValueError, RecursionError):
                        break
                    self._ready = True
                    if found != {}:
                        return found
                    continue
            if self._at_end:
                return None
            seconds = None if left is None else left()
            if seconds is not None and seconds <= 0:
                self._late = True
                self.kill()
                break
            self._flow(seconds)
        return None

    def _flow(self, seconds: float | None, outgoing: memoryview | bytes = b"") -> int:
        """Wait until something can be read or written, and do it: neither process waits for the other for ever.

        Returns:
            The bytes written, or lost for the process has ended; with none to write, those read.
        """
        requests, answers, printed = self._pipes
        waiting = select.poll()
        if not self._at_end and len(self._incoming) <= LENGTH.size + LONGEST:
            waiting.register(answers, select.POLLIN)
        if not self._said_all:
            waiting.register(printed, select.POLLIN)
        if outgoing:
            waiting.register(requests, select.POLLOUT)
        moved = 0
        for handle, _ in waiting.poll(None if seconds is None else max(0.0, seconds) * 1000):
            if handle == requests:
                try:
                    moved = os.write(handle, outgoing)
                except BlockingIOError:
                    continue
                except OSError:
                    moved = len(outgoing)
                continue
            data = os.read(handle, _READ)
            moved += 0 if outgoing else len(data)
            if handle == answers:
                self._incoming += data
                self._at_end = not data
            else:
                self._said = (self._said + data)[-_SAID:]
                self._said_all = not data
        return moved


def _widened(requests: int, answers: int) -> int:
    """Let the two pipes hold as much as they may; what of the first can be relied on."""
    capacity = 0
    for handle in (answers, requests):
        with contextlib.suppress(OSError, AttributeError):  # other systems have no such calls
            capacity = fcntl.fcntl(handle, fcntl.F_GETPIPE_SZ)
            capacity = fcntl.fcntl(handle, fcntl.F_SETPIPE_SZ, _PIPE)
    # A pipe is made of pages, and a message may leave half of one empty.
    return max(_ANY_PIPE, capacity * 3 // 8)


# The child's side.


class Parent:
    """Whoever sends messages to this process: iterates over them, and takes answers.

    Attributes:
        size: bytes of the last message.
    """

    def __init__(self, requests: BinaryIO, answers: int, files: socket.socket | None = None) -> None:
        self._requests = requests
        self._answers = answers
        self._files = files
        self.size = 0

    def __iter__(self) -> Iterator[Any]:
        self.send({})
        while (content := self.next()) is not None:
            yield content

    def next(self) -> Any | None:
        """The next message; None at their end."""
        if len(length := self._requests.read(LENGTH.size)) < LENGTH.size:
            return None
        (self.size,) = LENGTH.unpack(length)
        body = self._requests.read(self.size)
        return json.loads(body) if len(body) == self.size else None

    def send(self, content: Any) -> None:
        """Write one message; an empty one tells that this process is ready, and no more."""
        self.write(json.dumps(content).encode())

    def write(self, body: bytes) -> None:
        """Write one message that is JSON already, whole also where this process is stopped for a while."""
        left = memoryview(framed(body))
        while left:
            left = left[os.write(self._answers, left) :]

    def file(self) -> BinaryIO:
        """The open file that came with the last message."""
        assert self._files is not None
        _, handles, _, _ = socket.recv_fds(self._files, 1, 1)
        return os.fdopen(handles[0], "rb")


@contextlib.contextmanager
def processor_time(seconds: float) -> Iterator[None]:
    """The system ends this process, even in C, when what is inside takes more processor time than this."""
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def main() -> None:
    """Run as the child: the function that the first message names, under its limits."""
    requests, answers = os.fdopen(os.dup(0), "rb"), os.dup(1)
    # What libraries print goes with the errors, which the parent keeps the last of; they have nothing to read.
    nowhere = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nowhere, 0)
    os.close(nowhere)
    os.dup2(2, 1)
    parent = Parent(requests, answers, socket.socket(fileno=int(sys.argv[1])) if sys.argv[1:] else None)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, who ends this process
    for number in (signal.SIGALRM, signal.SIGPROF, signal.SIGXCPU):
        signal.signal(number, signal.SIG_DFL)
    begin = parent.next()
    if begin is None:
        return
    limits = Limits(**begin["limits"])
    if limits.one_thread and sys.platform == "linux":
        _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != begin["parent"]:
            os._exit(1)
    limits.apply()
    threading.Thread(target=_end_with, args=(requests.fileno(),), name="parent", daemon=True).start()
    place, _, name = begin["function"].rpartition(":")
    if place.endswith(".py"):  # alone, without the packages that it stands in
        spec = importlib.util.spec_from_file_location("worker", place)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    else:
        module = importlib.import_module(place)
    with contextlib.suppress(BrokenPipeError):
        getattr(module, name)(begin["task"], parent)


def _end_with(requests: int) -> None:
    """End this process when nobody can send to it any more, even in the middle of its work."""
    waiting = select.poll()
    waiting.register(requests, 0)
    waiting.poll()
    os._exit(0)


def _bound(what: int, most: int | None, spare: int = 0) -> None:
    if most is None:
        return
    hard = resource.getrlimit(what)[1]
    hard = most + spare if hard == resource.RLIM_INFINITY else min(hard, most + spare)
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(what, (min(most, hard), hard))


_PR_SET_PDEATHSIG, _PR_SET_SECCOMP, _PR_SET_NO_NEW_PRIVS = 1, 22, 38
_IO_URING_SETUP = 425  # on every processor; it could open sockets without their call
# By processor: its number in the kernel, that of the call `socket`, and the first number of a foreign set of calls.
_CALLS = {"x86_64": (0xC000003E, 41, 0x40000000), "aarch64": (0xC00000B7, 198, 0xFFFFFFFF)}


def _refuse_sockets() -> None:
    """Let the kernel refuse new sockets to this process and to all that it starts."""
    if sys.platform != "linux" or platform.machine() not in _CALLS or sys.maxsize < 1 << 32:
        return
    processor, call, foreign = _CALLS[platform.machine()]
    load, equal, at_least, give = 0x20, 0x15, 0x35, 0x06
    refused, allowed = 0x00050000 | 13, 0x7FFF0000  # as "permission denied"; done
    steps = (
        (load, 0, 0, 4), (equal, 0, 4, processor),
        (load, 0, 0, 0), (equal, 2, 0, call), (equal, 1, 0, _IO_URING_SETUP), (at_least, 0, 1, foreign),
        (give, 0, 0, refused), (give, 0, 0, allowed),
    )  # fmt: skip
    program = ctypes.create_string_buffer(b"".join(struct.pack("=HBBI", *step) for step in steps))
    described = ctypes.create_string_buffer(struct.pack("@HP", len(steps), ctypes.addressof(program)))
    if _prctl(_PR_SET_NO_NEW_PRIVS, 1) == 0:
        _prctl(_PR_SET_SECCOMP, 2, ctypes.addressof(described))


def _prctl(what: int, first: int, second: int = 0) -> int:
    try:
        call = ctypes.CDLL(None).prctl
    except (OSError, AttributeError):
        return -1
    return int(call(what, *(ctypes.c_ulong(number) for number in (first, second, 0, 0))))
