"""Every test has a home of its own, and no ATOMR_ setting of the person who runs it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

if "PYTEST_XDIST_WORKER" in os.environ:
    # The workers share the cores. OpenMP reads this once, when torch or llama.cpp is loaded.
    os.environ.setdefault("OMP_THREAD_LIMIT", "1")

from atomr_local.assistant.session import Session


@pytest.fixture(autouse=True)
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """ATOMR_HOME for this test; a test that needs another one sets it itself."""
    for name in [name for name in os.environ if name.startswith("ATOMR_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("ATOMR_HOME", str(tmp_path))
    return tmp_path


@pytest.fixture(autouse=True)
def without_span_reader(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a fake model says is not judged by a real one; the end-to-end tests have the real parts."""
    if "end_to_end" not in request.path.parts:
        monkeypatch.setattr(Session, "_load_span_reader", lambda self: None)
