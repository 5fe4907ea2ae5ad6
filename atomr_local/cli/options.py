"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

Command = TypeVar("Command", bound=Callable[..., Any])


def _sources(_ctx: click.Context, _param: click.Parameter, value: str | None) -> tuple[str, ...] | None:
    """A comma-separated list of sources other than the web, each once."""
    if value is None:
        return None
    from atomr_local.sources.registry import switched_names

    names = tuple(dict.fromkeys(part.strip() for part in value.split(",") if part.strip()))
    known = switched_names()
    if not names or any(name not in known for name in names):
        listed = f"{', '.join(known[:-1])} and {known[-1]}"
        raise click.BadParameter(f"{value!r} is not a list of {listed}; the web is turned on with --web")
    return names


def model_options(command: Command) -> Command:
    """--model, --adapter, --text-index, --graph-index, --sources, --web/--no-web."""
    for option in reversed(
        (
            click.option("--model", metavar="NAME|PATH", help="Model to use (default: the settings')."),
            click.option("--adapter", metavar="NAME|PATH", help="LoRA adapter: auto, none, a name or a GGUF file."),
            click.option("--text-index", metavar="NAME", help="Text index to search."),
            click.option("--graph-index", metavar="NAME", help="Graph index to search."),
            click.option(
                "--sources",
                metavar="LIST",
                callback=_sources,
                help="Sources that may be used besides the web, such as text,graph.",
            ),
            click.option("--web/--no-web", default=None, help="Allow or forbid web search for this question."),
        )
    ):
        command = option(command)
    return command


def overrides(**options: Any) -> dict[str, Any]:
    """The given options as settings overrides; `web` becomes web.enabled."""
    web = options.pop("web", None)
    given = {key: value for key, value in options.items() if value is not None}
    if web is not None:
        given["web"] = {"enabled": web}
    return given
