"""Writes an index as one file that others can import."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import sqlite3
import tempfile
import uuid
from collections import deque
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path, PurePath
from typing import Any

from atomr_local.errors import InputError, KnowledgeIndexError
from atomr_local.indexing import store
from atomr_local.indexing.builds import publishing
from atomr_local.indexing.builds.ledger import damage_hint
from atomr_local.indexing.text_index.catalog import CATALOG
from atomr_local.indexing.text_index.table import TABLE, PassageTable
from atomr_local.indexing.transfer.archive import PROVENANCE, ArchiveWriter, Progress, Provenance, Work, writing
from atomr_local.system.cancellation import Cancellation
from atomr_local.system.files import not_written, open_regular, sync, sync_directory

# What an index still holds of the user's own that is not its content: taken out of what is handed on.
#
# Files that could not be read are listed with their names, and rows that were deleted stay in the files of a table, in
# its full-text index and in free pages of a database until those are written anew.

_TABLE_FILES = f"{TABLE}.lance/"
_CLEANED = (
    "DELETE FROM documents WHERE articles = '[]'",  # not read, or a copy
    # Whoever takes the index in reads no file: what tells a changed file from an unchanged one is of no use there.
    "UPDATE documents SET root = 0, stamp = '', digest = '', reader = '', notes = '[]'",
)


@dataclass(frozen=True)
class HandedOn:
    """What is written of an index.

    Attributes:
        files: by their names, with sizes and checksums.
        written_anew: where those are that are not the index's own.
    """

    manifest: store.Manifest
    files: dict[str, publishing.FileDigest]
    written_anew: dict[str, Path]


def holds_remains(manifest: store.Manifest) -> bool:
    """Whether there may be anything to take out: of documents, or of an index that was changed after it was built."""
    settings = manifest.settings
    return manifest.kind == "text" and ("documents" in settings or "last_change" in settings)


@contextmanager
def without_remains(
    directory: Path, manifest: store.Manifest, files: dict[str, publishing.FileDigest], near: Path
) -> Iterator[HandedOn]:
    """The index without them while this lasts; its own files stay as they are.

    Args:
        near: a folder for the files that are written anew.

    Raises:
        OSError, sqlite3.Error: something cannot be read or written.
        KnowledgeIndexError: the table cannot be.
    """
    if not holds_remains(manifest):
        yield HandedOn(manifest, files, {})
        return
    with tempfile.TemporaryDirectory(prefix=f".{directory.name[:100]}.exporting-", dir=near) as made:
        scratch = Path(made)
        for name in files:
            if name.startswith(_TABLE_FILES):
                (scratch / name).parent.mkdir(parents=True, exist_ok=True)
                publishing.share(directory / name, scratch / name)
        table = PassageTable(scratch, int(manifest.settings["dimensions"]))
        table.rewrite()
        settings = manifest.settings | {"trained_rows": table.index_anew()}
        if CATALOG in files:
            _clean(directory / CATALOG, scratch / CATALOG)
        anew = {name: scratch / name for name, _ in publishing.listed(scratch)}
        kept = {name: item for name, item in files.items() if name != CATALOG and not name.startswith(_TABLE_FILES)}
        kept |= {name: publishing.digest_of(path) for name, path in anew.items()}
        yield HandedOn(replace(manifest, settings=settings), dict(sorted(kept.items())), anew)


def _clean(catalog: Path, cleaned: Path) -> None:
    """Copy the catalogue without what it lists of files alone and without free pages."""
    copy = cleaned.with_suffix(".copy")
    shutil.copyfile(catalog, copy)
    try:
        with closing(sqlite3.connect(copy, isolation_level=None)) as database:
            if database.execute("SELECT 1 FROM sqlite_master WHERE name = 'documents'").fetchone():
                for statement in _CLEANED:
                    database.execute(statement)
            database.execute("VACUUM INTO ?", (str(cleaned),))
    finally:
        copy.unlink(missing_ok=True)


def report_for_others(documents: Any) -> dict[str, Any]:
    """What the manifest says about the files of an index, without their names. `documents` may be anything."""
    told = documents if isinstance(documents, dict) else {}
    counted: dict[str, Any] = {key: _count(told.get(key)) for key in ("files", "bytes")}
    for what in ("unread", "lossy"):
        found = told.get(what)
        counted[what] = {"count": _count(found.get("count") if isinstance(found, dict) else 0), "samples": []}
    return counted


def _count(value: Any) -> int:
    return value if isinstance(value, int) else 0


_CHUNK = 1 << 20
PRIVATE = "private"  # of a manifest in an archive: the index was private where it was written
_OWN = ("asked", "folders", "imported", PRIVATE)


@dataclass(frozen=True)
class Exported:
    """A written file: its size in bytes, and the SHA-256 of its content."""

    path: Path
    size: int
    sha256: str


def export_index(
    kind: store.IndexKind,
    name: str,
    file: Path,
    said: Provenance,
    *,
    replace_file: bool = False,
    progress: Progress = lambda *_: None,
    cancellation: Cancellation | None = None,
) -> Exported:
    """Write the index `name` into `file`, comparing every byte with the index's checksums on the way.

    The manifest in the file names the inputs without their directories. Of an index of documents, no folder is named,
    nor any file that could not be read, lost something or was a copy, and what was removed is gone. Of a private index
    the file says so, and only its owner may read it.

    Args:
        replace_file: a file that is there is replaced, once the new one is whole.

    Raises:
        InputError: the file is there already, or cannot be written.
        KnowledgeIndexError: there is no such index, or it is damaged or without checksums.
        Cancelled: `cancellation` was thrown; nothing was written.
    """
    directory = store.index_path(kind, name)
    if not directory.is_dir():
        raise KnowledgeIndexError(
            f"there is no {kind} index named {name!r}", hint="`atomr indexes list` shows what there is."
        )
    manifest, files = _described(kind, directory)
    if os.path.lexists(file) and not replace_file:
        raise InputError(f"{file} already exists", hint="Name another file, or add --replace.")
    switch = cancellation or Cancellation()
    if holds_remains(manifest):  # some files are written anew, of what was built
        work = Work("checking", sum(item.size for item in files.values()), progress, switch)
        for own, item in files.items():
            deque(work.followed(_pieces(directory / own, item, directory, kind)), maxlen=0)
    partial = file.with_name(f".{file.name[:100]}.{os.getpid()}-{uuid.uuid4().hex[:8]}.partial")
    try:
        mode = 0o600 if publishing.is_private(name) else 0o666
        with (
            without_remains(directory, manifest, files, file.absolute().parent) as given,
            open(partial, "xb", opener=lambda path, flags: os.open(path, flags, mode)) as raw,
        ):
            with writing(raw) as (archive, digest):
                _write(archive, directory, given, said, progress, switch)
            raw.flush()
            sync(raw.fileno())
            size = raw.tell()
        partial.replace(file)
        sync_directory(file.absolute().parent)
    except (OSError, ValueError) as error:
        raise not_written(file, error) from error
    except sqlite3.Error as error:
        raise KnowledgeIndexError(
            f"the catalogue of {directory} cannot be copied: {error}", hint=damage_hint(kind, directory)
        ) from error
    finally:
        partial.unlink(missing_ok=True)
    return Exported(file, size, digest.hexdigest())


def _write(
    archive: ArchiveWriter,
    directory: Path,
    given: HandedOn,
    said: Provenance,
    progress: Progress,
    cancellation: Cancellation,
) -> None:
    manifest = shareable(given.manifest)
    if publishing.is_private(directory.name):
        manifest = replace(manifest, settings=manifest.settings | {PRIVATE: True})
    text = json.dumps(asdict(manifest), ensure_ascii=False, indent=1)
    for name, data in ((store.DIGESTS, publishing.document(given.files, text)), (PROVENANCE, said.data())):
        archive.add(name, len(data), [data])
    work = Work("exporting", sum(item.size for item in given.files.values()), progress, cancellation)
    for name, item in given.files.items():
        place = given.written_anew.get(name, directory / name)
        archive.add(name, item.size, work.followed(_pieces(place, item, directory, given.manifest.kind)))


def _described(kind: store.IndexKind, directory: Path) -> tuple[store.Manifest, dict[str, publishing.FileDigest]]:
    """The index's manifest, and its files with their checksums.

    Raises:
        KnowledgeIndexError: there are none.
    """
    manifest = store.read_manifest(directory)
    recorded = publishing.read_record(directory)
    if recorded is None:
        raise KnowledgeIndexError(
            f"the {kind} index {directory.name!r} was built by an earlier version, without checksums",
            hint=f"`atomr indexes repair {directory.name}` makes them.",
        )
    return manifest, {name: item for name, item in sorted(recorded.files.items()) if name != store.MANIFEST}


def shareable(manifest: store.Manifest) -> store.Manifest:
    """The manifest without what it tells of the maker's own directories."""
    settings = without_own(manifest.settings)
    skipped = settings.get("skipped")
    if isinstance(skipped, dict):
        settings["skipped"] = skipped | {"samples": [_without_folder(sample) for sample in skipped.get("samples", [])]}
    if isinstance(settings.get("titles"), str):
        settings["titles"] = PurePath(settings["titles"]).name
    if "documents" in settings:
        settings["documents"] = report_for_others(settings["documents"])
    inputs = [replace(item, path=PurePath(item.path).name) for item in manifest.inputs]
    return replace(manifest, inputs=inputs, settings=settings)


def without_own(settings: dict[str, Any]) -> dict[str, Any]:
    """Settings of a manifest without those about one machine: lists and folders of its user, and what was imported."""
    return {key: value for key, value in settings.items() if key not in _OWN}


def _without_folder(sample: Any) -> Any:
    return [PurePath(str(sample[0])).name, *sample[1:]] if isinstance(sample, list | tuple) and sample else sample


def _pieces(path: Path, item: publishing.FileDigest, directory: Path, kind: store.IndexKind) -> Iterator[bytes]:
    """The content of one file of the index in `directory`.

    Raises:
        KnowledgeIndexError: it is not what was built.
    """
    digest, left = hashlib.blake2b(digest_size=32), item.size
    try:
        with open_regular(path) as stream:
            while piece := stream.read(min(_CHUNK, left + 1)):
                left -= len(piece)
                if left < 0:
                    break
                digest.update(piece)
                yield piece
    except OSError as error:
        raise _damaged(path, directory, kind) from error
    if left or digest.hexdigest() != item.blake2b:
        raise _damaged(path, directory, kind)


def _damaged(path: Path, directory: Path, kind: store.IndexKind) -> KnowledgeIndexError:
    return KnowledgeIndexError(
        f"{path} is not what was built, or was replaced meanwhile", hint=damage_hint(kind, directory)
    )
