"""The registry of strategies: ours, and those of other packages (entry points)."""

from __future__ import annotations

import logging

from atomr_local.errors import SettingsError
from atomr_local.plugins import find, load_all
from atomr_local.strategies.atomr import AtomR
from atomr_local.strategies.cok.strategy import CoK
from atomr_local.strategies.detllm.strategy import DetLLM
from atomr_local.strategies.dsp.strategy import DSP
from atomr_local.strategies.humaniq.strategy import HumanIQ
from atomr_local.strategies.ircot import IRCoT
from atomr_local.strategies.names import ENTRY_POINTS, known_names
from atomr_local.strategies.plugged_in import plugged_in
from atomr_local.strategies.probtree.strategy import ProbTree
from atomr_local.strategies.protocol import Strategy
from atomr_local.strategies.react import React
from atomr_local.strategies.roht.strategy import RoHT
from atomr_local.strategies.searchain.strategy import SearChain
from atomr_local.strategies.self_ask import SelfAsk
from atomr_local.strategies.single import ChainOfThought, ClosedBook, Rag

_log = logging.getLogger(__name__)
STRATEGIES: dict[str, Strategy] = {
    strategy.name: strategy
    for strategy in (
        AtomR(),
        Rag(),
        ClosedBook(),
        ChainOfThought(),
        SelfAsk(),
        IRCoT(),
        ProbTree(),
        DSP(),
        React(),
        CoK(),
        DetLLM(),
        RoHT(),
        SearChain(),
        HumanIQ(),
    )
}


def find_strategy(name: str) -> Strategy:
    """The strategy of this name.

    Raises:
        SettingsError: there is none, or the package that offers it cannot be loaded.
    """
    if (found := find(ENTRY_POINTS, STRATEGIES, name, "strategy")) is not None:
        return found if name in STRATEGIES else plugged_in(name, found)
    raise SettingsError(f"there is no strategy named {name[:40]!r}", hint=f"Known: {', '.join(known_names())}.")


def all_strategies() -> dict[str, Strategy]:
    """Every strategy that can be used. One that cannot be loaded is logged and left out."""
    found = dict(STRATEGIES)
    for name, made in load_all(ENTRY_POINTS, STRATEGIES, "strategy").items():
        if name not in STRATEGIES:
            try:
                found[name] = plugged_in(name, made)
            except SettingsError as error:
                _log.warning("%s", error.message)
    return found
