"""Every test has a home of its own, and no ATOMR_ setting of the person who runs it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """ATOMR_HOME for this test; a test that needs another one sets it itself."""
    for name in [name for name in os.environ if name.startswith("ATOMR_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("ATOMR_HOME", str(tmp_path))
    return tmp_path
