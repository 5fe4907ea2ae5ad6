"""Plain mode as a program of its own, driven through a pipe, on the starter."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

_LINES = """Who was the father of the author of The Lady of the Camellias?
/tree
/evidence
/correct 1 Charles Dickens
/nothing
/export {file}
"""


def test_a_session_through_a_pipe(tmp_path: Path) -> None:
    target = tmp_path / "answer.md"
    done = subprocess.run(
        [sys.executable, "-m", "atomr_local", "--plain"],
        input=_LINES.format(file=target),
        env=os.environ | {"TERM": "dumb"},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    assert "\x1b" not in done.stdout
    answered, corrected = done.stdout.split("/help lists the commands.", 1)[1].split("It rests on", 1)
    assert "The answer is Alexandre Dumas." in answered
    assert "Step 1:" in corrected and "Your answer: Charles Dickens" in corrected
    assert "there is no command /nothing" in corrected
    assert target.read_text(encoding="utf-8").startswith("# ")
