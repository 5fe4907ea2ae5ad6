"""Which modules a new process has loaded after some code."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping, Sequence


def loaded_by(code: str, names: Sequence[str], environment: Mapping[str, str] | None = None) -> list[str]:
    """Those of the modules that the code loads.

    Args:
        environment: the whole one of the process; None: this one's.
    """
    check = f"import sys\nprint('LOADED', *[name for name in {tuple(names)!r} if name in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", f"{code}\n{check}"], capture_output=True, text=True, timeout=300, check=True,
        env=environment,
    )  # fmt: skip
    return done.stdout.splitlines()[-1].split()[1:]


def cli(*arguments: str) -> str:
    """Code that runs the command line with these arguments."""
    return (
        f"from atomr_local.cli.main import main\ntry:\n    main({list(arguments)!r})\n"
        "except SystemExit as stop:\n    assert not stop.code, stop.code"
    )
