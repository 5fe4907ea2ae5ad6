"""What the screen must know of the strategies: which there are, and whose answers can be corrected."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from atomr_local.errors import AtomrError
from atomr_local.sanitize import sanitize_line

# Whose steps can be kept as a worked process.
LEAVE_A_PROCESS = frozenset({"humaniq", "react"})
_LONGEST_NAME = 40  # characters; a trace from elsewhere may hold any


@dataclass(frozen=True)
class Offered:
    """A strategy that a question can be asked with."""

    name: str
    summary: str


def offered() -> list[Offered]:
    """Every strategy that can be used. It may load other packages: call it from a worker."""
    from atomr_local.strategies.registry import all_strategies

    return [Offered(item.name, item.summary) for item in all_strategies().values()]


@cache
def _revises(name: str) -> bool | None:
    from atomr_local.strategies.registry import find_strategy

    try:
        return find_strategy(name).revises
    except AtomrError:
        return None


def revises(name: str) -> bool:
    """Whether this strategy keeps what a correction does not touch; False for one that is not here."""
    return bool(_revises(name[: 2 * _LONGEST_NAME]))


def why_no_plan(name: str, *, grown: bool) -> str:
    """Why the steps of this strategy cannot be edited or run again.

    Args:
        grown: its steps follow one from the other.
    """
    said = sanitize_line(name[: 2 * _LONGEST_NAME])[:_LONGEST_NAME]
    if _revises(name[: 2 * _LONGEST_NAME]) is None:
        return f"The strategy {said} is not installed here: its steps cannot run again."
    return f"{said} answers {'step by step' if grown else 'in one step'} and has no plan to edit."
