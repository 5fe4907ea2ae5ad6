"""The table of words of an encoder: rows of a mapped file, whose pages do not stay in memory."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from atomr_local.indexing.embedding.bert import WordTable

_ROWS, _WIDTH = 4096, 384


def resident(file: Path) -> int:
    """KiB of the file that are in this process's memory."""
    found, inside = 0, False
    for line in Path("/proc/self/smaps").read_text(encoding="utf-8").splitlines():
        if "-" in line.split(" ", 1)[0]:
            inside = line.endswith(str(file))
        elif inside and line.startswith("Rss:"):
            found += int(line.split()[1])
    return found


@pytest.mark.skipif(sys.platform != "linux", reason="the figures are Linux's")
def test_what_was_read_is_let_go(tmp_path: Path) -> None:
    file = tmp_path / "table"
    values = np.random.default_rng(1).random((_ROWS, _WIDTH), dtype=np.float32)
    values.tofile(file)
    mapped = np.asarray(np.memmap(file, dtype="<f4", mode="r", shape=values.shape))
    numbers = np.arange(0, _ROWS, 7)
    assert np.array_equal(mapped[numbers], values[numbers])
    assert resident(file) > 4000, "without the table all of it stays"
    table = WordTable(mapped)
    assert len(table) == _ROWS
    for _ in range(2):
        assert np.array_equal(table.rows(numbers), values[numbers])
        assert resident(file) == 0


def test_a_table_in_memory_is_read_as_it_is() -> None:
    values = np.eye(3, dtype=np.float32)
    assert np.array_equal(WordTable(values).rows(np.array([[2, 0]])), values[[[2, 0]]])
