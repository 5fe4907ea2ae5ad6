"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

Command = TypeVar("Command", bound=Callable[..., Any])


def _sources(_ctx: click.Context, _param: click.Parameter, value: str | None) -> tuple[str, ...] | None:
    """A comma-separated list of local sources, each once."""
    if value is None:
        return None
    names = tuple(dict.fromkeys(part.strip() for part in value.split(",") if part.strip()))
    if not names or any(name not in ("text", "graph") for name in names):
        raise click.BadParameter(f"{value!r} is not a list of text and graph; the web is turned on with --web")
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
                help="Local sources that may be used, such as text,graph.",
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
