"""What is known of a model file: the record that lies beside a fetched one, and whether the file is still that."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from atomr_local.errors import ModelError
from atomr_local.gguf import read_header

_BYTES = 1 << 20
_DIGEST = re.compile(r"[0-9a-f]{64}")


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
class Verdict:
    """What checking a model file has shown. `note` says how far the check goes; `problem` is empty when it is good."""

    note: str
    problem: str = ""


def record_path(model: Path) -> Path:
    return model.with_suffix(".json")


def read_record(model: Path) -> ModelRecord | None:
    """The record beside a model; None where there is none that can be used."""
    try:
        with record_path(model).open("rb") as stream:
            data: Any = json.loads(stream.read(_BYTES))
        record = ModelRecord(**data)
    except (OSError, ValueError, TypeError, RecursionError):
        return None
    usable = type(record.size) is int and isinstance(record.sha256, str) and _DIGEST.fullmatch(record.sha256)
    return record if usable else None


def sha256_of(file: Path) -> str:
    """Checksum of a file.

    Raises:
        ModelError: it cannot be read.
    """
    try:
        with file.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError as error:
        raise ModelError(f"{file} cannot be read: {error.strerror}") from error


def verify_model(model: Path) -> Verdict:
    """Whether a model or adapter file is whole: its header, its length, and its checksum where one is recorded."""
    try:
        header = read_header(model)
        record = read_record(model)
        if record is None:
            return Verdict("its header and length fit; no checksum is recorded")
        if record.size != header.size:
            return Verdict("", f"{header.size} bytes where {record.size} were fetched")
        if sha256_of(model) != record.sha256:
            return Verdict("", "its SHA-256 is not the one that was recorded when it was fetched")
    except ModelError as error:
        return Verdict("", error.message)
    return Verdict(f"its header, length and SHA-256 fit what was {'published' if record.published else 'fetched'}")
