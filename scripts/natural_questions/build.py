#!/usr/bin/env python3
"""Make natural questions with plans: `scripts/build_natural_questions.py` under its old name."""

import subprocess
import sys
from pathlib import Path

if __name__ == "__main__":
    script = Path(__file__).resolve().parents[1] / "build_natural_questions.py"
    sys.exit(subprocess.run([sys.executable, script, *sys.argv[1:]], check=False).returncode)
