"""`atomr completion`: what a shell reads to complete commands, options and names."""

from __future__ import annotations

import click

from atomr_local.cli.completion import SHELLS, script


@click.command()
@click.argument("shell", type=click.Choice(SHELLS))
def completion(shell: str) -> None:
    """Print the script that makes SHELL complete commands, options, and names of indexes, models and strategies.

    The shell reads it when it starts: see "Complete names with Tab" in docs/how-to/scripts.md.

    Example: eval "$(atomr completion bash)"
    """
    click.echo(script(shell), nl=False)
