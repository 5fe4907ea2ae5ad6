"""Background jobs of the terminal UI: commands of this program in child processes.

A process, not a thread: building takes the processor for minutes, and the frames must not wait for it. What is stopped
goes on where it was when it is begun again: that is what the builds' ledger is for.
"""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from atomr_local.system.sandbox import package_command, signal_group
from atomr_local.system.sanitize import sanitize_line

_LINES_KEPT = 200
_PATIENCE = 10.0  # seconds for a stopped command to leave things as it should, before it is killed


class JobState(StrEnum):
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    STOPPED = "stopped"


@dataclass(frozen=True)
class Command:
    """A command of the program, and what to call it."""

    title: str
    arguments: tuple[str, ...]


@dataclass
class Job:
    """One command: `lines` are the last that it printed, sanitised."""

    number: int
    title: str
    arguments: tuple[str, ...]
    state: JobState = JobState.RUNNING
    lines: deque[str] = field(default_factory=lambda: deque(maxlen=_LINES_KEPT))
    started: float = 0.0
    ended: float | None = None
    _process: subprocess.Popen[str] | None = None

    @property
    def last_line(self) -> str:
        return self.lines[-1] if self.lines else ""

    def seconds(self, now: float) -> float:
        """How long it has been running, or ran; `now` on the clock of `Jobs`."""
        return (self.ended if self.ended is not None else now) - self.started


class Jobs:
    """The jobs of this session, the oldest first. `changed` is called from other threads, at every line and end."""

    def __init__(self, changed: Callable[[Job], None], *, clock: Callable[[], float] = time.monotonic) -> None:
        self._changed = changed
        self._clock = clock
        self._jobs: list[Job] = []
        self._numbered = 0
        self._closing = False

    def __iter__(self) -> Iterator[Job]:
        return iter(tuple(self._jobs))

    @property
    def running(self) -> list[Job]:
        return [job for job in self._jobs if job.state is JobState.RUNNING]

    def now(self) -> float:
        """The present time on the clock that jobs are timed with, in seconds."""
        return self._clock()

    def start(self, title: str, arguments: Sequence[str]) -> Job:
        """Run `atomr ARGUMENTS` in the background."""
        self._numbered += 1
        job = Job(self._numbered, title, tuple(arguments), started=self._clock())
        self._jobs.append(job)
        environment = os.environ | {"ATOMR_PROGRESS_EVERY": "1", "NO_COLOR": "1", "PYTHONIOENCODING": "utf-8"}
        try:
            job._process = subprocess.Popen(
                package_command("from atomr_local.cli.main import main; main()", *arguments),
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=environment,
                text=True, encoding="utf-8", errors="replace", start_new_session=True,
            )  # fmt: skip
        except (OSError, ValueError) as error:  # a null byte in an argument is a ValueError
            job.lines.append(sanitize_line(f"could not be started: {error}"))
            job.state, job.ended = JobState.FAILED, self._clock()
            self._changed(job)
            return job
        threading.Thread(target=self._follow, args=(job, job._process), name=f"job-{job.number}", daemon=True).start()
        return job

    def forget(self, job: Job) -> None:
        """Take a job that has ended out of the list."""
        if job.state is not JobState.RUNNING and job in self._jobs:
            self._jobs.remove(job)

    def stop(self, job: Job) -> None:
        """Interrupt the command as Ctrl-C does; it is killed when it does not end by itself."""
        process = job._process
        if process is None or job.state is not JobState.RUNNING:
            return
        job.state = JobState.STOPPED
        signal_group(process, signal.SIGINT)
        threading.Thread(target=_end, args=(process,), daemon=True).start()
        self._changed(job)

    def close(self) -> None:
        """Stop everything that runs, and wait for it."""
        self._closing = True
        processes = [job._process for job in self.running if job._process is not None]
        for job in self.running:
            self.stop(job)
        for process in processes:
            _end(process)

    def _follow(self, job: Job, process: subprocess.Popen[str]) -> None:
        assert process.stdout is not None
        with process.stdout:
            for line in process.stdout:
                clean = sanitize_line(line)
                if clean:
                    job.lines.append(clean)
                    self._notify(job)
        code = process.wait()
        if job.state is JobState.RUNNING:
            job.state = JobState.DONE if code == 0 else JobState.FAILED
        job.ended = self._clock()
        self._notify(job)

    def _notify(self, job: Job) -> None:
        if not self._closing:
            self._changed(job)


def _end(process: subprocess.Popen[str]) -> None:
    try:
        process.wait(_PATIENCE)
    except subprocess.TimeoutExpired:
        signal_group(process, signal.SIGKILL)
        process.wait()
