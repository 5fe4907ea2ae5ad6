"""The command that rebuilds an index, from its manifest."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

from atomr_local.errors import KnowledgeIndexError
from atomr_local.indexing import store
from atomr_local.indexing.readers.wikipedia.page_props import page_props_beside

# Stands for a file of titles or ids whose place no manifest of an earlier version holds.
_UNKNOWN = "FILE"


def rebuild_hint(entry: store.IndexEntry) -> str:
    """What to do about a damaged index."""
    if entry.name == store.STARTER:
        return repair_hint(entry)
    imported = _settings(entry).get("imported")
    if isinstance(imported, dict):
        return f"Import it again from {imported.get('file', 'its file')}: atomr indexes import FILE --replace"
    hint = f"Build it again: {rebuild_command(entry)}"
    change = _settings(entry).get("last_change")
    if isinstance(change, dict):
        hint += " (then repeat what was added to it or removed from it since)"
    return hint


def repair_hint(entry: store.IndexEntry) -> str:
    """What to do about a damaged index that needs nothing but what is there."""
    return f"`atomr indexes repair {entry.name}` repairs it."


def damage_hint(kind: store.IndexKind, directory: Path) -> str:
    """What to do about the index in `directory`, which proved to be damaged."""
    try:
        manifest = store.read_manifest(directory)
    except KnowledgeIndexError as error:
        return error.hint
    entry = store.IndexEntry(kind, directory.name, directory, manifest)
    if entry.name == store.STARTER:
        return store.permission_hint(directory) or repair_hint(entry)
    rebuild = rebuild_hint(entry)
    return store.permission_hint(directory) or (
        f"Run `atomr indexes repair {entry.name}`. If it cannot repair the index, {rebuild[0].lower()}{rebuild[1:]}"
    )


def rebuild_command(entry: store.IndexEntry) -> str:
    """The whole command, quoted for a shell; INPUT... where the inputs are not known.

    FILE stands for a list of titles, entities or properties that the index was built with and whose place is not known.
    """
    inputs, options = rebuild_words(entry)
    return f"atomr {entry.kind} build {shlex.join(inputs) or 'INPUT...'} {shlex.join(options)}"


def rebuild_words(entry: store.IndexEntry) -> tuple[list[str], list[str]]:
    """(inputs, options) of the command, each a word as a program is given it."""
    settings = _settings(entry)
    options = _text_options(settings) if entry.kind == "text" else _graph_options(settings)
    if entry.manifest is not None and "linearised" in entry.manifest.counts:
        options.append("--linearise")
    return _inputs(entry), ["--name", entry.name, *options]


def _inputs(entry: store.IndexEntry) -> list[str]:
    """The files that were given; the tables that were found beside them are no inputs of the command."""
    files = [item.path for item in entry.manifest.inputs] if entry.manifest else []
    first = _settings(entry).get("first_inputs")  # what was added later does not count
    if isinstance(first, int) and 0 < first <= len(files):
        files = files[:first]
    if entry.kind != "text":
        return files
    beside = {str(table) for file in files if (table := page_props_beside(Path(file))) is not None}
    return [file for file in files if file not in beside]


def _settings(entry: store.IndexEntry) -> dict[str, Any]:
    return entry.manifest.settings if entry.manifest else {}


def _text_options(settings: dict[str, Any]) -> list[str]:
    options: list[str] = []
    folders = settings.get("folders")
    if isinstance(folders, dict):
        for pattern in folders.get("exclude", ()):
            options += ["--exclude", str(pattern)]
        options += ["--hidden"] if folders.get("hidden") else []
        # Documents alone: by their content they may be files of articles too.
        if not any(Path(str(root)).is_dir() for root in folders.get("roots", ())):
            options += ["--format", "documents"]
        return [*options, "--vectors", "later"] if "vectors" in settings else options
    if (format_ := settings.get("format", "auto")) != "auto":
        options += ["--format", str(format_)]
    columns = settings.get("columns")
    for name in ("id", "title", "text"):
        if isinstance(columns, dict) and columns.get(name):
            options += [f"--{name}", str(columns[name])]
    options += ["--salvage"] if settings.get("salvage") is True else []
    if (limit := settings.get("limit")) is not None:
        options += ["--limit", str(limit)]
    if settings.get("titles") is not None:
        options += ["--titles", _given(settings, "titles")]
    if "vectors" in settings:
        options += ["--vectors", "later"]
    return options


def _graph_options(settings: dict[str, Any]) -> list[str]:
    options: list[str] = []
    if (format_ := _asked(settings).get("format", "auto")) != "auto":
        options += ["--format", str(format_)]
    text_index = settings.get("text_index")
    if isinstance(text_index, dict) and text_index.get("name"):
        options += ["--text-index", str(text_index["name"])]
    for name in ("entities", "properties"):
        if settings.get(name) is not None:
            options += [f"--{name}", _given(settings, name)]
    if (language := settings.get("language", "en")) != "en":
        options += ["--language", str(language)]
    return options


def _asked(settings: dict[str, Any]) -> dict[str, Any]:
    """What the build was asked for and the rest of the settings does not tell."""
    asked = settings.get("asked")
    return asked if isinstance(asked, dict) else {}


def _given(settings: dict[str, Any], name: str) -> str:
    return str(_asked(settings).get(name) or _UNKNOWN)
