"""Whether a strategy can do what is asked of it; checked before a model is loaded."""

from __future__ import annotations

import logging
from collections.abc import Collection, Set
from typing import Any, get_args

from atomr_local.errors import AtomrError, InputError, SettingsError
from atomr_local.reasoning.results import Result
from atomr_local.reasoning.trace.schema import PlanOrigin
from atomr_local.settings.schema import Settings
from atomr_local.sources.protocol import SourceName
from atomr_local.sources.registry import SOURCES, find_source, pages_missing, permitted, switched_names
from atomr_local.strategies.atomr import AtomR
from atomr_local.strategies.cok import CoK
from atomr_local.strategies.detllm import DetLLM
from atomr_local.strategies.dsp import DSP
from atomr_local.strategies.humaniq import HumanIQ
from atomr_local.strategies.ircot import IRCoT
from atomr_local.strategies.names import ENTRY_POINTS, known_names
from atomr_local.strategies.options import NoOptions, StrategyOptions
from atomr_local.strategies.probtree import ProbTree
from atomr_local.strategies.protocol import Need, QuestionContext, Strategy
from atomr_local.strategies.react import React
from atomr_local.strategies.roht.strategy import RoHT
from atomr_local.strategies.searchain import SearChain
from atomr_local.strategies.self_ask import SelfAsk
from atomr_local.strategies.single import ChainOfThought, ClosedBook, Rag
from atomr_local.system.plugins import find, load_all
from atomr_local.system.sanitize import sanitize_line
from atomr_local.tree.nodes import Tree


class PluggedInStrategy(Strategy):
    """A strategy of another package, by the name of its entry point, which settings and traces hold."""

    def __init__(self, name: str, made: Any) -> None:
        """Take what it says of itself, and defaults for the rest.

        Raises:
            SettingsError: what it says is not of the protocol.
        """
        needs, options = getattr(made, "needs", ()), getattr(made, "options", NoOptions)
        wrong = ""
        if not callable(getattr(made, "run", None)):
            wrong = "it has no method run"
        elif not isinstance(needs, Set | tuple | list) or any(need not in get_args(Need) for need in needs):
            wrong = f"needs may hold {', '.join(get_args(Need))} only"
        elif not (isinstance(options, type) and issubclass(options, StrategyOptions)):
            wrong = "options is no subclass of StrategyOptions"
        if wrong:
            raise SettingsError(f"the strategy {name!r} cannot be used: {wrong}", hint="Correct or update its package.")
        self._made = made
        self.name, self.needs, self.options = name, frozenset(needs), options
        self.summary, self.paper = (sanitize_line(str(getattr(made, said, ""))) for said in ("summary", "paper"))
        self.uses_sources, self.revises = (
            bool(getattr(made, "uses_sources", True)),
            bool(getattr(made, "revises", False)),
        )
        # Before there was this attribute, a strategy got every plan and refused those that it did not execute.
        self.takes_plans = bool(getattr(made, "takes_plans", True))

    def run(self, question: str, plan: Tree | None, origin: PlanOrigin, tools: QuestionContext) -> Result:
        result: Result = self._made.run(question, plan, origin, tools)
        return result


# The registry of strategies: ours, and those of other packages (entry points).

_log = logging.getLogger(__name__)
_OURS: tuple[Strategy, ...] = (
    AtomR(), Rag(), ClosedBook(), ChainOfThought(), SelfAsk(), IRCoT(), ProbTree(), DSP(), React(), CoK(), DetLLM(),
    RoHT(), SearChain(), HumanIQ(),
)  # fmt: skip
STRATEGIES = {strategy.name: strategy for strategy in _OURS}


def find_strategy(name: str) -> Strategy:
    """The strategy of this name.

    Raises:
        SettingsError: there is none, or the package that offers it cannot be loaded.
    """
    if (found := find(ENTRY_POINTS, STRATEGIES, name, "strategy")) is not None:
        return found if name in STRATEGIES else PluggedInStrategy(name, found)
    raise SettingsError(f"there is no strategy named {name[:40]!r}", hint=f"Known: {', '.join(known_names())}.")


def all_strategies() -> dict[str, Strategy]:
    """Every strategy that can be used. One that cannot be loaded is logged and left out."""
    found = dict(STRATEGIES)
    for name, made in load_all(ENTRY_POINTS, STRATEGIES, "strategy").items():
        if name not in STRATEGIES:
            try:
                found[name] = PluggedInStrategy(name, made)
            except SettingsError as error:
                _log.warning("%s", error.message)
    return found


# What a need rests on: the source, and the need in words.
_RESTS_ON: dict[Need, tuple[SourceName, str]] = {
    "graph": (SourceName.GRAPH, "a graph index"),
    "pages": (SourceName.TEXT, "pages of a text index"),
    "text": (SourceName.TEXT, "a text index"),
}


def check_plan(strategy: Strategy) -> None:
    """Refuse a plan that the strategy would not execute: InputError."""
    _refuse(strategy, "takes_plans", "does not run plans", "Strategies that take plans")


def check_revision(strategy: Strategy) -> None:
    """Refuse a correction that the strategy cannot take up: InputError."""
    _refuse(strategy, "revises", "cannot correct an answer", "Strategies that can")


def _refuse(strategy: Strategy, wanted: str, cannot: str, others: str) -> None:
    if not getattr(strategy, wanted):
        able = ", ".join(name for name, one in STRATEGIES.items() if getattr(one, wanted))
        raise InputError(f"the strategy {strategy.name} {cannot}", hint=f"{others}: {able}.")


def check_needs(strategy: Strategy, sources: Collection[str], settings: Settings) -> None:
    """Refuse a question whose sources lack what the strategy cannot do without.

    Args:
        sources: those that the question may use.

    Raises:
        InputError: a source is off, has no index, or one that does not offer what is needed.
    """
    for need in sorted(strategy.needs):
        source, words = _RESTS_ON[need]
        needed = f"the strategy {strategy.name} needs {words}"
        if source not in sources:
            raise InputError(
                f"{needed}, and the source {source} is off",
                hint=f"Turn the source {source} on (--sources), or choose another strategy (`atomr strategies`).",
            )
        try:
            find_source(source).readiness(settings)
            missing = pages_missing(settings) if need == "pages" else ""
        except AtomrError as error:
            raise InputError(f"{needed}: {error.message}", hint=error.hint) from error
        if missing:
            raise InputError(f"{needed}: {missing}", hint="Build the index again.")


def lacks_source(strategy: Strategy, sources: Collection[str]) -> bool:
    """Whether a source that the strategy cannot do without is not among these."""
    return any(_RESTS_ON[need][0] not in sources for need in strategy.needs)


def check_sources(strategy: Strategy, sources: Collection[str], settings: Settings, *, web: bool) -> None:
    """Refuse a question that no source could be asked for. One that cannot be asked, beside others, is only told.

    Args:
        sources: the local ones that the question may use.

    Raises:
        AtomrError: none of them can be asked, and web search is off; the first one's reason.
    """
    problems: list[AtomrError] = []
    if web or not strategy.uses_sources:
        return
    for name in permitted(sources, web=False):
        try:
            find_source(name).readiness(settings)
        except AtomrError as error:
            problems.append(error)
        else:
            return
    if problems:
        raise problems[0]


def check_only_source(strategy: Strategy, options: StrategyOptions, allowed: Collection[str]) -> None:
    """Refuse a question whose strategy is set to ask one source that there is not, or that is off.

    Args:
        allowed: the sources that the question may ask.

    Raises:
        InputError: the source is off.
        SettingsError: there is no such source.
    """
    name = options.only_source()
    if name is None or name in allowed:
        return
    others = f"one of: {', '.join(('all', *allowed))}."
    if name not in (*SOURCES, *switched_names()):
        raise SettingsError(
            f"strategies.{strategy.name}: there is no source named {name!r}", hint=f"Set the option to {others}"
        )
    label = find_source(name).label
    raise InputError(
        f"the strategy {strategy.name} is set to ask the source {name} only, and {label} is off",
        hint=f"Turn it on ({'--web' if name == SourceName.WEB else '--sources'}), or set the strategy's option to "
        f"{others}",
    )
