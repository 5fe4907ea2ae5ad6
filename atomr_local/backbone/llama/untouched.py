"""Gives memory that holds nothing yet back to the system.

llama.cpp writes zeros over the whole memory of a context when it makes it, so that all of it is resident from the
beginning: 360 MB for the starter, of which a day of questions reaches a fraction. A page of zeros that is given back
reads as zeros again, so nothing changes but the memory in use.
"""

from __future__ import annotations

import ctypes
import mmap
import re
import sys
from pathlib import Path

import numpy as np

_MAPS = Path("/proc/self/maps")
_ANONYMOUS = re.compile(r"^([0-9a-f]+)-([0-9a-f]+) rw-p 00000000 00:00 0 *$", re.MULTILINE)
# What may lie in one piece with the memory of a context: the system joins neighbours, such as room for its sums.
_NEIGHBOURS = 256 << 20
_SMALLEST = 64 << 20  # of a context whose memory is looked for
_CHUNK = 4 << 20
_OWN_PAGES = 2  # of glibc's notes on a block: it was mapped for itself


def release_untouched(size: int) -> int:
    """Give back the zeros of the piece of memory of about `size` bytes that was made just now; on Linux alone.

    A piece that holds `size` bytes in one block, and little else, holds that block in its middle, wherever the block
    begins; only this block is looked at, and given back if it is all zeros. Nothing may use it meanwhile.

    Returns:
        how many bytes were given back.
    """
    if not sys.platform.startswith("linux") or size < _SMALLEST:
        return 0
    try:
        pieces = [(int(a, 16), int(b, 16)) for a, b in _ANONYMOUS.findall(_MAPS.read_text(encoding="ascii"))]
        fitting = [(begin, end) for begin, end in pieces if size <= end - begin <= size + min(size // 2, _NEIGHBOURS)]
        return sum(_release(end - size, begin + size, size) for begin, end in fitting)
    except (OSError, ValueError):
        return 0


def _release(begin: int, end: int, size: int) -> int:
    """Give this back if it is all zeros, and the rest of the block where its beginning can be told."""
    page = mmap.PAGESIZE
    begin, end = -(-begin // page) * page, end // page * page
    if not all(_zero(start, min(_CHUNK, end - start)) for start in range(begin, end, _CHUNK)):
        return 0
    first = begin
    while first > end - size and _zero(first - page, page):
        first -= page
    # The C library notes the size of a block of its own pages before it, in the first of them.
    noted = ctypes.c_uint64.from_address(first - page + 8).value if first > end - size else 0
    if size <= noted & ~7 <= size + (1 << 16) and noted & 7 == _OWN_PAGES:
        last = (first - page + size) // page * page
        if all(_zero(start, min(_CHUNK, last - start)) for start in range(end, last, _CHUNK)):
            begin, end = first, max(end, last)
    system = ctypes.CDLL(None, use_errno=True)
    system.madvise.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
    return end - begin if system.madvise(begin, end - begin, mmap.MADV_DONTNEED) == 0 else 0


def _zero(start: int, size: int) -> bool:
    block = memoryview((ctypes.c_char * size).from_address(start)).cast("B")
    return not np.frombuffer(block, dtype=np.uint64).any()
