"""The registry of strategies: ours, and those of other packages (entry points)."""

from __future__ import annotations

import logging
from importlib.metadata import EntryPoint, entry_points

from atomr_local.errors import SettingsError
from atomr_local.strategies.atomr import AtomR
from atomr_local.strategies.protocol import Strategy
from atomr_local.strategies.single import ChainOfThought, ClosedBook, Rag

ENTRY_POINTS = "atomr_local.strategies"
STRATEGIES: dict[str, Strategy] = {
    strategy.name: strategy for strategy in (AtomR(), Rag(), ClosedBook(), ChainOfThought())
}
_log = logging.getLogger(__name__)


def find_strategy(name: str) -> Strategy:
    """The strategy of this name.

    Raises:
        SettingsError: there is none, or the package that offers it cannot be loaded.
    """
    if name in STRATEGIES:
        return STRATEGIES[name]
    offered = _offered()
    if name in offered:
        return _loaded(offered[name])
    known = ", ".join([*STRATEGIES, *offered])
    raise SettingsError(f"there is no strategy named {name!r}", hint=f"Known: {known}.")


def all_strategies() -> dict[str, Strategy]:
    """Every strategy that can be used. One that cannot be loaded is logged and left out."""
    found = dict(STRATEGIES)
    for name, offered in _offered().items():
        try:
            found[name] = _loaded(offered)
        except SettingsError:
            _log.warning("The strategy %s of the package %s cannot be loaded", name, _package(offered))
    return found


def _offered() -> dict[str, EntryPoint]:
    """Entry points of other packages; none of them replaces a strategy of ours."""
    return {item.name: item for item in entry_points(group=ENTRY_POINTS) if item.name not in STRATEGIES}


def _loaded(offered: EntryPoint) -> Strategy:
    try:
        strategy: Strategy = offered.load()()
    except Exception as error:  # code of another package: whatever it raises is told as an error
        raise SettingsError(
            f"the strategy {offered.name!r} cannot be loaded: {type(error).__name__}: {error}",
            hint=f"Update or remove the package {_package(offered)}.",
        ) from error
    return strategy


def _package(offered: EntryPoint) -> str:
    return offered.dist.name if offered.dist is not None else offered.module
