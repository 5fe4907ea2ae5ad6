"""Memory of zeros goes back to the system; memory that holds anything stays."""

from __future__ import annotations

import ctypes
import mmap
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from atomr_local.models.llama.engine import pieces, release_untouched

SIZE = 80 << 20

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="Linux alone gives memory back so")


def resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * mmap.PAGESIZE


@pytest.fixture
def block() -> Iterator[memoryview]:
    """As llama.cpp leaves the memory of a new context: all of it written; with a fence on both sides."""
    page, system = mmap.PAGESIZE, ctypes.CDLL(None)
    system.mprotect.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int)
    whole = mmap.mmap(-1, SIZE + 2 * page, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    whole.write(bytes(len(whole)))
    begin = ctypes.addressof(ctypes.c_char.from_buffer(whole))
    for fence in (begin, begin + page + SIZE):
        assert system.mprotect(fence, page, 0) == 0
    yield memoryview(whole)[page : page + SIZE]


def test_zeros_go_back_and_still_read_as_zeros(block: memoryview) -> None:
    before = resident()
    freed = release_untouched(SIZE, ())
    assert freed >= SIZE // 2
    assert before - resident() > SIZE // 2
    assert block == bytes(SIZE)


def test_what_holds_something_stays(block: memoryview) -> None:
    block[SIZE // 2] = 7
    assert release_untouched(SIZE, ()) == 0
    assert block[SIZE // 2] == 7


def test_little_memory_is_not_looked_for(block: memoryview) -> None:
    assert release_untouched(1 << 20, ()) == 0


def test_what_was_there_before_is_not_looked_at(block: memoryview) -> None:
    assert release_untouched(SIZE, pieces()) == 0
