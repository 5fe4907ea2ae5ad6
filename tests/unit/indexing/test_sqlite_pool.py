"""Connections are shared by threads, bounded, and closed."""

from __future__ import annotations

import os
import sqlite3
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from atomr_local.indexing.sqlite_pool import ReadOnlyPool

pytestmark = pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="descriptors are counted in /proc")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "names.sqlite"
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE name AS SELECT value FROM json_each('[1, 2, 3]')")
    database.close()
    return path


def open_on(file: Path) -> int:
    """Descriptors of this process that lead to the file."""
    links = list(Path("/proc/self/fd").iterdir())
    return sum(1 for link in links if link.is_symlink() and os.path.realpath(link) == str(file))


def test_a_thread_that_ends_leaves_nothing_open(file: Path) -> None:
    pool = ReadOnlyPool(file)
    for _ in range(30):  # as a question after the other does it
        thread = threading.Thread(target=pool.rows, args=("SELECT count(*) FROM name",))
        thread.start()
        thread.join()
    assert open_on(file) == 1
    pool.close()
    assert open_on(file) == 0


def test_many_readers_at_once_leave_a_few_connections(file: Path) -> None:
    pool, together = ReadOnlyPool(file, kept=2), threading.Barrier(8, timeout=60)

    def read() -> int:
        connection = pool._borrow()
        together.wait()  # every one holds a connection
        pool._give_back(connection)
        return len(pool.rows("SELECT value FROM name"))

    with ThreadPoolExecutor(8) as threads:
        assert [future.result() for future in [threads.submit(read) for _ in range(8)]] == [3] * 8
    assert open_on(file) <= 2
    pool.close()


def test_closing_lets_a_running_query_end_and_refuses_new_ones(file: Path) -> None:
    pool = ReadOnlyPool(file)
    running = pool._borrow()
    pool.close()
    pool.close()
    assert running.execute("SELECT count(*) FROM name").fetchone() == (3,)
    pool._give_back(running)
    assert open_on(file) == 0
    with pytest.raises(sqlite3.ProgrammingError, match="closed"):
        pool.rows("SELECT 1")


def test_a_query_that_fails_gives_its_connection_back(file: Path) -> None:
    pool = ReadOnlyPool(file)
    for _ in range(5):
        with pytest.raises(sqlite3.OperationalError):
            pool.rows("SELECT nothing FROM nowhere")
    assert open_on(file) <= 1
    with pytest.raises(sqlite3.OperationalError):
        pool.rows("DELETE FROM name")  # read-only
    pool.close()
