"""`atomr config`: the current settings and where they come from."""

from __future__ import annotations

import click

from atomr_local import paths
from atomr_local.cli.output import note, print_json
from atomr_local.settings.schema import leaves, load_settings, origins


@click.group()
def config() -> None:
    """Show the settings and where they come from.

    Example: atomr config show
    """


@config.command()
@click.option("--origins", "with_origins", is_flag=True, help="Give each setting with where its value comes from.")
def show(with_origins: bool) -> None:
    """Print the settings in force as JSON: defaults, settings file and environment put together.

    What is not the default is named on standard error, with where it comes from. A key, a password and what may be one
    in an address are shown as "…".

    Example: atomr config show
    """
    settings = load_settings()
    origin_of = origins()
    data = settings.model_dump(mode="json")
    if with_origins:
        print_json({key: {"value": value, "origin": origin_of.get(key, "default")} for key, value in leaves(data)})
        return
    print_json(data)
    places = {"settings file": str(paths.config_file()), "environment": "the environment"}
    for key, origin in sorted(origin_of.items()):
        note(f"{key} comes from {places[origin]}.")


@config.command()
def path() -> None:
    """Print the path of the settings file, whether it exists or not.

    Example: atomr config path
    """
    click.echo(str(paths.config_file()))
