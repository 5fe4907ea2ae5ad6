"""`atomr config`: the current settings, where they come from, and changes of the settings file."""

from __future__ import annotations

import click

from atomr_local.assistant.wishes import argument, flag
from atomr_local.cli.options import command
from atomr_local.cli.output import note, print_json
from atomr_local.errors import InputError, SettingsError
from atomr_local.settings.schema import Settings, leaves, load_settings, origins, read_settings_text
from atomr_local.system import paths
from atomr_local.system.sanitize import sanitize

_KEY = argument(completes="setting_keys")


@click.group()
def config() -> None:
    """Show and change the settings.

    Example: atomr config show
    Then: atomr config set strategy self-ask
    """


@command(config)
def show(with_origins: bool = flag("Give each setting with where its value comes from.", "--origins")) -> None:
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


@command(config)
def path() -> None:
    """Print the path of the settings file, whether it exists or not.

    Example: atomr config path
    """
    click.echo(str(paths.config_file()))


@command(config)
def set_(key: str = _KEY, value: str = argument(completes="setting_values")) -> None:
    """Write a setting to the settings file.

    KEY is as `atomr config show` has it, with dots for what is in a group. The file is checked before it is replaced;
    its comments and everything else in it stay.

    Example: atomr config set top_k 5
    Then: atomr config set sources text,graph
    """
    from atomr_local.settings.file import save_settings, value_of

    _told(save_settings({key: value_of(key, value)}), key)


@command(config)
def unset(key: str = _KEY) -> None:
    """Take a setting out of the settings file: its default holds again.

    Example: atomr config unset top_k
    """
    from atomr_local.settings.file import save_settings

    _told(save_settings({key: None}), key)


@command(config)
def edit() -> None:
    """Open the settings file in your editor (VISUAL or EDITOR).

    What you save is checked. If it cannot be used, you can go on editing it; the file stays as it was meanwhile.

    Example: atomr config edit
    """
    from atomr_local.settings.file import save_settings_text

    file = Settings.file or paths.config_file()
    text = read_settings_text(file) or "# Settings of atomr-local; `atomr config show` lists them.\n"
    before = text
    while True:
        try:
            edited = click.edit(text, extension=".toml")
        except click.ClickException as error:
            raise InputError(
                sanitize(error.format_message()), hint="Set EDITOR to a program that edits text."
            ) from error
        if edited is None or edited == before:
            note("Nothing was changed.")
            return
        try:
            click.echo(f"{save_settings_text(edited)} is written.")
            return
        except SettingsError as error:
            click.echo(sanitize(error.in_full()), err=True)
            text = edited
            if not click.confirm("Edit again?", default=True, err=True):
                raise


def _told(file: object, key: str) -> None:
    """Say where the change stands, and what holds instead of it."""
    click.echo(f"{file} is written.")
    if origins().get(key) == "environment":
        note(f"The environment sets {key} as well, and that holds.")
