"""The registry of strategies: ours, and those of other packages (entry points)."""

from __future__ import annotations

from atomr_local.errors import SettingsError
from atomr_local.plugins import find, load_all, offered
from atomr_local.strategies.atomr import AtomR
from atomr_local.strategies.protocol import Strategy
from atomr_local.strategies.single import ChainOfThought, ClosedBook, Rag

ENTRY_POINTS = "atomr_local.strategies"
STRATEGIES: dict[str, Strategy] = {
    strategy.name: strategy for strategy in (AtomR(), Rag(), ClosedBook(), ChainOfThought())
}


def find_strategy(name: str) -> Strategy:
    """The strategy of this name.

    Raises:
        SettingsError: there is none, or the package that offers it cannot be loaded.
    """
    if (found := find(ENTRY_POINTS, STRATEGIES, name, "strategy")) is not None:
        return found
    known = ", ".join([*STRATEGIES, *offered(ENTRY_POINTS, STRATEGIES)])
    raise SettingsError(f"there is no strategy named {name!r}", hint=f"Known: {known}.")


def all_strategies() -> dict[str, Strategy]:
    """Every strategy that can be used. One that cannot be loaded is logged and left out."""
    return load_all(ENTRY_POINTS, STRATEGIES, "strategy")
