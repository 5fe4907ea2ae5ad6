"""What is known about a model file, and whether the file still matches.

A fetched model has a record beside it, an adapter that ships has its checksum in its card, and the starter's files have
theirs in the list of files of the package that installed them.
"""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from atomr_local.catalog.starter import installed_digests, reinstall_advice
from atomr_local.errors import ModelError
from atomr_local.gguf import read_header
from atomr_local.input_files import open_regular, read_regular

_BYTES = 1 << 20
_DIGEST = re.compile(r"[0-9a-f]{64}")
QUICK_BYTES = 1 << 30


@dataclass(frozen=True, slots=True)
class ModelRecord:
    """Where a model came from and what it was like then.

    Attributes:
        size: bytes.
        sha256: hexadecimal, lower case.
        published: whether the server published that checksum; otherwise it was computed when the file had come.
        fetched_at: time of day in ISO 8601.
    """

    url: str
    licence: str
    size: int
    sha256: str
    published: bool
    fetched_at: str

    def text(self) -> bytes:
        return json.dumps(asdict(self), indent=2).encode() + b"\n"


@dataclass(frozen=True, slots=True)
class FileCheck:
    """What checking a model file has shown. `note` says how far the check goes; `problem` is empty when it is good."""

    note: str
    problem: str = ""


def record_path(model: Path) -> Path:
    return model.with_suffix(".json")


def adapter_card(adapter: Path) -> dict[str, Any]:
    """What the JSON file beside an adapter says of it, unchecked; empty if it cannot be read."""
    try:
        card = json.loads(read_regular(record_path(adapter), _BYTES))
    except (OSError, ValueError, RecursionError):
        return {}
    return card if isinstance(card, dict) else {}


def task_adapters(adapter: Path) -> dict[str, Path]:
    """Adapters for one task each, on top of this one: what its card lists in `task_adapters`, by task.

    The card may only name files of the folder `tasks` beside the adapter; anything else in it is passed over.
    """
    listed = adapter_card(adapter).get("task_adapters")
    if not isinstance(listed, dict):
        return {}
    found = {}
    for task, name in listed.items():
        if isinstance(name, str) and name.endswith(".gguf") and Path(name).name == name and "\\" not in name:
            file = adapter.parent / "tasks" / name
            if file.is_file():
                found[task] = file
    return found


def read_record(model: Path) -> ModelRecord | None:
    """The record beside a model; None if there is none that can be used."""
    try:
        record = ModelRecord(**adapter_card(model))
    except TypeError:
        return None
    usable = type(record.size) is int and isinstance(record.sha256, str) and _DIGEST.fullmatch(record.sha256)
    return record if usable else None


def sha256_of(file: Path) -> str:
    """Checksum of a file.

    Raises:
        ModelError: it cannot be read.
    """
    try:
        with open_regular(file) as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError as error:
        raise ModelError(f"{file} cannot be read: {error.strerror}") from error


def verify_model(model: Path) -> FileCheck:
    """Whether a model or adapter file is whole: its header, its length, and its checksum where one is known."""
    try:
        header = read_header(model)
        record = read_record(model)
        if record is not None:
            known, what = record.sha256, "was published" if record.published else "was fetched"
            origin = "recorded when it was fetched"
            if record.size != header.size:
                return FileCheck("", f"{header.size} bytes where {record.size} were fetched")
        elif known := _carded(model):
            what, origin = "its card says", "in its card"
        elif known := installed_digests().get(model.resolve(), ""):
            what, origin = "was installed", "listed by its package"
        else:
            return FileCheck("its header and length fit; no checksum is recorded")
        if sha256_of(model) != known:
            return FileCheck("", f"its SHA-256 is not the one that was {origin}")
    except ModelError as error:
        return FileCheck("", error.message)
    return FileCheck(f"its header, length and SHA-256 fit what {what}")


def require_whole(model: Path, most: int = QUICK_BYTES) -> None:
    """Compare a file of up to `most` bytes with its known checksum; longer ones are left to `atomr models verify`.

    Raises:
        ModelError: it is damaged.
    """
    try:
        if model.stat().st_size > most:
            return
    except OSError as error:
        raise ModelError(f"{model} cannot be read: {error.strerror}") from error
    _require(verify_model(model), model)


def require_whole_embedder(directory: Path) -> None:
    """Compare the files of an embedder with their known checksums.

    Raises:
        ModelError: one is damaged.
    """
    _require(verify_embedder(directory), directory)


def _require(verdict: FileCheck, path: Path) -> None:
    if verdict.problem:
        installed = any(file.is_relative_to(path.resolve()) for file in installed_digests())
        hint = reinstall_advice() if installed else "Get it again, or choose another in the settings."
        raise ModelError(f"{path} is damaged: {verdict.problem}", hint=hint)


def verify_embedder(directory: Path) -> FileCheck:
    """Whether every file of an embedder has the checksum of the package that installed it."""
    folder = directory.resolve()
    known = {path: digest for path, digest in installed_digests().items() if path.is_relative_to(folder)}
    if not known:
        return FileCheck("its files are there; no checksum is recorded")
    for path, digest in sorted(known.items()):
        try:
            if sha256_of(path) != digest:
                return FileCheck("", f"the SHA-256 of {path.name} is not the one that was installed")
        except ModelError as error:
            return FileCheck("", error.message)
    return FileCheck(f"the SHA-256 of its {len(known)} files fits what was installed")


def _carded(adapter: Path) -> str:
    """The SHA-256 in the card beside an adapter; empty if there is none."""
    digest = adapter_card(adapter).get("sha256")
    return digest if isinstance(digest, str) and _DIGEST.fullmatch(digest) else ""
