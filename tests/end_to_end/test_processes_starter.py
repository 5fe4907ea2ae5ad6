"""The worked processes that ship still hold over the starter knowledge, observation by observation."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.script_loader import load_script

from atomr_local.strategies.processes.process import shipped


@pytest.mark.slow
def test_the_shipped_processes_hold(built_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`python scripts/make_processes.py` makes those anew that do not."""
    monkeypatch.setenv("ATOMR_HOME", str(built_home))
    made, problems = load_script("make_processes").made_again(shipped())
    assert problems == []
    assert made == list(shipped())
