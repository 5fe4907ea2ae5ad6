"""Which version of the program is running, and of which commit, for the records of measurements."""

from __future__ import annotations

import os
import subprocess
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path

from atomr_local import __version__

_SECONDS = 10  # for git; a checkout on a slow disk takes one or two
_PACKAGE = Path(__file__).parent.parent


@dataclass(frozen=True, slots=True)
class ProgramVersion:
    """A version of the program.

    Attributes:
        version: as `atomr --version` tells it.
        commit: of the git checkout that it runs from, in full; "" if it runs from an installed package, or if git
            cannot tell.
        changed: whether files of the package differ from that commit.
    """

    version: str
    commit: str = ""
    changed: bool = False

    def to_dict(self) -> dict[str, str | bool]:
        """As run.json holds it."""
        return asdict(self)


@cache
def running_version() -> ProgramVersion:
    """The version that is running."""
    return version_of(_PACKAGE)


def version_of(package: Path) -> ProgramVersion:
    """The version of the package in this folder, whose parent may be a git checkout."""
    checkout = package.parent
    if not (checkout / ".git").exists():
        return ProgramVersion(__version__)
    commit = _git(checkout, "rev-parse", "--verify", "HEAD")
    if not commit:
        return ProgramVersion(__version__)
    return ProgramVersion(__version__, commit, bool(_git(checkout, "status", "--porcelain", "--", package.name)))


def _git(checkout: Path, *arguments: str) -> str:
    """Git's output for the checkout; "" if there is none, or git fails or is missing."""
    own = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    try:
        # No lock, and no program that the checkout's configuration names, only to look.
        said = subprocess.run(
            ["git", "--no-optional-locks", "-c", "core.fsmonitor=false", "-C", os.fspath(checkout), *arguments],
            env=own,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            timeout=_SECONDS,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return said.stdout.strip()
