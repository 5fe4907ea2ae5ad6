"""`atomr` alone opens the terminal UI only where there is a terminal to open it in."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from atomr_local.cli.main import main
from atomr_local.cli.output import no_terminal


@contextmanager
def terminal() -> Iterator[pytest.MonkeyPatch]:
    """Standard input, output and error are a terminal. Not a fixture: pytest puts its own back before the test."""
    keeper, end = os.openpty()
    with os.fdopen(end, encoding="utf-8") as stream, pytest.MonkeyPatch.context() as patched:
        for name in ("stdin", "stdout", "stderr"):
            patched.setattr(sys, name, stream)
        patched.setenv("TERM", "xterm-256color")
        yield patched
    os.close(keeper)


def test_without_a_terminal_it_says_so_and_ends(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "atomr_local"]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 2
    assert done.stdout == ""
    assert "standard input is not one" in done.stderr
    assert "atomr ask" in done.stderr
    assert "Traceback" not in done.stderr


def test_in_a_terminal_it_opens() -> None:
    opened: list[bool] = []
    with terminal() as patched, pytest.raises(SystemExit) as end:
        patched.setattr("atomr_local.tui.app.run", lambda: opened.append(True))
        main([])
    assert (opened, end.value.code) == ([True], 0)


@pytest.mark.parametrize("name", ["stdin", "stdout", "stderr"])
def test_every_stream_must_be_one(name: str, tmp_path: Path) -> None:
    with terminal() as patched, (tmp_path / "file").open("w", encoding="utf-8") as file:
        here = no_terminal()
        patched.setattr(sys, name, file)
        elsewhere = no_terminal()
        patched.setattr(sys, name, None)
        closed = no_terminal()
    assert here is None
    assert elsewhere is not None
    assert "is not one" in elsewhere
    assert closed == elsewhere


def test_a_dumb_terminal_is_none() -> None:
    with terminal() as patched:
        patched.setenv("TERM", "dumb")
        told = no_terminal()
    assert "kind dumb" in (told or "")
