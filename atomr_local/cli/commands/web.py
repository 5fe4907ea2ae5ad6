"""`atomr web`: searches the web, if it is turned on."""

from __future__ import annotations

import click

from atomr_local.cli.options import overrides
from atomr_local.cli.output import print_json
from atomr_local.settings.schema import load_settings
from atomr_local.system.sanitize import sanitize_line


@click.group()
def web() -> None:
    """Search the web, if it is turned on.

    Example: atomr web search "lunar eclipse" --web
    """


@web.command()
@click.argument("query")
@click.option("--web/--no-web", default=None, help="Allow or forbid web search for this call.")
@click.option("-k", "top_k", type=click.IntRange(1, 20), default=5, show_default=True, help="Number of results.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON and nothing else.")
def search(query: str, web: bool | None, top_k: int, as_json: bool) -> None:
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
        print_json([{"title": e.title, "text": e.text, "locator": dict(e.locator)} for e in found])
        return
    for item in found:
        click.echo(f"{sanitize_line(item.title)}\n  {sanitize_line(item.text)}\n  {item.locator['url']}")
    if not found:
        click.echo("Nothing was found.", err=True)
