"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

import click

from atomr_local.cli.completion import adapter_names, graph_indexes, model_names, source_names, text_indexes
from atomr_local.errors import InputError

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
            click.option(
                "--text-index",
                metavar="NAME[,NAME…]",
                shell_complete=text_indexes,
                help="Text index to search, or several searched together.",
            ),
            click.option("--graph-index", metavar="NAME", shell_complete=graph_indexes, help="Graph index to search."),
            click.option(
                "--sources",
                shell_complete=source_names,
                metavar="LIST",
                callback=_sources,
                help="Sources that may be used besides the web, such as text,graph.",
            ),
            click.option("--web/--no-web", default=None, help="Allow or forbid web search for this question."),
            click.option(
                "--share-private", is_flag=True, help="Let what is read in private indexes leave this machine."
            ),
        )
    ):
        command = option(command)
    return model_and_adapter(command)


def model_and_adapter(command: Command) -> Command:
    """--model, --adapter."""
    command = click.option(
        "--adapter",
        metavar="NAME|PATH",
        shell_complete=adapter_names,
        help="LoRA adapter: auto, none, a name or a GGUF file.",
    )(command)
    return click.option(
        "--model", metavar="NAME|PATH", shell_complete=model_names, help="Model to use (default: the settings')."
    )(command)


def strategy_option(command: Command) -> Command:
    """--set: options of strategies."""
    return click.option(
        "--set", "assigned", metavar="NAME.OPTION=VALUE", multiple=True,
        help="Set an option of the strategy, such as rag.top_k=5; repeatable. `atomr strategies NAME` lists them.",
    )(command)  # fmt: skip


def assigned_options(assigned: Iterable[str]) -> dict[str, dict[str, Any]]:
    """What --set gives, as the setting `strategies`.

    Raises:
        SettingsError: there is no such strategy or option, or the value is not usable.
    """
    from atomr_local.strategies.options import checked_options
    from atomr_local.strategies.registry import find_strategy

    given: dict[str, dict[str, Any]] = {}
    for text in assigned:
        place, sign, value = text.partition("=")
        name, dot, option = (part.strip() for part in place.partition("."))
        if not (sign and dot and name and option):
            raise click.UsageError(f"--set: {text!r:.80} is not of the form NAME.OPTION=VALUE, such as rag.top_k=5")
        options = checked_options(find_strategy(name), {option: value.strip()})
        given.setdefault(name, {})[option] = getattr(options, option)
    return given


def check_assigned(assigned: Mapping[str, object], strategy: str) -> None:
    """Refuse options of a strategy that is not used.

    Raises:
        InputError: an option would have no effect.
    """
    for name in assigned:
        if name != strategy:
            raise InputError(
                f"--set {name}.… has no effect: the strategy is {strategy}",
                hint=f"Add --strategy {name}, or see `atomr strategies {strategy}`.",
            )


def overrides(**options: Any) -> dict[str, Any]:
    """The given options as settings overrides; `web` becomes web.enabled, `share_private` privacy.share."""
    web = options.pop("web", None)
    share = options.pop("share_private", False)
    given = {key: value for key, value in options.items() if value is not None}
    if web is not None:
        given["web"] = {"enabled": web}
    if share:
        given["privacy"] = {"share": True}
    return given
