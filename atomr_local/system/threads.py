"""Threads of llama.cpp and torch, and memory that is given back to the system."""

from __future__ import annotations

import contextlib
import ctypes
import gc
import os
import sys
from pathlib import Path
from typing import Any

# Threads of llama.cpp and torch, and how they wait for each other.
#
# Both libraries run on GNU OpenMP, whose threads spin while they wait. With as many threads as cores, one other
# busy process makes each wait last a scheduler slice: hundreds of times slower. Sleeping at once instead
# (`OMP_WAIT_POLICY=passive`) makes two threads slower than one on small models. A bounded spin serves both, and
# GNU OpenMP reads it once, when the first of the two libraries is loaded. `scripts/bench/backbone.py threads`
# measures the choice.

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


# Memory given back to the system. The C library keeps what is freed, in the arena of the thread that freed it: every
# question runs on threads of its own, and every model is loaded by another one.
#
# Measured with `scripts/soak.py`: loading the starter's model a dozen times left 65 MiB behind, and 900 questions 33
# MiB.

# malloc.h of glibc, and the variables by which a user sets the same.
_M_MMAP_THRESHOLD, _M_ARENA_MAX = -3, -8
_ARENAS = 2
# Bytes of a block that is mapped for itself. glibc raises it to 32 MB, whose gaps stay; with 1 MB the encoders read a
# passage half as fast again, because what they compute in is mapped anew each time.
_LARGE = 4 << 20
_CHOSEN = {"MALLOC_ARENA_MAX": (_M_ARENA_MAX, _ARENAS), "MALLOC_MMAP_THRESHOLD_": (_M_MMAP_THRESHOLD, _LARGE)}


def keep_heap_small() -> None:
    """Let threads share two arenas of glibc, instead of eight for each core, and give large blocks back when freed.

    What the user set stays. To be called before models and indexes are loaded.
    """
    if "GLIBC_TUNABLES" in os.environ:
        return
    for name, (option, value) in _CHOSEN.items():
        if name not in os.environ:
            _glibc("mallopt", option, value)


def trim_memory() -> None:
    """Return pages that hold nothing any longer. Half a millisecond."""
    _glibc("malloc_trim", 0)


def give_back_memory() -> None:
    """After something large was freed: collect what refers to itself, then :func:`trim_memory`."""
    gc.collect()
    trim_memory()


def _glibc(name: str, *arguments: Any) -> None:
    if sys.platform == "linux":
        with contextlib.suppress(OSError, AttributeError):  # another C library, such as musl
            getattr(ctypes.CDLL(None), name)(*arguments)
