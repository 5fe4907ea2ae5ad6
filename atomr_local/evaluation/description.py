"""Everything that determines the answers of a run, compared when the run is resumed."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

from atomr_local.errors import InputError
from atomr_local.indexing.store import STARTER, IndexKind, index_path, read_manifest, resolve
from atomr_local.input_files import open_regular
from atomr_local.settings.schema import Settings

SCHEMA = "atomr.eval-run/1"
# Groups of settings that decide no answer: how the screen looks, what is kept of questions, how others are reached.
UNDECIDING = ("ui", "history", "network")


def describe_run(settings: Settings, questions: Path, plans: Path | None = None) -> dict[str, Any]:
    """The run's description for run.json: settings, and what questions, plans and indexes hold.

    How many of the questions are asked is left out, so that a run can be extended, and so are settings that decide no
    answer. No secret is in it.

    Raises:
        InputError: a file cannot be read.
        KnowledgeIndexError: an index named in the settings is not built, or none is named where several are.
    """
    shown = settings.model_dump(mode="json", exclude=set(UNDECIDING))
    for name in ("api_key", "deadline", "allow_unencrypted_credentials"):
        shown["endpoint"].pop(name)
    names: dict[IndexKind, str] = {"text": settings.text_index, "graph": settings.graph_index}
    return {
        "schema": SCHEMA,
        "questions": _file(questions),
        "plans": _file(plans) if plans else None,
        "indexes": {kind: _index(kind, names[kind]) for kind in settings.sources},
        "settings": shown,
    }


def _file(path: Path) -> dict[str, str]:
    try:
        with open_regular(path) as stream:
            return {"file": path.name, "sha256": hashlib.file_digest(stream, "sha256").hexdigest()}
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}") from error


def _index(kind: IndexKind, configured: str) -> dict[str, Any]:
    name = resolve(kind, configured)
    if name == STARTER:  # built on first use, perhaps by this very run
        return {"name": name}
    manifest = read_manifest(index_path(kind, name))
    return {"name": name, "counts": manifest.counts, "inputs": [item.sha256 for item in manifest.inputs]}
