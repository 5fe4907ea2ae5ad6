"""A short day of the terminal UI with the starter's real parts: memory, threads and open files."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from support.places import ROOT

# Resident MiB. The bench's own bound is what we aim for; a test must also hold on processors and allocators that need more.
_MOST = 1000


@pytest.mark.nightly
@pytest.mark.skipif(not Path("/proc/self/smaps").exists(), reason="the figures are Linux's")
def test_twelve_questions_stay_below_the_bounds(built_home: Path) -> None:
    bench = ROOT / "scripts" / "bench" / "long_day.py"
    day = ["--questions", "12", "--after", "8", "--every", "4", "--most", str(_MOST)]
    done = subprocess.run(
        [sys.executable, str(bench), "--home", str(built_home), *day],
        capture_output=True, text=True, timeout=500, check=False, env=os.environ | {"PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert len(done.stdout.splitlines()) == 6, done.stdout  # a heading, and the rows 0, 1, 4, 8 and 12
