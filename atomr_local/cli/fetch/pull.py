"""`atomr models pull`: shows size and time, asks, and downloads."""

from __future__ import annotations

import sys

import click

from atomr_local import paths
from atomr_local.catalog.offered import catalogue, offered_model
from atomr_local.cli.fetch.console import agreed, bytes_progress, given_contact, interruptible
from atomr_local.cli.output import note_text
from atomr_local.errors import InputError
from atomr_local.fetching.client import Client, shown
from atomr_local.fetching.download import remaining, require_room
from atomr_local.fetching.estimates import transfer_time
from atomr_local.fetching.models import RemoteModel, checked_name, direct, is_there, look_up, name_of, pull
from atomr_local.indexing.builds.space import human_size
from atomr_local.sanitize import sanitize_line
from atomr_local.settings.schema import load_settings


def pull_model(name: str, *, called: str, replace: bool, base_url: str, yes: bool) -> str | None:
    """Get a model of the catalogue or by its address; what it is called then, None if the user does not want to.

    Args:
        called: another name for it; empty: the catalogue's, or the file's.
        replace: take the place of another model of this name without asking.

    Raises:
        AtomrError: nothing is offered under the name, or it cannot be fetched, checked or written.
    """
    if called:
        checked_name(called)
    licence = ""
    if "://" in name:
        url = direct(name)
        named = called or name_of(url)
    else:
        offered = offered_model(name)
        url, licence, named = offered.url(base_url or catalogue().hub), offered.licence, called or offered.name
    directory = paths.models_dir()
    use_proxy = load_settings().network.use_proxy
    contact = given_contact(None)
    with (
        interruptible(),
        Client(contact=contact, use_proxy=use_proxy, base_url=base_url, notify=note_text) as client,
    ):
        model = look_up(client, url, named, licence)
        if is_there(model, directory):
            note_text(f"{named} is up to date: {model.target(directory)}")
            return named
        if not _wanted(model, replace=replace, yes=yes):
            note_text("Nothing was downloaded.")
            return None
        with bytes_progress(named) as progress:
            header = pull(client, model, directory, progress)
    parameters = f"{header.parameters / 1e6:,.0f} million parameters"
    note_text(
        f"Downloaded and checked: {parameters}, {sanitize_line(header.quantisation)}. Use it: atomr models use {named}"
    )
    click.echo(str(model.target(directory)))
    return named


def _wanted(model: RemoteModel, *, replace: bool, yes: bool) -> bool:
    """Tell what it takes and ask.

    Raises:
        AtomrError: there is nobody to ask, or too little room.
    """
    directory, file = paths.models_dir(), model.file
    left = remaining(file, directory)
    licence = f", licence {model.licence}" if model.licence else ""
    note_text(f"{model.name}: {human_size(file.size)}{licence}; {human_size(left)} to download into {directory}")
    note_text(f"From {shown(file.url)}, {transfer_time(left)}.")
    if not file.algorithm:
        note_text("The server publishes no checksum: only the length and what the file says of itself can be checked.")
    require_room(directory, left)
    target = model.target(directory)
    if target.exists() and not replace:
        if not sys.stdin.isatty():
            raise InputError(
                f"{target} is another model of this name",
                hint="Give another name with --name, or add --replace to replace it.",
            )
        if not click.confirm(
            f"{target.name} already exists and is a different file. Replace it after the download?", err=True
        ):
            return False
    return agreed(yes)
