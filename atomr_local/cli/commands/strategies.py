"""`atomr strategies`: the reasoning methods, and what can be set of each."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from atomr_local.assistant.wishes import argument, flag
from atomr_local.cli.options import command
from atomr_local.cli.output import print_json
from atomr_local.system.sanitize import sanitize_line

if TYPE_CHECKING:
    from atomr_local.strategies.protocol import Strategy

_WIDTH = 79
_NEEDS = {"graph": "the graph index", "pages": "pages of the text index", "text": "the text index"}


@command()
def strategies(
    name: str | None = argument(required=False, completes="strategy_names"),
    as_json: bool = flag("Print it as JSON.", "--json"),
) -> None:
    """List the reasoning methods; with NAME, what one of them needs and which options it has.

    Options stand in the settings file as [strategies.NAME], or follow --set of `atomr ask` and `atomr eval run`.

    Example: atomr strategies
    Then: atomr strategies rag
    """
    from atomr_local.strategies.registry import all_strategies, find_strategy

    if name is not None:
        told = _about(find_strategy(name))
        if as_json:
            print_json(told)
        else:
            click.echo("\n".join(_lines(told)))
        return
    known = [{"name": item.name, "summary": item.summary} for item in all_strategies().values()]
    if as_json:
        print_json(known)
        return
    for item in known:
        click.echo(f"{item['name']:<12} {item['summary']}")


def _about(strategy: Strategy) -> dict[str, Any]:
    """The strategy as JSON has it; each option with the value that holds.

    Raises:
        SettingsError: the settings give it an option that is not usable.
    """
    from atomr_local.settings.schema import load_settings
    from atomr_local.strategies.options import described, options_of

    held = options_of(strategy, load_settings())
    return {
        "name": strategy.name,
        "summary": strategy.summary,
        "paper": strategy.paper,
        "needs": sorted(strategy.needs),
        "uses_sources": strategy.uses_sources,
        "takes_plans": strategy.takes_plans,
        "revises": strategy.revises,
        "options": [option | {"value": getattr(held, option["name"])} for option in described(strategy.options)],
    }


def _lines(told: dict[str, Any]) -> Iterator[str]:
    needs = ", ".join(_NEEDS[need] for need in told["needs"]) or (
        "any source" if told["uses_sources"] else "no source: it looks nothing up"
    )
    yield from _folded("", f"{told['name']}: {told['summary']}", indent=4)
    if told["paper"]:
        yield from _folded("paper", told["paper"])
    yield from _folded("needs", needs)
    yield from _folded("plans", "executes a given one (--plan)" if told["takes_plans"] else "takes none")
    yield from _folded("corrections", "keeps what a correction does not affect" if told["revises"] else "takes none")
    if not told["options"]:
        yield from _folded("options", "none")
        return
    name = told["name"]
    yield from _folded("options", f"[strategies.{name}] in the settings, or --set {name}.OPTION=VALUE")
    for option in told["options"]:
        now = f"; now {_shown(option['value'])}" if option["value"] != option["default"] else ""
        values = f"{option['name']} ({option['values']}; default {_shown(option['default'])}{now})"
        yield from _folded("  ", values, indent=4)
        yield from _folded("    ", option["description"], indent=4)


def _folded(label: str, text: str, indent: int = 14) -> list[str]:
    """A label and a text from outside, on lines that fit."""
    first = label if indent < 14 else label.ljust(indent)
    return textwrap.wrap(
        sanitize_line(text), _WIDTH, initial_indent=first, subsequent_indent=" " * indent, break_on_hyphens=False
    )


def _shown(value: Any) -> str:
    return "none" if value is None else value if isinstance(value, str) else json.dumps(value)
