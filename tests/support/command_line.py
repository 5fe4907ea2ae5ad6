"""The command line in this process: run, with what it printed."""

from __future__ import annotations

from typing import NamedTuple

import pytest

from atomr_local.cli.main import main


def exit_status(*arguments: str) -> int:
    """What the command ends with."""
    with pytest.raises(SystemExit) as stop:
        main(list(arguments))
    return int(stop.value.code or 0)


class Printed(NamedTuple):
    """What a command printed."""

    out: str
    err: str


class Atomr:
    """The command: `atomr("ask", "Who?", status=1)` runs it, checks how it ends, and gives what it printed.

    Args:
        before: words that stand before those of each call.

    Attributes:
        status: how the last call ended.
    """

    def __init__(self, capsys: pytest.CaptureFixture[str], *before: str) -> None:
        self._capsys = capsys
        self._before = before
        self.status = 0

    def __call__(self, *arguments: str, status: int | None = 0) -> Printed:
        self._capsys.readouterr()
        self.status = exit_status(*self._before, *arguments)
        printed = Printed(*self._capsys.readouterr())
        assert status in (None, self.status), printed
        assert "Traceback" not in printed.err
        return printed

    def refused(self, *arguments: str, status: int = 1) -> str:
        """What is told on standard error, clean; nothing is printed on standard output."""
        printed = self(*arguments, status=status)
        assert printed.out == ""
        assert "\x1b" not in printed.err
        return printed.err


@pytest.fixture
def atomr(capsys: pytest.CaptureFixture[str]) -> Atomr:
    return Atomr(capsys)
