"""Publishes and removes indexes atomically; finds what unfinished builds left behind.

A build writes into a hidden directory beside its destination and is published by exchanging the two names, so that a
reader sees the old index or the new one, never half of one and never none. Where the file system cannot exchange names,
the old index is set aside first, and for a moment there is none.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import re
import shutil
import uuid
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from atomr_local.errors import KnowledgeIndexError, SettingsError
from atomr_local.indexing import store
from atomr_local.indexing.store import DIGESTS, MANIFEST
from atomr_local.settings.schema import load_settings
from atomr_local.system import paths
from atomr_local.system.files import exchange, open_regular, process_alive, put, read_text, sync, sync_directory

# Checksums of the files of an index: made at publishing, compared by `atomr indexes verify` and `repair`.
#
# They stand in `digests.json` inside the index, with a copy of its manifest, and end with a checksum of their own. A
# search reads the index's files without asking whether they are what was built; a changed bit in them changes answers.

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
    return last not in _IGNORED and not last.startswith(("LOG.old.", ".atomr-", SHARD))


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


LEDGER = "ledger.json"  # of an unfinished build, see ledger.py
LOCK = "building.lock"  # held while a build runs
SHARD = "shard-"  # begins the names of files that an unfinished build is put together from, see shards.py
# A build over several runs; or a build, an index set aside or one to be removed, of one process.
_HIDDEN = re.compile(rf"\.(?P<name>{store.NAME.pattern})\.(?:building|(?P<what>building|old|removed)-(?P<pid>\d+)-\w+)")


def unfinished_path(kind: store.IndexKind, name: str) -> Path:
    """Where :func:`resumable` builds the index `name`."""
    return store.index_path(kind, name).with_name(f".{name}.building")


@contextlib.contextmanager
def resumable(kind: store.IndexKind, name: str) -> Iterator[Path]:
    """The directory in which the index `name` is built over several runs, if need be; held while this lasts.

    It is the same directory each time. When the block ends without :func:`publish`, by an error or a kill, it stays if
    it holds a ledger, and is removed otherwise.

    Raises:
        KnowledgeIndexError: another process is building this index.
        OSError: the directory cannot be made.
    """
    destination = store.index_path(kind, name)
    destination.parent.mkdir(parents=True, exist_ok=True)
    scratch = unfinished_path(kind, name)
    with _held(scratch, kind, name):
        _clear_leftovers(destination)
        try:
            yield scratch
        finally:
            if not (scratch / LEDGER).exists():
                shutil.rmtree(scratch, ignore_errors=True)


def publish(scratch: Path, manifest: store.Manifest) -> Path:
    """Write the manifest into `scratch` and put it in the index's place, replacing an older one.

    Returns:
        The index's directory.
    """
    destination = store.index_path(manifest.kind, manifest.name)
    for left in scratch.glob("*.lance/**/.tmp*"):  # of LanceDB's writers that were killed
        left.unlink()
    listed_too = [path for name in (store.MANIFEST, store.DIGESTS) if (path := scratch / name).is_file()]
    size = sum(path.stat().st_size for path in (*_helpers(scratch), *listed_too))
    data = asdict(manifest) | {"bytes": store.directory_size(scratch) - size}
    text = json.dumps(data, ensure_ascii=False, indent=1)
    record(scratch, text, base=destination if destination.exists() else None)
    put(scratch / store.MANIFEST, text.encode())
    if not scratch.stat().st_mode & 0o077:
        seal(scratch)
    old = scratch.with_name(f".{manifest.name}.old-{os.getpid()}-{uuid.uuid4().hex[:8]}")
    if not _exchanged(scratch, destination, old):
        # The name tells who set it aside, so that it is put back when that process dies before the next line.
        if os.path.lexists(destination):
            destination.rename(old)
        try:
            scratch.rename(destination)
        except OSError:
            if os.path.lexists(old):
                old.rename(destination)
            raise
    sync_directory(destination.parent)
    # Only now: until the rename, they are what a killed build continues from.
    for helper in _helpers(destination):
        helper.unlink(missing_ok=True)
    with contextlib.suppress(OSError):
        _discard(old)
    return destination


def _helpers(directory: Path) -> list[Path]:
    """The files in the directory that only its build needs, the ledger last."""
    return [*directory.glob(f"{SHARD}*"), *(path for name in (LOCK, LEDGER) if (path := directory / name).is_file())]


def _exchanged(scratch: Path, destination: Path, old: Path) -> bool:
    """Put `scratch` in the place of the index that is there, which comes to `old`, with an index there at every moment;
    False where there is none yet, or no way to do so."""
    if destination.is_symlink() or not destination.is_dir():
        return False
    lock = destination / LOCK
    # For a moment the old index lies where builds of this name do. It brings the lock along that this process holds,
    # so that no other begins one in it.
    try:
        lock.unlink(missing_ok=True)  # of a process that was killed here
        if (scratch / LOCK).exists():
            os.link(scratch / LOCK, lock)
        done = exchange(scratch, destination)
    except OSError:
        done = False
    if not done:
        with contextlib.suppress(OSError):
            lock.unlink(missing_ok=True)
        return False
    try:
        scratch.rename(old)
    except OSError:
        exchange(scratch, destination)
        raise
    return True


def _discard(path: Path) -> None:
    """Remove a directory with all that is in it; of a link to one the link alone. What is gone already is no error."""
    with contextlib.suppress(FileNotFoundError):
        if path.is_symlink():
            path.unlink()
        else:
            shutil.rmtree(path)


def is_private(name: str) -> bool:
    """Whether the settings say that the index is private; also where they cannot be read."""
    try:
        return name in store.index_names(load_settings().privacy.indexes)
    except SettingsError:
        return True


def seal(directory: Path) -> None:
    """Let nobody but the owner read the directory of a private index, where the file system can do so."""
    if directory.is_symlink():
        return
    for place, _, files in os.walk(directory):
        for path, mode in ((Path(place), 0o700), *((Path(place, name), 0o600) for name in files)):
            with contextlib.suppress(OSError):
                path.chmod(mode)


def share(source: str | Path, destination: str | Path) -> None:
    """Make a file of one directory a file of another too: by a hard link, or a copy where there are none."""
    try:
        os.link(source, destination)
    except OSError:
        shutil.copy2(source, destination)


def put_back(kind: store.IndexKind, name: str) -> None:
    """Put the index `name` back where a process that died had set it aside and nothing has taken its place since.

    Raises:
        KnowledgeIndexError: another process is building this index.
        OSError: it cannot be put back.
    """
    left = [item for item in list_unfinished() if (item.kind, item.name) == (kind, name)]
    if any(item.set_aside and not item.running for item in left):
        with resumable(kind, name):  # whoever holds the name clears up
            pass


def clear_leftovers(kind: store.IndexKind, name: str) -> None:
    """Remove what processes that died left of the index `name`, but no build that can continue.

    Raises:
        KnowledgeIndexError: the directory of the indexes cannot be read.
        OSError: the lock cannot be made.
    """
    base = paths.indexes_dir() / kind
    hidden = [(directory, _HIDDEN.fullmatch(directory.name)) for directory in store.subdirectories(base)]
    # Without a ledger it is the old index of a process that died right after it had published the new one.
    if any(
        match is not None and match["name"] == name and (match["pid"] is not None or not (directory / LEDGER).exists())
        for directory, match in hidden
    ):
        with contextlib.suppress(KnowledgeIndexError), resumable(kind, name):
            pass  # whoever holds the name clears up; another that holds it has done so


@dataclass(frozen=True)
class Unfinished:
    """A hidden directory beside the indexes: a build that can continue, or what a process left that died.

    Attributes:
        resumable: the same build command continues from it.
        running: a process is at work in it now.
        bytes: size on disk.
        set_aside: the index itself, which a process that died had moved out of the way of a new one.
    """

    kind: store.IndexKind
    name: str
    path: Path
    resumable: bool
    running: bool
    bytes: int
    set_aside: bool = False


def list_unfinished() -> list[Unfinished]:
    """What is neither an index nor gone, by kind and name.

    Raises:
        KnowledgeIndexError: the directory of the indexes cannot be read.
    """
    found = []
    for kind in store.KINDS:
        base = paths.indexes_dir() / kind
        for directory in store.subdirectories(base):
            if (match := _HIDDEN.fullmatch(directory.name)) is None:
                continue
            resumable = match["pid"] is None
            running = _is_locked(directory) if resumable else process_alive(int(match["pid"]))
            set_aside = match["what"] == "old" and not os.path.lexists(base / match["name"])
            size = 0
            with contextlib.suppress(OSError):  # a process at work there takes files away
                size = _size(directory)
            found.append(Unfinished(kind, match["name"], directory, resumable, running, size, set_aside))
    return found


def _size(path: Path) -> int:
    """Bytes that are free once this is removed: of a link to a directory none."""
    return 0 if path.is_symlink() else store.directory_size(path)


def remove(kind: store.IndexKind, name: str, *, unfinished_only: bool = False) -> int:
    """Remove an index and what unfinished builds of it left; the index goes at once or not at all. Where it is a link,
    what it leads to stays.

    Args:
        unfinished_only: the index stays; one that was set aside is put back.

    Returns:
        Bytes that were freed.

    Raises:
        KnowledgeIndexError: there is nothing of this name, it is being built, or it cannot be removed.
    """
    destination = store.index_path(kind, name)
    scratch = unfinished_path(kind, name)
    left = [item for item in list_unfinished() if (item.kind, item.name) == (kind, name)]
    there = not unfinished_only and (destination.is_dir() or destination.is_symlink())
    if not there and not left:
        what = "unfinished build of a " if unfinished_only else ""
        raise KnowledgeIndexError(
            f"there is no {what}{kind} index named {name!r}", hint="`atomr indexes list` shows what there is."
        )
    freed = sum(item.bytes for item in left if not item.running and not (unfinished_only and item.set_aside))
    try:
        with _held(scratch, kind, name):
            if there:
                freed += _size(destination)
                gone = destination.with_name(f".{name}.removed-{os.getpid()}-{uuid.uuid4().hex[:8]}")
                destination.rename(gone)
                _discard(gone)
            _clear_leftovers(destination, restore=unfinished_only)
            for item in left:
                if not item.running and not item.resumable and os.path.lexists(item.path):
                    _discard(item.path)  # raises what stands in the way
            shutil.rmtree(scratch)
    except OSError as error:
        raise KnowledgeIndexError(f"{destination} cannot be removed: {error}") from error
    return freed


@contextlib.contextmanager
def _held(scratch: Path, kind: store.IndexKind, name: str) -> Iterator[None]:
    """Hold the lock file in `scratch`, which is made."""
    while True:
        scratch.mkdir(exist_ok=True)
        if is_private(name):
            seal(scratch)  # what is made in it is closed to others from its first byte
        try:
            stream = (scratch / LOCK).open("a")
        except FileNotFoundError:  # published or removed by another process since
            continue
        with stream:
            try:
                fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise KnowledgeIndexError(
                    f"another process is building the {kind} index {name!r}", hint="Wait until it has ended."
                ) from None
            if not _same_file(stream.fileno(), scratch / LOCK):
                continue
            yield
            return


def _same_file(handle: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(handle), path.stat())
    except FileNotFoundError:
        return False


def _is_locked(directory: Path) -> bool:
    """Whether a process holds the build in this directory."""
    try:
        with (directory / LOCK).open("a") as stream:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False


def _clear_leftovers(destination: Path, *, restore: bool = True) -> None:
    """Remove what dead processes left of `destination`; an index that one had just set aside is put back."""
    for shard in destination.glob(f"{SHARD}*"):  # of one that died right after it had published
        with contextlib.suppress(OSError):
            shard.unlink()
    for directory in destination.parent.iterdir():
        match = _HIDDEN.fullmatch(directory.name)
        if match is None or match["name"] != destination.name or match["pid"] is None:
            continue
        if process_alive(int(match["pid"])):
            continue
        if match["what"] == "old" and restore and not os.path.lexists(destination):
            with contextlib.suppress(OSError):
                directory.rename(destination)
                continue
        with contextlib.suppress(OSError):
            _discard(directory)
