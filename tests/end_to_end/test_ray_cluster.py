"""A text build on a Ray cluster of a head and two nodes on this machine, one of which is killed in the middle.

Skipped where Ray is not installed (`pip install '.[ray]'`).
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from make_wiki_dump import write_dump
from support.places import PYTHONPATH, SCRIPTS

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(1800),
    pytest.mark.skipif(sys.platform != "linux", reason="nodes have loopback addresses of their own on Linux only"),
]


def test_the_index_is_that_of_the_local_engine_though_a_node_is_killed(tmp_path: Path) -> None:
    pytest.importorskip("ray", reason="Ray is not installed: the extra `ray`")
    parts = [tmp_path / f"part{number}.xml.bz2" for number in range(4)]
    for number, part in enumerate(parts):
        write_dump(part, 300, seed=number, multistream=True, first_page=1000 * number + 1)
    command = [sys.executable, str(SCRIPTS / "bench" / "ray_cluster.py"), "prove", "--port", "24000"]
    done = subprocess.run(
        [*command, *map(str, parts)], capture_output=True, text=True, check=False,
        env={**os.environ, "PYTHONPATH": PYTHONPATH},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    told = [line for line in done.stdout.splitlines() if "the index of the local engine" in line]
    assert [line.split(":")[0].strip() for line in told] == ["undisturbed", "killed-at-work", "killed-with-results"]
    assert ["killed" in line.partition(";")[2] for line in told] == [False, True, True]
