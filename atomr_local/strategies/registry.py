"""The reasoning methods by name."""

from __future__ import annotations

from atomr_local.errors import SettingsError
from atomr_local.strategies.atomr import AtomR
from atomr_local.strategies.protocol import Strategy
from atomr_local.strategies.single import ChainOfThought, ClosedBook, Rag

STRATEGIES: dict[str, Strategy] = {
    strategy.name: strategy for strategy in (AtomR(), Rag(), ClosedBook(), ChainOfThought())
}


def find_strategy(name: str) -> Strategy:
    """The strategy of this name.

    Raises:
        SettingsError: there is none.
    """
    try:
        return STRATEGIES[name]
    except KeyError:
        raise SettingsError(f"there is no strategy named {name!r}", hint=f"Known: {', '.join(STRATEGIES)}.") from None
