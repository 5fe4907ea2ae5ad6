"""Prints rows of a query as they are found: lines with tabs, one JSON document, or JSON lines."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click

from atomr_local.errors import AtomrError
from atomr_local.sanitize import sanitize_line

if TYPE_CHECKING:
    from atomr_local.sources.graph.sparql.query import RunningQuery


def print_lines(running: RunningQuery) -> None:
    """The columns' names and then a line a row, values separated by tabs; yes or no for an ASK."""
    if running.boolean is not None:
        click.echo("yes" if running.boolean else "no")
        return
    # With the first rows, so that nothing is printed of a query that finds none before it fails.
    head = "\t".join(sanitize_line(name) for name in running.variables) + "\n"
    for rows in running.batches():
        lines = ("\t".join(sanitize_line(row.get(name, "")) for name in running.variables) for row in rows)
        click.echo(head + "\n".join(lines))
        head = ""
    click.echo(head, nl=False)


def print_json_lines(running: RunningQuery) -> None:
    """An object a row, its values by column."""
    if running.boolean is not None:
        click.echo(json.dumps({"boolean": running.boolean}))
        return
    for rows in running.batches():
        click.echo("\n".join(map(json.dumps, rows)))


def print_json(running: RunningQuery) -> None:
    """One object with variables, rows and cut. Whole even where the query takes too long, which it then tells."""
    if running.boolean is not None:
        click.echo(json.dumps({"boolean": running.boolean}))
        return
    opening = f'{{"variables": {json.dumps(running.variables)}, "rows": ['
    before = opening
    try:
        for rows in running.batches():
            click.echo(before + ", ".join(map(json.dumps, rows)), nl=False)
            before = ", "
    except AtomrError as error:
        if before != opening:
            text = json.dumps({"title": error.title, "message": error.message})
            click.echo(f'], "cut": true, "error": {text}}}')
        raise
    click.echo(f'{opening if before == opening else ""}], "cut": {json.dumps(running.cut)}}}')
