"""Gives memory that holds nothing yet back to the system.

llama.cpp writes zeros over the whole memory of a context when it makes it, so that all of it is resident from the
beginning: 360 MB for the starter, of which a day of questions reaches a fraction. A page of zeros that is given back
reads as zeros again, so nothing changes but the memory in use.
"""

from __future__ import annotations

import ctypes
import mmap
import re
from collections.abc import Collection
from pathlib import Path

import numpy as np

_MAPS = Path("/proc/self/maps")
_ANONYMOUS = re.compile(r"^([0-9a-f]+)-([0-9a-f]+) rw-p 00000000 00:00 0 *$", re.MULTILINE)
# What may lie in one piece with the memory of a context: the system joins neighbours, such as room for its sums.
_NEIGHBOURS = 256 << 20
_SMALLEST = 64 << 20  # of a context whose memory is looked for
_CHUNK = 4 << 20
_OWN_PAGES = 2  # of glibc's notes on a block: it was mapped for itself


Piece = tuple[int, int]


def pieces() -> frozenset[Piece]:
    """The pieces of anonymous memory that this process has, as (begin, end); empty if the system does not tell."""
    try:
        found = _ANONYMOUS.findall(_MAPS.read_text(encoding="ascii"))
    except (OSError, ValueError):
        return frozenset()
    return frozenset((int(begin, 16), int(end, 16)) for begin, end in found)


def release_untouched(size: int, before: Collection[Piece]) -> int:
    """Give back the zeros of the piece of memory of about `size` bytes that was made since `before`; on Linux alone.

    A piece that holds `size` bytes in one block, and little else, holds that block in its middle, wherever the block
    begins; only this block is looked at, and given back if it is all zeros. Nothing may use it meanwhile.

    Args:
        before: what :func:`pieces` gave before the memory was made. What was there already is not looked at.

    Returns:
        how many bytes were given back.
    """
    if size < _SMALLEST:
        return 0
    made = pieces().difference(before)
    fitting = [(begin, end) for begin, end in made if size <= end - begin <= size + min(size // 2, _NEIGHBOURS)]
    return sum(_release(end - size, begin + size, size) for begin, end in fitting)


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
