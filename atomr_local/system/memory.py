"""Memory given back to the system. The C library keeps what is freed, in the arena of the thread that freed it: every
question runs on threads of its own, and every model is loaded by another one.

Measured with `scripts/soak.py`: loading the starter's model a dozen times left 65 MiB behind, and 900 questions 33 MiB.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import os
import sys
from typing import Any

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
