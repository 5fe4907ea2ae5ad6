"""What is found of one index when it is checked; errors of the libraries become problems in words."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from atomr_local.errors import AtomrError, Cancelled
from atomr_local.indexing import store
from atomr_local.indexing.builds import digests
from atomr_local.indexing.foreign_errors import library_line, panics_as_errors


@dataclass
class Report:
    """What was found of one index, or of an unfinished build.

    Attributes:
        state: whole, damaged, half-built, being built, set aside, or left over.
        problems: what is wrong, one thing each; empty for a whole index.
        notes: what is good to know and no damage.
        measured: figures, such as {"recall@10": 0.998}.
        hint: what to do about the problems; "" when there are none.
        files: how its files differ from those that were built.
    """

    kind: store.IndexKind
    name: str
    path: Path
    state: str = "whole"
    counts: dict[str, int] = field(default_factory=dict)
    bytes: int = 0
    problems: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    measured: dict[str, float] = field(default_factory=dict)
    hint: str = ""
    files: digests.Findings = field(default_factory=digests.Findings)

    @property
    def good(self) -> bool:
        return self.state in ("whole", "being built")


@contextlib.contextmanager
def damage(report: Report, what: str = "") -> Iterator[None]:
    """Whatever the libraries raise on damaged files becomes a problem of the report."""
    before = f"{what}: " if what else ""
    try:
        with panics_as_errors():
            yield
    except Cancelled:
        raise
    except AtomrError as error:
        report.problems.append(before + error.message)
    except Exception as error:
        report.problems.append(f"{before}{library_line(error, report.path)}")
