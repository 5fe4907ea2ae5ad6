"""Where the repository is, and how a child process finds the package and these helpers."""

from __future__ import annotations

import os
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TESTS = ROOT / "tests"
SCRIPTS = ROOT / "scripts"
SHARED = ROOT.parent / "shared" / "data"  # public data sets, where they are
PYTHONPATH = f"{ROOT}{os.pathsep}{TESTS}"
