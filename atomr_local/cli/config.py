"""`atomr config`: the settings in force and the file they come from."""

from __future__ import annotations

import click

from atomr_local import paths
from atomr_local.cli.options import print_json
from atomr_local.settings import load_settings


@click.group()
def config() -> None:
    """Show the settings and where they come from.

    Example: atomr config show
    """


@config.command()
def show() -> None:
    """Print the settings in force as JSON: defaults, settings file and environment put together.

    Example: atomr config show
    """
    settings = load_settings()
    data = settings.model_dump(mode="json")
    if data["endpoint"]["api_key"]:
        data["endpoint"]["api_key"] = "(set)"
    print_json(data)


@config.command()
def path() -> None:
    """Print the path of the settings file, whether it exists or not.

    Example: atomr config path
    """
    click.echo(str(paths.config_file()))
