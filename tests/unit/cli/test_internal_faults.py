"""Internal error is an error with its details in a file, not a traceback on the terminal."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.command_line import Atomr

from atomr_local.cli.commands import config as command


@pytest.mark.parametrize("error", [RuntimeError("the roof\x1b[2J fell in"), RecursionError("too deep")])
def test_a_fault_is_told_in_two_lines(
    own_home: Path, monkeypatch: pytest.MonkeyPatch, atomr: Atomr, error: Exception
) -> None:
    def fail() -> None:
        raise error

    monkeypatch.setattr(command, "origins", fail)
    out, err = atomr("config", "show", status=1)
    first, second = err.splitlines()
    assert first.startswith(f"Internal error: {type(error).__name__}") and "\x1b" not in first
    assert second == f"  → The details are in {own_home.resolve() / 'fault.txt'}. Please report it."
    assert "Traceback" in (own_home / "fault.txt").read_text() and not out


def test_a_fault_without_a_place_for_its_details(own_home: Path, monkeypatch: pytest.MonkeyPatch, atomr: Atomr) -> None:
    monkeypatch.setenv("ATOMR_HOME", str(own_home / "file" / "home"))
    (own_home / "file").write_text("")
    monkeypatch.setattr(command, "paths", None)
    assert atomr("config", "path", status=1).err.splitlines()[1] == "  → Please report it."
