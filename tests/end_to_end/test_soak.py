"""A short form of the long run: with few descriptors to spend, nothing is lost from question to question."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from support.places import ROOT


@pytest.mark.nightly
@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="the script reads /proc")
def test_sixty_questions_leave_no_descriptor_and_little_memory(built_home: Path) -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / "scripts" / "soak.py"), "--quick", "--home", str(built_home)],
        capture_output=True, text=True, timeout=500, check=False, env=os.environ | {"PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.endswith("whole\n")
