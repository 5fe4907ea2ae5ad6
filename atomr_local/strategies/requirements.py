"""Whether a strategy can do what is asked of it; checked before a model is loaded."""

from __future__ import annotations

from collections.abc import Callable, Collection

from atomr_local.errors import AtomrError, InputError
from atomr_local.settings.schema import Settings
from atomr_local.sources.protocol import SourceName
from atomr_local.sources.registry import find_source, pages_missing
from atomr_local.strategies.protocol import Need, Strategy
from atomr_local.strategies.registry import STRATEGIES

# What a need rests on: the source, and the need in words.
_RESTS_ON: dict[Need, tuple[SourceName, str]] = {
    "graph": (SourceName.GRAPH, "a graph index"),
    "pages": (SourceName.TEXT, "pages of a text index"),
    "text": (SourceName.TEXT, "a text index"),
}


def check_plan(strategy: Strategy) -> None:
    """Refuse a plan that the strategy would not execute.

    Raises:
        InputError: it takes no plans.
    """
    if not strategy.takes_plans:
        raise InputError(
            f"the strategy {strategy.name} does not run plans",
            hint=f"Strategies that take plans: {_ours(lambda item: item.takes_plans)}.",
        )


def check_revision(strategy: Strategy) -> None:
    """Refuse a correction that the strategy cannot take up.

    Raises:
        InputError: it does not revise.
    """
    if not strategy.revises:
        raise InputError(
            f"the strategy {strategy.name} cannot correct an answer",
            hint=f"Strategies that can: {_ours(lambda item: item.revises)}.",
        )


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


def _ours(which: Callable[[Strategy], bool]) -> str:
    return ", ".join(name for name, strategy in STRATEGIES.items() if which(strategy))
