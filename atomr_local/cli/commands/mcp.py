"""`atomr mcp`: the assistant as tools for other programs, over standard input and output."""

from __future__ import annotations

import sys

import click

from atomr_local.cli.completion import strategy_names
from atomr_local.cli.options import model_options, overrides
from atomr_local.cli.output import announce_remote, note
from atomr_local.errors import InputError, MissingPartError
from atomr_local.system.installation import add_extra


@click.command()
@click.option(
    "-s",
    "--strategy",
    metavar="NAME",
    shell_complete=strategy_names,
    help="Reasoning method of questions that name none.",
)
@model_options
def mcp(*, strategy: str | None, **options: object) -> None:
    """Serve the Model Context Protocol over standard input and output.

    A client such as an editor or a chat program starts this command itself. Its tools answer questions, search the text
    indexes, read pages, and find entities, relations and query results in the graph. Web search stays off without
    --web, whatever the settings say; no client can turn it on. Private indexes are refused without --share-private.

    Example: atomr mcp --sources text,graph
    """
    options["web"] = bool(options.pop("web", None))
    try:
        from atomr_local.mcp_server.server import check_handing_on
        from atomr_local.mcp_server.standard_streams import run
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in {"mcp", "mcp_types"}:
            raise
        raise MissingPartError(
            "`atomr mcp` needs the package mcp",
            hint=f"Install it with: {add_extra('mcp')}",
        ) from error
    from atomr_local.assistant import Assistant
    from atomr_local.strategies.registry import find_strategy

    with Assistant.open(**overrides(**options, strategy=strategy)) as assistant:
        find_strategy(assistant.settings.strategy)
        announce_remote(assistant.settings)
        check_handing_on(assistant)
        if sys.stdin.isatty():
            raise InputError(
                "a client of the Model Context Protocol starts this command; standard input is a terminal",
                hint="See docs/how-to/mcp.md for how to add it to a client.",
            )
        run(assistant, note)
