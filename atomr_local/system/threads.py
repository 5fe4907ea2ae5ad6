"""Threads of llama.cpp and torch, and how they wait for each other.

Both libraries run on GNU OpenMP, whose threads spin while they wait. With as many threads as cores, one other
busy process makes each wait last a scheduler slice: hundreds of times slower. Sleeping at once instead
(`OMP_WAIT_POLICY=passive`) makes two threads slower than one on small models. A bounded spin serves both, and
GNU OpenMP reads it once, when the first of the two libraries is loaded. `scripts/bench/backbone.py threads`
measures the choice.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

SPIN_COUNT = 1000
# Generating one token reads every weight once: memory is the limit, and more threads than this only contend.
_GENERATION_LIMIT = 8


def prepare_threads() -> None:
    """Set how OpenMP threads wait. To be called before llama_cpp or torch is imported; what the user set stays."""
    if "OMP_WAIT_POLICY" not in os.environ:
        os.environ.setdefault("GOMP_SPINCOUNT", str(SPIN_COUNT))


def _quota() -> int | None:
    """Cores that a container may use (cgroup 2), or None without a limit."""
    try:
        limit, period = Path("/sys/fs/cgroup/cpu.max").read_text("ascii").split()
        return max(1, round(int(limit) / int(period)))
    except (OSError, ValueError):
        return None


def available_cores() -> int:
    """Cores that this process may run on."""
    affinity = getattr(os, "sched_getaffinity", None)
    cores = len(affinity(0)) if affinity else os.cpu_count() or 1
    return min(cores, _quota() or cores)


def generation_threads(wanted: int = 0) -> int:
    """Threads for generating: `wanted`, or a choice for this machine when 0."""
    return wanted or min(available_cores(), _GENERATION_LIMIT)


def batch_threads(wanted: int = 0) -> int:
    """Threads for reading a prompt: `wanted`, or every core when 0."""
    return wanted or available_cores()


def give_way() -> None:
    """Let this process have only what others leave of the processor. To be called before its threads are started."""
    idle = getattr(os, "SCHED_IDLE", None)
    with contextlib.suppress(OSError):
        if idle is not None:
            os.sched_setscheduler(0, idle, os.sched_param(0))
            return
    with contextlib.suppress(OSError):
        os.nice(19)
