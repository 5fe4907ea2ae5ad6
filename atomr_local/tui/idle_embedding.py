"""Passages embedded while no question runs: of the text indexes that the settings name, one after another.

The work is a command in a process of its own that has only what others leave of the processor. It is stopped when a
question begins; what it has made is kept, and it goes on from there.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from atomr_local.tui.jobs import JobState

if TYPE_CHECKING:
    from atomr_local.settings.schema import Settings
    from atomr_local.tui.jobs import Job, Jobs

ALL = "all"
LOOK_EVERY = 5.0  # seconds
_QUIET = 20.0  # seconds without a question or another job before it begins
Find = Callable[[Sequence[str], Callable[[str], None]], object]


class IdleEmbedding:
    """Starts and stops the command. To be used on one thread.

    Attributes:
        job: the command that runs or ran last.
    """

    def __init__(
        self,
        jobs: Jobs,
        settings: Callable[[], Settings | None],
        busy: Callable[[], bool],
        find: Find,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Make it; nothing is started before the first :meth:`look`.

        Args:
            settings: those that hold now; None while there are none.
            busy: whether a question runs.
            find: looks on another thread for an index among these names that lacks vectors, and calls back with it.
        """
        self._jobs, self._settings, self._busy, self._find, self._clock = jobs, settings, busy, find, clock
        self._quiet_since = clock()
        self._failed: set[str] = set()
        self._name = ""
        self.job: Job | None = None

    @property
    def names(self) -> list[str]:
        """Of the chosen indexes; ["all"] for every one."""
        from atomr_local.indexing.store import index_names

        settings = self._settings()
        return index_names(settings.ui.embed_idle) if settings is not None else []

    def chosen(self, name: str) -> bool:
        """Whether the passages of this index are embedded."""
        return name in self.names or ALL in self.names

    def owns(self, job: Job) -> bool:
        return job is self.job

    def stop(self) -> None:
        """Stop now, and wait for quiet before the next beginning."""
        self._quiet_since = self._clock()
        if self.job is not None and self.job.state is JobState.RUNNING:
            self._jobs.stop(self.job)

    def look(self) -> None:
        """Begin or stop, as things are; to be called every few seconds."""
        runs = self.job is not None and self.job.state is JobState.RUNNING
        if self.job is not None and self.job.state is JobState.FAILED:
            self._failed.add(self._name)
        others = any(job is not self.job for job in self._jobs.running)
        if self._busy() or others or (runs and not self.chosen(self._name)):
            self.stop()
            return
        left = [name for name in self.names if name not in self._failed]
        if left and not runs and self._clock() - self._quiet_since >= _QUIET:
            self._find(left, self._begin)

    def _begin(self, name: str) -> None:
        """Called with what was found; "" if every passage has a vector."""
        runs = self.job is not None and self.job.state is JobState.RUNNING
        if not name or name in self._failed or runs or self._busy() or self._jobs.running:
            return
        if self.job is not None:
            self._jobs.forget(self.job)  # a day has many pauses
        self._name = name
        self.job = self._jobs.start(f"embed {name} while idle", ("text", "embed", name, "--background"))


def lacking_vectors(names: Sequence[str]) -> str:
    """The first text index among these that lacks vectors; "" if there is none. It reads the disk."""
    from atomr_local.indexing.store import list_indexes
    from atomr_local.indexing.text_index.vectors import vector_state

    for entry in list_indexes():
        if entry.kind != "text" or entry.manifest is None or not (entry.name in names or ALL in names):
            continue
        if vector_state(entry.manifest).completeness != "all":
            return entry.name
    return ""
