"""Forks of one process that has paid for the imports: each runs one command, met by one fault."""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SHIM = Path(__file__).with_name("shim.c")
COMPILERS = ("cc", "gcc", "clang")
_POLL = 0.002


@dataclass(frozen=True)
class Fault:
    """What meets a child process.

    Attributes:
        kind: none, an errno's name, kill (at a write), moment (SIGKILL after so many seconds), or clock.
        nth: which call, counted from 1; for clock, seconds by which the wall clock is off.
        after: seconds; for clock, when it jumps (0: from the beginning).
    """

    kind: str = "none"
    nth: int = 0
    number: int = 0
    sticky: bool = False
    after: float = 0.0

    def __str__(self) -> str:
        if self.kind == "moment":
            return f"SIGKILL after {self.after:.3f} s"
        if self.kind == "clock":
            return f"clock {self.nth:+d} s after {self.after:.3f} s"
        return f"{self.kind} at write {self.nth}" if self.kind != "none" else "nothing"


@dataclass(frozen=True)
class Ended:
    """How a child ended; status below 0: by that signal. `calls`: writes counted, -1 where it was killed."""

    status: int
    out: str
    err: str
    seconds: float
    calls: int = -1
    result: Any = None
    hung: bool = False


def compile_shim(folder: Path) -> Path | None:
    """The shared library to preload; None where there is no C compiler."""
    compiler = next((name for name in COMPILERS if shutil.which(name)), None)
    if compiler is None or not sys.platform.startswith("linux"):
        return None
    library = folder / "shim.so"
    subprocess.run(
        [compiler, "-O1", "-shared", "-fPIC", "-w", "-o", str(library), str(SHIM), "-ldl"], check=True, timeout=120
    )
    return library


class Child:
    """A fork that runs `work` in the environment of `home`, with its streams in files."""

    def __init__(self, home: Path, work: Callable[[], Any], fault: Fault, armed: Path | None = None) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="atomr-fault-"))
        for name in ("out", "err"):
            (self._folder / name).touch()
        self.fault = fault
        self.begun = time.monotonic()
        sys.stdout.flush()
        sys.stderr.flush()
        self.pid = os.fork()
        if self.pid == 0:
            self._run(home, work, armed or home)

    def _run(self, home: Path, work: Callable[[], Any], armed: Path) -> None:
        status = 70
        try:
            os.setpgid(0, 0)
            signal.signal(signal.SIGINT, signal.default_int_handler)
            for number, name in ((1, "out"), (2, "err")):
                os.dup2(os.open(self._folder / name, os.O_WRONLY), number)
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            os.environ["ATOMR_HOME"] = str(home)
            os.chdir(self._folder)
            shim = ctypes.CDLL(None)
            fault = self.fault
            if fault.kind == "clock":
                _jump(shim, fault)
            elif fault.kind != "moment":
                number = -1 if fault.kind == "kill" else fault.number
                shim.fault_arm(str(armed).encode(), fault.nth, number, int(fault.sticky))
            result = None
            try:
                result = work()
                status = 0
            except SystemExit as stop:
                status = stop.code if isinstance(stop.code, int) else int(stop.code is not None)
            except BaseException:
                traceback.print_exc()
            if fault.kind not in ("clock", "moment"):
                shim.fault_disarm()
            calls = shim.fault_count() if fault.kind not in ("clock", "moment") else -1
            sys.stdout.flush()
            sys.stderr.flush()
            (self._folder / "result").write_text(json.dumps({"calls": calls, "result": result}))
        except BaseException:
            traceback.print_exc()
            status = 70
        finally:
            os._exit(status)

    def wait(self, timeout: float = 120.0) -> Ended:
        """Wait for it, kill it at its moment, and tell how it ended."""
        moment = self.begun + self.fault.after if self.fault.kind == "moment" else None
        hung = False
        while True:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                break
            now = time.monotonic()
            if moment is not None and now >= moment:
                self._kill()
                moment = None
            if now > self.begun + timeout and not hung:
                hung = True
                self._kill()
            time.sleep(_POLL)
        self._kill()  # processes that it began
        seconds = time.monotonic() - self.begun
        out, err = ((self._folder / name).read_text(errors="replace") for name in ("out", "err"))
        told: dict[str, Any] = {"calls": -1, "result": None}
        with contextlib.suppress(OSError, ValueError):
            told = json.loads((self._folder / "result").read_text())
        shutil.rmtree(self._folder, ignore_errors=True)
        return Ended(os.waitstatus_to_exitcode(status), out, err, seconds, told["calls"], told["result"], hung)

    def _kill(self) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL) if self._running() else None

    def _running(self) -> bool:
        try:
            return os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None
        except ChildProcessError:
            return False


def run(home: Path, work: Callable[[], Any], fault: Fault | None = None, timeout: float = 120.0) -> Ended:
    """Fork, run `work`, wait."""
    return Child(home, work, fault or Fault()).wait(timeout)


def _jump(shim: ctypes.CDLL, fault: Fault) -> None:
    if not fault.after:
        shim.fault_clock(ctypes.c_long(fault.nth))
        return

    def later(*_: object) -> None:
        shim.fault_clock(ctypes.c_long(fault.nth))

    signal.signal(signal.SIGALRM, later)
    signal.setitimer(signal.ITIMER_REAL, fault.after)
