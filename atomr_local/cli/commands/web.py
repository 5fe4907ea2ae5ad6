"""`atomr web`: searches the web, if it is turned on."""

from __future__ import annotations

import click

from atomr_local.assistant.wishes import argument, option
from atomr_local.cli.options import JSON_ALONE, command, overrides
from atomr_local.cli.output import print_evidence
from atomr_local.settings.schema import load_settings
from atomr_local.system.sanitize import sanitize_line


@click.group()
def web() -> None:
    """Search the web, if it is turned on.

    Example: atomr web search "lunar eclipse" --web
    """


@command(web)
def search(
    query: str = argument(),
    web: bool | None = option("Allow or forbid web search for this call."),
    top_k: int = option("Number of results.", "-k", type=click.IntRange(1, 20), default=5),
    as_json: bool = JSON_ALONE,
) -> None:
    """Search DuckDuckGo. Refused while web access is off.

    Example: atomr web search "lunar eclipse" --web
    """
    from atomr_local.sources.protocol import Request
    from atomr_local.sources.web import WebSource
    from atomr_local.system.cancellation import Cancellation

    chosen = load_settings(**overrides(web=web))
    settings = chosen.web
    source = WebSource(
        enabled=settings.enabled,
        timeout=settings.timeout,
        region=settings.region,
        use_proxy=chosen.network.use_proxy,
    )
    found = source.retrieve(Request(query, query, top_k=top_k), Cancellation()).evidence
    if as_json:
        print_evidence(found, "title", "text")
        return
    for item in found:
        click.echo(f"{sanitize_line(item.title)}\n  {sanitize_line(item.text)}\n  {item.locator['url']}")
    if not found:
        click.echo("Nothing was found.", err=True)
