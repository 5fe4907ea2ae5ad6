"""Takes in an index that was made elsewhere: nothing of it is opened before all of it has been checked.

The file tells first what it holds. Its members are unpacked one by one into the hidden directory of a build, each of
exactly the size and content that the list says; then the databases and the whole index are verified, and only then it
is published by renaming. Where anything is wrong, or the process is killed, nothing of it is left to be opened.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from atomr_local.errors import AtomrError, InputError, KnowledgeIndexError
from atomr_local.indexing import store
from atomr_local.indexing.builds import publishing
from atomr_local.indexing.builds.ledger import changing
from atomr_local.indexing.builds.space import require_space, write_error
from atomr_local.indexing.transfer.archive import (
    MOST_PROVENANCE,
    PROVENANCE,
    ArchiveReader,
    Progress,
    Provenance,
    Work,
    damaged,
    is_database,
    plain_name,
    read_provenance,
    reading,
    schema_problem,
)
from atomr_local.indexing.transfer.exporting import PRIVATE, report_for_others, without_own
from atomr_local.indexing.verify import verify_index
from atomr_local.system.cancellation import Cancellation

_LIST_BYTES = 64 << 20
_MANIFEST_BYTES = 16 << 20
_MOST_FILES = 100_000
# An index is packed to a half or a fifth; what grows a hundred times is made to fill a disk.
_MOST_GROWTH, _SMALL = 100, 100_000_000
# Types of what the rest of the program reads in a manifest's settings.
_TYPES: dict[str, type] = {"embedder": str, "language": str, "skipped": dict, "slice": dict, "unlabelled": dict}
_LANCE = ".lance/"
_OUTSIDE = (b"../", b"://")


@dataclass(frozen=True)
class ArchiveManifest:
    """What a file says that it holds; nothing of it is checked yet but its own list.

    Attributes:
        bytes: of the index when it is unpacked.
    """

    manifest: store.Manifest
    said: Provenance
    files: dict[str, publishing.FileDigest]

    @property
    def bytes(self) -> int:
        return sum(item.size for item in self.files.values())

    @property
    def embedder(self) -> str:
        """Identity of the embedder of a text index; "" of a graph."""
        return str(self.manifest.settings.get("embedder", ""))

    @property
    def private(self) -> bool:
        """Whether the index was private where the file was written."""
        return self.manifest.settings.get(PRIVATE) is True


def read_offer(file: Path) -> ArchiveManifest:
    """What the file says that it holds; only its beginning is read.

    Raises:
        InputError: it cannot be read, or is no index that can be imported.
    """
    with reading(file) as archive:
        return _offer(file, archive)


def _offer(file: Path, archive: ArchiveReader) -> ArchiveManifest:
    try:
        recorded = publishing.parse_record(archive.small(store.DIGESTS, _LIST_BYTES).decode())
        said = read_provenance(archive.small(PROVENANCE, MOST_PROVENANCE))
        if len(recorded.manifest) > _MANIFEST_BYTES:
            raise ValueError("the manifest is too long")
        manifest = store.parse_manifest(recorded.manifest, file)
    except InputError:
        raise
    except AtomrError as error:
        raise damaged(file, error.message) from error
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise damaged(file, f"what it says of itself cannot be read ({error})") from error
    files = {name: item for name, item in recorded.files.items() if name != store.MANIFEST}
    offer = ArchiveManifest(manifest, said, files)
    if problem := _manifest_problem(offer, file):
        raise damaged(file, problem)
    return offer


def _manifest_problem(offer: ArchiveManifest, file: Path) -> str:
    """What cannot be true of an index as the file describes it; "" for nothing."""
    manifest, files = offer.manifest, offer.files
    bad = next((name for name in files if not plain_name(name) or not publishing.is_recorded(name)), "")
    gone = [
        part
        for part in store.PARTS[manifest.kind]
        if not any(name == part or name.startswith(f"{part}/") for name in files)
    ]
    wrong = [key for key, kind in _TYPES.items() if not isinstance(manifest.settings.get(key, kind()), kind)]
    size = file.stat().st_size
    problems = {
        "its index has no valid name": not store.NAME.fullmatch(manifest.name),
        f"it lists {len(files)} files": not 0 < len(files) <= _MOST_FILES,
        f"{bad[:80]!r} is not a name that an index has": bad,
        "it lists a file of less than no bytes": any(item.size < 0 for item in files.values()),
        f"it has no {' and no '.join(gone)}, as a {manifest.kind} index has": gone,
        f"the settings {', '.join(wrong)} of its index are not of their types": wrong,
        "it does not say with which embedder it was made": manifest.kind == "text" and not offer.embedder,
        f"it would grow from {size} to {offer.bytes} bytes": offer.bytes > _SMALL + _MOST_GROWTH * size,
    }
    return next((problem for problem, found in problems.items() if found), "")


def import_index(
    file: Path,
    *,
    name: str = "",
    replace_index: bool = False,
    origin: str = "",
    embedder: str | None = None,
    progress: Progress = lambda *_: None,
    cancellation: Cancellation | None = None,
) -> store.Manifest:
    """Check the index in `file` and make it one of this machine's.

    Args:
        name: what it is called here; "": as its maker called it.
        replace_index: take the place of an index of this name.
        origin: where the file comes from, where that is not its own path.
        embedder: identity of the embedder that searches would use, for the report.

    Raises:
        InputError: the file cannot be read, is damaged, or is not what it says; nothing was changed.
        KnowledgeIndexError: there is an index of this name, it cannot be written, or it is not whole.
        Cancelled: `cancellation` was thrown; nothing was changed.
    """
    switch = cancellation or Cancellation()
    with reading(file) as archive:
        offer = _offer(file, archive)
        kind, called = offer.manifest.kind, store.check_name(name or offer.manifest.name)
        destination = store.index_path(kind, called)
        if os.path.lexists(destination) and not replace_index:
            raise KnowledgeIndexError(
                f"there is a {kind} index named {called!r} already",
                hint="Import it under another name with --name, or add --replace.",
            )
        try:
            with changing(kind, called) as scratch:
                require_space(scratch, offer.bytes, f"the {kind} index {called!r}")
                _unpack(file, archive, offer, scratch, progress, switch)
                _check(file, offer, scratch, embedder, switch)
                return _publish(file, offer, called, origin, scratch)
        except OSError as error:
            raise write_error(f"the {kind} index {called!r}", error) from error


def _unpack(
    file: Path,
    archive: ArchiveReader,
    offer: ArchiveManifest,
    scratch: Path,
    progress: Progress,
    cancellation: Cancellation,
) -> None:
    work = Work("importing", offer.bytes, progress, cancellation)
    left = dict(offer.files)
    while (found := archive.member()) is not None:
        name, size = found
        wanted = left.pop(name, None)
        if wanted is None:
            raise damaged(file, f"it holds {name[:80]!r}, which is not on its list, or twice")
        if size != wanted.size:
            raise damaged(file, f"{name} is {size} bytes long where its list says {wanted.size}")
        if _written(scratch / name, work.followed(archive.pieces(size))) != wanted.blake2b:
            raise damaged(file, f"{name} has another checksum than its list says")
    if left:
        raise damaged(file, f"{min(left)} and {len(left) - 1} more of its list are missing")


def _written(path: Path, pieces: Iterator[bytes]) -> str:
    """Write a new file; the BLAKE2b-256 of its content."""
    path.parent.mkdir(parents=True, exist_ok=True)
    digest = hashlib.blake2b(digest_size=32)
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o666)
    with os.fdopen(handle, "wb") as stream:
        for piece in pieces:
            digest.update(piece)
            stream.write(piece)
    return digest.hexdigest()


def _check(file: Path, offer: ArchiveManifest, scratch: Path, embedder: str | None, cancellation: Cancellation) -> None:
    """Make sure that what was unpacked is a whole index and nothing else.

    Raises:
        InputError: it is not.
        Cancelled: the cancellation was thrown.
    """
    for name in sorted(offer.files):
        cancellation.check()
        path = scratch / name
        if is_database(path) and (problem := schema_problem(path)):
            raise damaged(file, f"{name}: {problem}")
        if _LANCE in name and "/_versions/" in name and any(mark in path.read_bytes() for mark in _OUTSIDE):
            raise damaged(file, f"{name} names files outside the index")
    entry = store.IndexEntry(offer.manifest.kind, offer.manifest.name, scratch, offer.manifest)
    (scratch / store.DIGESTS).unlink(missing_ok=True)  # the checksums were compared while it was unpacked
    report = verify_index(entry, embedder, cancellation)
    if report.problems:
        raise damaged(file, report.problems[0])


def _publish(file: Path, offer: ArchiveManifest, called: str, origin: str, scratch: Path) -> store.Manifest:
    said: dict[str, Any] = {
        "file": origin or file.name,
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "name": offer.manifest.name,
        "provenance": asdict(offer.said),
    }
    settings = without_own(offer.manifest.settings)  # no index from elsewhere names folders of this machine
    if "documents" in settings:
        settings["documents"] = report_for_others(settings["documents"])
    manifest = replace(offer.manifest, name=called, settings=settings | {"imported": said})
    return store.read_manifest(publishing.publish(scratch, manifest))
