"""What can reach the net is loaded by the commands that fetch, and by nothing else."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

NETWORK = (
    "httpx",
    "ddgs",
    "atomr_local.fetching.client",
    "atomr_local.fetching.download",
    "atomr_local.fetching.download",
)


def loaded_by(code: str, home: Path) -> list[str]:
    check = f"import sys\nprint('LOADED', *[name for name in {NETWORK!r} if name in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", f"{code}\n{check}"], capture_output=True, text=True, timeout=300, check=True,
        env={"ATOMR_HOME": str(home), "PATH": ""},
    )  # fmt: skip
    return done.stdout.splitlines()[-1].split()[1:]


def cli(*arguments: str) -> str:
    return (
        f"from atomr_local.cli.main import main\ntry:\n    main({list(arguments)!r})\n"
        "except SystemExit as stop:\n    assert not stop.code, stop.code"
    )


@pytest.mark.parametrize(
    "code",
    [
        "import atomr_local",
        cli("--help"),
        cli("models", "pull"),
        cli("models", "list"),
        "import atomr_local.tui.app, atomr_local.tui.screens.library.downloads, atomr_local.tui.app",
    ],
    ids=["import", "help", "the catalogue", "models at hand", "terminal UI"],
)
def test_nothing_of_the_net_is_loaded(code: str, own_home: Path) -> None:
    assert loaded_by(code, own_home) == []


def test_this_test_would_see_it(own_home: Path) -> None:
    assert "httpx" in loaded_by(cli("fetch", "--help"), own_home)
