"""`atomr models`: what models, adapters and embedders are at hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from atomr_local.catalog.find import CatalogEntry, chosen_paths, find_model, list_models
from atomr_local.sanitize import sanitize_line
from atomr_local.settings import load_settings


@click.group()
def models() -> None:
    """List the models and adapters at hand.

    Example: atomr models list
    """


@models.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def list_(as_json: bool) -> None:
    """List models, adapters and embedders; * marks those that the settings choose.

    Example: atomr models list --json
    """
    settings = load_settings()
    chosen = chosen_paths(settings.model, settings.adapter, settings.embedder)
    rows = [_row(entry, chosen) for entry in list_models()]
    if as_json:
        click.echo(json.dumps(rows, ensure_ascii=False, indent=2))
        return
    if not rows:
        click.echo("No models at hand. Install the starter with: pip install 'atomr-local[starter]'", err=True)
        return
    table = [("", "NAME", "KIND", "PARAMETERS", "QUANTISATION", "SIZE", "PATH"), *map(_cells, rows)]
    widths = [max(len(row[column]) for row in table) for column in range(6)]
    for row in table:
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=False)]
        click.echo("  ".join([*cells, row[6]]).rstrip())


@models.command()
@click.argument("name")
def path(name: str) -> None:
    """Print the path of the model, adapter or embedder NAME.

    Example: atomr models path starter
    """
    entries = (entry.path for entry in list_models() if entry.name == name)
    click.echo(str(next(entries, None) or find_model(name)))


def _row(entry: CatalogEntry, chosen: set[Path]) -> dict[str, Any]:
    header = entry.header
    return {
        "name": entry.name,
        "kind": entry.kind,
        "default": entry.path.resolve() in chosen,
        "parameters": header.parameters if header else None,
        "quantisation": header.quantisation if header else None,
        "architecture": header.architecture if header else None,
        "context_tokens": header.context_length if header else None,
        "bytes": entry.size,
        "path": str(entry.path),
        "problem": entry.problem or None,
    }


def _cells(row: dict[str, Any]) -> tuple[str, ...]:
    parameters = row["parameters"]
    return (
        "*" if row["default"] else "",
        sanitize_line(row["name"]),
        row["kind"],
        _count(parameters) if parameters is not None else "-",
        sanitize_line(row["quantisation"] or "-"),
        f"{row['bytes'] / 1e6:.0f} MB",
        sanitize_line(row["path"] + (f"  (unusable: {row['problem']})" if row["problem"] else "")),
    )


def _count(number: int) -> str:
    """135M, 7.2B."""
    return f"{number / 1e9:.1f}B" if number >= 1e9 else f"{number / 1e6:.0f}M"
