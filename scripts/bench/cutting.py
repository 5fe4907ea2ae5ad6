#!/usr/bin/env python3
"""Measure how much of the evidence can be left out of a prompt: `scripts/measure_cutting.py` under its old name."""

import subprocess
import sys
from pathlib import Path

if __name__ == "__main__":
    script = Path(__file__).resolve().parents[1] / "measure_cutting.py"
    sys.exit(subprocess.run([sys.executable, script, *sys.argv[1:]], check=False).returncode)
