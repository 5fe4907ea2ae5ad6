"""A strategy of another package, completed with defaults for what it does not say of itself."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass
from typing import Any, get_args

from atomr_local.errors import SettingsError
from atomr_local.reasoning.results import Result
from atomr_local.reasoning.trace.schema import PlanOrigin
from atomr_local.sanitize import sanitize_line
from atomr_local.strategies.options import NoOptions, StrategyOptions
from atomr_local.strategies.protocol import Need, Strategy, Toolbox
from atomr_local.tree.nodes import Tree


@dataclass
class PluggedIn:
    """See :class:`Strategy`. Goes by the name of its entry point, which settings and traces hold."""

    name: str
    summary: str
    paper: str
    needs: frozenset[Need]
    options: type[StrategyOptions]
    uses_sources: bool
    revises: bool
    takes_plans: bool
    made: Any

    def run(self, question: str, plan: Tree | None, origin: PlanOrigin, tools: Toolbox) -> Result:
        result: Result = self.made.run(question, plan, origin, tools)
        return result


def plugged_in(name: str, made: Any) -> Strategy:
    """What a package offers under this name, as a strategy.

    Raises:
        SettingsError: what it says of itself is not of the protocol.
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
    return PluggedIn(
        name,
        sanitize_line(str(getattr(made, "summary", ""))),
        sanitize_line(str(getattr(made, "paper", ""))),
        frozenset(needs),
        options,
        bool(getattr(made, "uses_sources", True)),
        bool(getattr(made, "revises", False)),
        # Before there was this attribute, a strategy got every plan and refused those that it did not execute.
        bool(getattr(made, "takes_plans", True)),
        made,
    )
