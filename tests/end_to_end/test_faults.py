"""A few of the faults of scripts/faults.py: kills, torn writes and failing disks lose nothing. All of them: that script."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from support.places import SCRIPTS

SCRIPT = SCRIPTS / "faults.py"
_NO_COMPILER = 77


def faults(*arguments: str) -> dict[str, int]:
    done = subprocess.run(
        [sys.executable, str(SCRIPT), *arguments], capture_output=True, text=True, timeout=500, check=False
    )
    if done.returncode == _NO_COMPILER:
        pytest.skip(done.stderr.strip())
    assert done.stdout, done.stderr
    counts: dict[str, int] = json.loads(done.stdout.splitlines()[-1])
    assert done.returncode == 0, done.stdout
    return counts


@pytest.mark.nightly
def test_a_few_kills_and_failing_writes_lose_nothing() -> None:
    counts = faults("--quick")
    assert counts["failures"] == 0
    assert counts["kills"] >= 10
    assert min(counts["writes"], counts["errors"]) >= 3
