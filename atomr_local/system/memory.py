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

_M_ARENA_MAX = -8  # malloc.h of glibc
_ARENAS = 2


def limit_arenas() -> None:
    """Let threads share two arenas of glibc, instead of eight for each core; what the user set stays."""
    if "MALLOC_ARENA_MAX" not in os.environ and "GLIBC_TUNABLES" not in os.environ:
        _glibc("mallopt", _M_ARENA_MAX, _ARENAS)


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
