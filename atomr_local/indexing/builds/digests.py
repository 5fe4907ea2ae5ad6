"""Checksums of the files of an index: made at publishing, compared by `atomr indexes verify` and `repair`.

They stand in `digests.json` inside the index, with a copy of its manifest, and end with a checksum of their own. A
search reads the index's files without asking whether they are what was built; a changed bit in them changes answers.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from atomr_local.errors import KnowledgeIndexError
from atomr_local.indexing.store import DIGESTS, MANIFEST
from atomr_local.input_files import open_regular, read_text
from atomr_local.output_files import put, sync

SCHEMA = 1
_ALGORITHM = "blake2b-256"
_CHUNK = 1 << 20
_MOST_BYTES = 1 << 30  # of the record: it names every file, and holds the manifest
# What builds and RocksDB keep for themselves, LanceDB's hint at the newest version, which it checks, and the vectors
# that are made while an index is used, which have checksums of their own (vector_cache.py).
_IGNORED = frozenset(
    {DIGESTS, "ledger.json", "building.lock", "embedding.lock", "LOCK", "LOG", "latest_version_hint.json", ".DS_Store"}
    | {"Thumbs.db", *(f"vectors.sqlite{end}" for end in ("", "-journal", "-wal", "-shm"))}
)
Check = Callable[[], None]


@dataclass(frozen=True, slots=True)
class FileDigest:
    """Size in bytes and BLAKE2b-256 of a file's content."""

    size: int
    blake2b: str


@dataclass(frozen=True)
class Recorded:
    """What `digests.json` says: files by their path relative to the index, and the manifest's text."""

    files: dict[str, FileDigest]
    manifest: str


@dataclass
class Findings:
    """How an index's files differ from those that were recorded; paths relative to the index.

    Attributes:
        state: of `digests.json`: whole, absent or damaged. Without a whole one nothing else is known.
        problem: why `digests.json` cannot be used.
    """

    state: str = "whole"
    problem: str = ""
    changed: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    added: list[str] = field(default_factory=list)
    unreadable: dict[str, str] = field(default_factory=dict)

    @property
    def bad(self) -> list[str]:
        """Recorded files that are not as they were."""
        return [*self.changed, *self.missing, *self.unreadable]

    def problems(self) -> list[str]:
        """Each difference in words."""
        told = [self.problem] if self.state == "damaged" else []
        told += [f"{name} is damaged: its content is not what was built" for name in self.changed]
        told += [f"{name} is missing" for name in self.missing]
        told += [f"{name} cannot be read: {reason}" for name, reason in self.unreadable.items()]
        told += [f"{name} was not built with this index" for name in self.added]
        return told


def record(directory: Path, manifest: str, *, base: Path | None = None) -> None:
    """Write `digests.json` for the index in `directory`; every file is on the disk when this returns.

    Args:
        manifest: the text of its manifest, which need not be there yet.
        base: an index whose files `directory` may share by hard links. The checksums of shared files are taken from its
            record and not made again, so that damage done since then is still found.

    Raises:
        OSError: a file cannot be read, or the record cannot be written.
    """
    known = _known(base)
    files = {}
    for name, path in sorted(listed(directory)):
        if name == MANIFEST:
            continue
        before = known.get(name)
        if before is not None and base is not None and _same(path, base / name):
            files[name] = before
        else:
            files[name] = digest_of(path, durable=True)
    put(directory / DIGESTS, document(files, manifest))


def document(files: Mapping[str, FileDigest], manifest: str) -> bytes:
    """What `digests.json` says of these files and of the manifest with this text."""
    text = manifest.encode()
    listed_files = {**files, MANIFEST: FileDigest(len(text), hashlib.blake2b(text, digest_size=32).hexdigest())}
    body = {
        "schema": SCHEMA,
        "algorithm": _ALGORITHM,
        "files": {name: [item.size, item.blake2b] for name, item in listed_files.items()},
        "manifest": manifest,
    }
    return json.dumps(body | {"checksum": _checksum(body)}, indent=1).encode()


def read_record(directory: Path) -> Recorded | None:
    """What is recorded of the index in `directory`; None if an earlier version built it and recorded nothing.

    Raises:
        KnowledgeIndexError: the record is damaged or of another version.
        OSError: it cannot be read.
    """
    try:
        text = read_text(directory / DIGESTS, _MOST_BYTES)
    except FileNotFoundError:
        return None
    except ValueError as error:
        raise KnowledgeIndexError(f"{DIGESTS}, the list of checksums, is damaged") from error
    return parse_record(text)


def parse_record(text: str) -> Recorded:
    """What a `digests.json` with this text says.

    Raises:
        KnowledgeIndexError: it is damaged or of another version.
    """
    try:
        data = json.loads(text)
        checksum = data.pop("checksum")
        if data["schema"] != SCHEMA or data["algorithm"] != _ALGORITHM:
            raise KnowledgeIndexError(f"{DIGESTS} was written by another version")
        if checksum != _checksum(data):
            raise KnowledgeIndexError(f"{DIGESTS}, the list of checksums, is damaged")
        files = {str(name): FileDigest(int(size), str(digest)) for name, (size, digest) in data["files"].items()}
        return Recorded(files, str(data["manifest"]))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise KnowledgeIndexError(f"{DIGESTS}, the list of checksums, is damaged") from error


def compare(directory: Path, check: Check = lambda: None) -> Findings:
    """Read every file of the index and compare it with the record.

    Args:
        check: called between pieces of files; may raise to stop.

    Raises:
        OSError: the directory cannot be listed.
    """
    try:
        recorded = read_record(directory)
    except (KnowledgeIndexError, OSError) as error:
        problem = error.message if isinstance(error, KnowledgeIndexError) else f"{DIGESTS} cannot be read: {error}"
        return Findings("damaged", problem)
    if recorded is None:
        return Findings("absent")
    found = Findings()
    there = dict(listed(directory))
    for name, wanted in recorded.files.items():
        path = there.pop(name, None)
        if path is None:
            found.missing.append(name)
            continue
        try:
            size = path.stat().st_size
            if size != wanted.size or digest_of(path, check).blake2b != wanted.blake2b:
                found.changed.append(name)
        except OSError as error:
            found.unreadable[name] = error.strerror or str(error)
    found.added = sorted(there)
    return found


def _known(base: Path | None) -> dict[str, FileDigest]:
    if base is None:
        return {}
    try:
        recorded = read_record(base)
    except (KnowledgeIndexError, OSError):
        return {}
    return recorded.files if recorded is not None else {}


def is_recorded(name: str) -> bool:
    """Whether a file of an index is one that its checksums are of, by its path or name."""
    last = name.rpartition("/")[2]
    return last not in _IGNORED and not last.startswith(("LOG.old.", ".atomr-"))


def listed(directory: Path) -> Iterator[tuple[str, Path]]:
    """Name and path of every file below `directory` that a search may read."""
    for place, _, names in os.walk(directory, onerror=_raise):
        for name in names:
            if not is_recorded(name):
                continue
            path = Path(place, name)
            yield path.relative_to(directory).as_posix(), path


def _raise(error: OSError) -> None:
    raise error


def digest_of(path: Path, check: Check = lambda: None, *, durable: bool = False) -> FileDigest:
    """Size and checksum of a file's content.

    Args:
        durable: bring the file to the disk too.

    Raises:
        OSError: it cannot be read.
    """
    digest = hashlib.blake2b(digest_size=32)
    size = 0
    with open_regular(path) as stream:
        while chunk := stream.read(_CHUNK):
            check()
            digest.update(chunk)
            size += len(chunk)
        if durable:
            sync(stream.fileno())
    return FileDigest(size, digest.hexdigest())


def _same(one: Path, other: Path) -> bool:
    try:
        return one.samefile(other)
    except OSError:
        return False


def _checksum(body: dict[str, Any]) -> str:
    return hashlib.blake2b(json.dumps(body, sort_keys=True).encode(), digest_size=32).hexdigest()
