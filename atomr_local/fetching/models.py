"""Downloads a model: published metadata, the file, and the record kept beside it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import unquote

import httpx

from atomr_local.catalog.record import ModelRecord, read_record, record_path, sha256_of
from atomr_local.errors import InputError, ModelError
from atomr_local.fetching.client import Client, checked_url, header_length, shown
from atomr_local.fetching.download import Progress, RemoteFile, download, writing
from atomr_local.gguf import GgufHeader, check_model
from atomr_local.output_files import put

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
# Hugging Face's headers about a large file, in the redirect to where it is kept.
_LINKED_DIGEST, _LINKED_SIZE = "x-linked-etag", "x-linked-size"
_FETCHED = ".fetched"  # after the name of a file that is whole, but not yet looked into


@dataclass(frozen=True, slots=True)
class RemoteModel:
    """A model on a server; `file.algorithm` is empty if it publishes no checksum."""

    name: str
    licence: str
    file: RemoteFile

    def target(self, directory: Path) -> Path:
        return directory / f"{self.name}.gguf"


def name_of(url: str) -> str:
    """What the model at an address is to be called: the last part of the address.

    Raises:
        FetchError: it is not an address that can be downloaded from.
        InputError: it is none of a GGUF file.
    """
    last = unquote(checked_url(url).path.rpartition("/")[2])
    if not last.endswith(".gguf"):
        raise InputError(f"{shown(url)} is not the address of a GGUF file", hint="Its path ends in .gguf.")
    return checked_name(last.removesuffix(".gguf"))


def checked_name(name: str) -> str:
    """A name that a model file may have.

    Raises:
        InputError: it may not.
    """
    if not _NAME.fullmatch(name):
        raise InputError(
            f"{name[:80]!r} is not a valid model name", hint="Letters, digits, '.', '_' and '-': see --name."
        )
    return name


def direct(url: str) -> str:
    """The address of the file itself, of that of the page that shows it on Hugging Face.

    Raises:
        FetchError: it is not an address that can be downloaded from.
    """
    parts = checked_url(url)
    if parts.hostname == "huggingface.co" and "/blob/" in parts.path:
        return parts._replace(path=parts.path.replace("/blob/", "/resolve/", 1), query="").geturl()
    return url


def look_up(client: Client, url: str, name: str, licence: str = "") -> RemoteModel:
    """Ask the server for length and checksum; nothing is fetched.

    Raises:
        FetchError: it does not answer, refuses, or does not say how long the file is.
    """
    headers = client.head(url, enough=lambda answer: bool(published_digest(answer)))
    digest = published_digest(headers)
    size = header_length(url, published_length(headers))
    file = RemoteFile(url, f"{name}.gguf{_FETCHED}", size, "sha256" if digest else "", digest)
    return RemoteModel(name, licence, file)


def published_length(headers: httpx.Headers) -> str:
    """The length of the file in the headers, as text; "" if there is none."""
    return str(headers.get(_LINKED_SIZE if published_digest(headers) else "content-length", ""))


def published_digest(headers: httpx.Headers) -> str:
    """The SHA-256 in the headers; "" if there is none."""
    tag = headers.get(_LINKED_DIGEST, "").strip().removeprefix("W/").strip('"').lower()
    return tag if re.fullmatch(r"[0-9a-f]{64}", tag) else ""


def is_there(model: RemoteModel, directory: Path) -> bool:
    """Whether the model available under this name is the one that the server has, judged by what is known."""
    target = model.target(directory)
    if not target.is_file() or target.stat().st_size != model.file.size:
        return False
    if model.file.algorithm:
        return sha256_of(target) == model.file.digest
    record = read_record(target)
    return record is not None and record.url == model.file.url and sha256_of(target) == record.sha256


def pull(client: Client, model: RemoteModel, directory: Path, progress: Progress = lambda *_: None) -> GgufHeader:
    """Download the model, or resume; a model of this name is replaced once all is checked.

    Raises:
        FetchError: see its message; what was fetched stays, to continue from.
        ModelError: what came is no model; it is removed.
    """
    target = model.target(directory)
    fetched = download(client, model.file, directory, progress)
    try:
        check_model(fetched)
    except ModelError as error:
        fetched.unlink(missing_ok=True)
        raise ModelError(
            f"what {shown(model.file.url)} gives is not a usable model: {error.message}",
            hint="It was removed. Choose another file; a model in several parts cannot be used.",
        ) from error
    record = ModelRecord(
        url=shown(model.file.url),
        licence=model.licence,
        size=model.file.size,
        sha256=model.file.digest or sha256_of(fetched),
        published=bool(model.file.algorithm),
        fetched_at=datetime.now(UTC).isoformat(timespec="seconds"),
    )
    with writing(target):
        record_path(target).unlink(missing_ok=True)  # never beside another file than its own
        fetched.replace(target)
        put(record_path(target), record.text())
    return check_model(target)
