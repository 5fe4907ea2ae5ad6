"""`atomr indexes`: what is built, from what, when, how large, whether whole."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click

from atomr_local.cli.options import print_json
from atomr_local.sanitize import sanitize_line


@click.group()
def indexes() -> None:
    """List the built indexes.

    Example: atomr indexes list
    """


@indexes.command(name="list")
@click.option("--json", "as_json", is_flag=True, help="Print JSON and nothing else.")
def list_(as_json: bool) -> None:
    """List the built indexes: from what, when, how large, whether whole.

    Example: atomr indexes list
    """
    from atomr_local.indexing.store import list_indexes

    entries = list_indexes()
    if as_json:
        print_json([asdict(entry) | {"path": str(entry.path)} for entry in entries])
        return
    for entry in entries:
        line = f"{entry.kind:<6} {sanitize_line(entry.name):<20}"
        if entry.manifest is None:
            click.echo(f"{line} not usable: {sanitize_line(entry.problem or '')}")
            continue
        counts = ", ".join(f"{count} {sanitize_line(what)}" for what, count in entry.manifest.counts.items())
        files = ", ".join(sanitize_line(Path(item.path).name) for item in entry.manifest.inputs)
        size = f"{entry.manifest.bytes / 1e6:.1f} MB"
        click.echo(f"{line} {counts}; {size}; built {sanitize_line(entry.manifest.built_at)} from {files}")
    if not entries:
        click.echo("No index is built yet; the starter's are built when they are first used.", err=True)
