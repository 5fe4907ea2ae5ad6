"""A process beside the program that explains a crash of a native library.

A process forked at the very start waits on a pipe. Python's `faulthandler` writes to it when a fatal signal comes
(SIGSEGV, SIGABRT, SIGILL, SIGBUS, SIGFPE); the monitor then gives the terminal back as it was and prints one line. It
also gives the terminal back when the program is killed while the terminal UI is open. It ends with the program: the
pipe closes. Only `atomr` itself has it; `Assistant` in another program changes nothing there.
"""

from __future__ import annotations

import contextlib
import os
import re
import select
import signal
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

_SCREEN_ON, _SCREEN_OFF, _DONE = b"\x01", b"\x02", b"\x03"
_FATAL = re.compile(rb"Fatal Python error: ([^\r\n]{1,80})")
_FRAME = re.compile(r'^  File "([^"]+)"', re.MULTILINE)
_SIGNALS = {
    "Segmentation fault": "SIGSEGV", "Aborted": "SIGABRT", "Illegal instruction": "SIGILL", "Bus error": "SIGBUS",
    "Floating point exception": "SIGFPE",
}  # fmt: skip
# What stands in the path of a Python frame → what crashed below it.
_LIBRARIES = (
    (("/llama_cpp/", "/atomr_local/models/"), "llama.cpp, which runs the model,"),
    (("/lancedb/", "/lance/", "/pyarrow/", "/indexing/text_", "/sources/text"), "LanceDB, which searches text,"),
    (("/sources/graph/", "/indexing/graph_"), "Oxigraph, which holds the graph,"),
    (("/onnxruntime/", "/torch/", "/sentence_transformers/", "/indexing/embedding"), "the embedding library"),
)
_MOST_BYTES = 1 << 18  # heard of a fault
_SILENCE = 0.1  # seconds after which nothing more is expected of a fault
# What the terminal UI turns on: mouse reports, focus reports, pasted text marked as such, resizes reported in band,
# the keyboard protocol of kitty, drawing held back, the hidden cursor, and last the alternate screen.
_RESTORE = (
    b"\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1006l\x1b[?1015l\x1b[?1016l\x1b[?1004l\x1b[?2004l\x1b[?2048l\x1b[<u"
    b"\x1b[?2026l\x1b[0m\x1b[?1049l\x1b[?25h"
)
_STDERR = 2
_IGNORED = ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGTSTP", "SIGTTOU", "SIGTTIN", "SIGPIPE", "SIGUSR1", "SIGUSR2")
_monitor: list[_Monitor] = []


@dataclass(frozen=True)
class _Monitor:
    """Attributes: process: its id; pipe: reports events to it; details: the user wants to see tracebacks."""

    process: int
    pipe: int
    details: bool


def start() -> None:
    """Fork the monitor. To be called once, before any thread; does nothing where that is not possible."""
    if _monitor or threading.active_count() > 1:
        return
    import faulthandler

    wanted = faulthandler.is_enabled()  # by the user: then the details are to be seen
    try:
        terminal = _terminal()
        reader, pipe = os.pipe()
    except OSError:
        return
    try:
        process = os.fork()
    except OSError:
        os.close(reader)
        os.close(pipe)
        return
    if process == 0:
        try:
            _watch(reader, terminal, os.getppid(), details=wanted)
        finally:
            os._exit(0)
    os.close(reader)
    _monitor.append(_Monitor(process, pipe, wanted))
    faulthandler.enable(pipe, all_threads=True)


def end() -> None:
    """End the monitor, because the program ends cleanly. Idempotent."""
    if not _monitor:
        return
    monitor = _monitor.pop()
    import faulthandler

    faulthandler.disable()
    if monitor.details:
        faulthandler.enable()
    _send(monitor, _DONE)
    with contextlib.suppress(OSError):
        os.close(monitor.pipe)
    with contextlib.suppress(OSError):
        os.waitpid(monitor.process, 0)


@contextlib.contextmanager
def full_screen() -> Iterator[None]:
    """While the terminal UI has the terminal."""
    for monitor in _monitor:
        _send(monitor, _SCREEN_ON)
    try:
        yield
    finally:
        for monitor in _monitor:
            _send(monitor, _SCREEN_OFF)


def _send(monitor: _Monitor, what: bytes) -> None:
    with contextlib.suppress(OSError):
        os.write(monitor.pipe, what)


def _terminal() -> list[Any] | None:
    """The terminal's modes as they are now; None if standard error is none."""
    if not os.isatty(_STDERR):
        return None
    import termios

    try:
        return termios.tcgetattr(_STDERR)
    except termios.error:
        return None


# The monitor's process


def _watch(reader: int, terminal: list[Any] | None, program: int, *, details: bool) -> None:
    for name in _IGNORED:
        with contextlib.suppress(AttributeError, ValueError, OSError):
            signal.signal(getattr(signal, name), signal.SIG_IGN)
    # Nothing of the program's stays open here but its standard error: a reader of its output must see the end.
    low, high = sorted((reader, _STDERR))
    for begin, stop in ((0, low), (low + 1, high), (high + 1, os.sysconf("SC_OPEN_MAX"))):
        os.closerange(begin, stop)
    text, screen = b"", False
    while chunk := os.read(reader, 1 << 16):
        text += chunk
        if text.endswith(_DONE):
            return
        if _FATAL.search(text):
            break
        screen = _screen(text, screen)
        text = text[-200:]
    fatal = _FATAL.search(text)
    if fatal is None and not screen:
        return  # killed by somebody who knows
    screen = _screen(text.partition(b"Fatal")[0], screen)
    if screen:
        _restore_terminal(terminal)
    if fatal is None:
        _print("atomr was ended from outside, or because memory ran out.")
        return
    text = _remaining(reader, text)
    what, advice = explanation(text[fatal.start() :].decode("utf-8", "replace"))
    _print(f"atomr stopped: {what} {advice}", text[fatal.start() :] if details else b"")
    with contextlib.suppress(Exception):
        from atomr_local.assistant.history.pending import note_crash

        note_crash(program, f"atomr stopped: {what}")


def _screen(text: bytes, before: bool) -> bool:
    on, off = text.rfind(_SCREEN_ON), text.rfind(_SCREEN_OFF)
    return before if on == off else on > off


def _remaining(reader: int, text: bytes) -> bytes:
    """The rest of the report, until the program is gone or silent."""
    while len(text) < _MOST_BYTES and select.select([reader], [], [], _SILENCE)[0]:
        chunk = os.read(reader, 1 << 16)
        if not chunk:
            break
        text += chunk
    return text


def explanation(fault: str) -> tuple[str, str]:
    """What happened, and what to do, from what `faulthandler` wrote."""
    match = _FATAL.match(fault.encode("utf-8", "replace"))
    cause = match[1].decode("utf-8", "replace") if match else ""
    name = _SIGNALS.get(cause, cause)
    advice = "`atomr doctor --deep` looks for the cause."
    if name == "SIGILL":
        advice = "It was probably built for another processor: `atomr doctor --deep` says more."
    return f"{_library(fault)} crashed ({name}).", advice


def _library(fault: str) -> str:
    threads = re.split(r"^(?=(?:Current thread|Thread) 0x)", fault, flags=re.MULTILINE)[1:]
    paths = [path for thread in threads if thread.startswith("Current") for path in _FRAME.findall(thread)]
    if not paths:  # a thread that a library made for itself has no frames: what the others call names it
        paths = [match[1] for thread in threads if (match := _FRAME.search(thread))]
    for path in paths:  # the innermost first
        for fragments, library in _LIBRARIES:
            if any(fragment in path.replace("\\", "/") for fragment in fragments):
                return library
    return "a library that it uses"


def _restore_terminal(terminal: list[Any] | None) -> None:
    with contextlib.suppress(Exception):
        os.write(_STDERR, _RESTORE)
        import termios

        # A shell that has the terminal back already has set its own modes.
        if terminal is not None and os.tcgetpgrp(_STDERR) == os.getpgrp():
            termios.tcflush(_STDERR, termios.TCIFLUSH)
            termios.tcsetattr(_STDERR, termios.TCSANOW, terminal)


def _print(line: str, details: bytes = b"") -> None:
    with contextlib.suppress(OSError):
        os.write(_STDERR, details + line.encode("utf-8", "replace") + b"\n")
