"""Where built indexes live, what their manifest says, and which of them is meant. How they come there:
:mod:`atomr_local.indexing.builds.publishing`."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from atomr_local.errors import InputError, KnowledgeIndexError
from atomr_local.system import paths
from atomr_local.system.files import open_regular, read_text

IndexKind = Literal["text", "graph"]
KINDS: tuple[IndexKind, ...] = ("text", "graph")
STARTER = "starter"
MANIFEST = "manifest.json"
DIGESTS = "digests.json"  # see digests.py
SCHEMA = 1
_MANIFEST_BYTES = 256 << 20  # it names every input file
# What an index of each kind cannot be without.
PARTS: dict[IndexKind, tuple[str, ...]] = {"text": ("passages.lance",), "graph": ("oxigraph", "names.sqlite")}
# What an index and its directory may be called.
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


@dataclass(frozen=True)
class InputFile:
    """One file that an index was built from; size in bytes."""

    path: str
    size: int
    sha256: str


@dataclass(frozen=True)
class Manifest:
    """What an index is: written last, so an index without one is not whole.

    Attributes:
        counts: for text {"articles", "passages"}; for graph {"entities", "triples", "properties"}.
        settings: what the build was run with; for text it names the embedder and its dimensions.
        bytes: size on disk.
    """

    kind: IndexKind
    name: str
    counts: dict[str, int]
    inputs: list[InputFile]
    settings: dict[str, Any] = field(default_factory=dict)
    built_at: str = field(default_factory=lambda: datetime.now(UTC).isoformat(timespec="seconds"))
    bytes: int = 0
    schema: int = SCHEMA


@dataclass(frozen=True)
class IndexEntry:
    """A directory found among the indexes.

    Attributes:
        problem: why its manifest cannot be used, or None.
        hint: what to do about the problem, where building it again is not what helps.
    """

    kind: IndexKind
    name: str
    path: Path
    manifest: Manifest | None
    problem: str | None = None
    hint: str = ""

    def damage(self) -> str:
        """What can be seen to be wrong without reading it through: the problem, or the parts that are gone; else ""."""
        if self.problem is not None:
            return self.problem
        gone = [name for name in PARTS[self.kind] if not os.path.lexists(self.path / name)]
        return f"{' and '.join(gone)} {'is' if len(gone) == 1 else 'are'} missing" if gone else ""


def check_name(name: str) -> str:
    """The name, if it can be a directory's name.

    Raises:
        InputError: it cannot.
    """
    if not NAME.fullmatch(name):
        raise InputError(
            f"{name!r} cannot name an index", hint="Use letters, digits, '.', '_' and '-', at most 64 of them."
        )
    return name


def index_path(kind: IndexKind, name: str) -> Path:
    return paths.indexes_dir() / kind / check_name(name)


def read_manifest(directory: Path) -> Manifest:
    """The manifest of the index in `directory`.

    Raises:
        KnowledgeIndexError: it is missing, unreadable or of another version.
    """
    file = directory / MANIFEST
    try:
        return parse_manifest(read_text(file, _MANIFEST_BYTES), directory)
    except FileNotFoundError as error:
        raise KnowledgeIndexError(
            f"{directory} contains no finished index ({MANIFEST} is missing)", hint="Build the index again."
        ) from error
    except OSError as error:
        raise KnowledgeIndexError(
            f"{file} cannot be read: {error.strerror or error}", hint=permission_hint(directory) or READABLE
        ) from error
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise KnowledgeIndexError(f"{file} cannot be read: {error}", hint="Build the index again.") from error


def parse_manifest(text: str, directory: Path) -> Manifest:
    """The manifest of the index in `directory`, from the text of its file.

    Raises:
        KnowledgeIndexError: it is of another version.
        ValueError, KeyError, TypeError, AttributeError, RecursionError: it is none.
    """
    data = json.loads(text)
    if data.get("schema") != SCHEMA:
        raise KnowledgeIndexError(
            f"{directory} was built by another version (schema {data.get('schema')!r}; expected {SCHEMA})",
            hint="Build the index again.",
        )
    inputs = [InputFile(**item) for item in data.pop("inputs")]
    return _checked(Manifest(**data, inputs=inputs))


def _checked(manifest: Manifest) -> Manifest:
    """The manifest, if its fields are of their types; an index may come from elsewhere."""
    whole = (
        manifest.kind in KINDS
        and all(isinstance(text, str) for text in (manifest.name, manifest.built_at))
        and isinstance(manifest.counts, dict)
        and all(isinstance(number, int) for number in (manifest.bytes, *manifest.counts.values()))
        and isinstance(manifest.settings, dict)
        and all(isinstance(item.path, str) and isinstance(item.sha256, str) for item in manifest.inputs)
    )
    if not whole:
        raise TypeError("a field is not of its type")
    return manifest


def list_indexes(kinds: Sequence[IndexKind] = KINDS) -> list[IndexEntry]:
    """Every index directory of these kinds, whole or not, by kind and name.

    Raises:
        KnowledgeIndexError: the directory of the indexes cannot be read.
    """
    found: list[IndexEntry] = []
    for kind in kinds:
        for directory in subdirectories(paths.indexes_dir() / kind):
            if directory.name.startswith("."):
                continue
            try:
                found.append(IndexEntry(kind, directory.name, directory, read_manifest(directory)))
            except KnowledgeIndexError as error:
                hint = permission_hint(directory)
                found.append(IndexEntry(kind, directory.name, directory, None, error.message, hint))
    return found


def subdirectories(base: Path) -> list[Path]:
    """The directories in `base` by name, hidden ones too; none where `base` is not there.

    Raises:
        KnowledgeIndexError: it cannot be read.
    """
    try:
        return sorted(path for path in base.iterdir() if path.is_dir())
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        raise KnowledgeIndexError(f"{base} cannot be read: {error.strerror or error}", hint=READABLE) from error


READABLE = "Make sure that this user may read it. Nothing has to be rebuilt."


def permission_hint(directory: Path) -> str:
    """What to do where something in `directory` may not be read; "" where all of it may."""
    places = [directory]
    for place, names, files in os.walk(directory):
        places += [Path(place, name) for name in (*names, *files)]
    closed = next((path for path in places if not os.access(path, os.R_OK | (os.X_OK if path.is_dir() else 0))), None)
    return f"{closed} may not be read by this user: change its permissions." if closed is not None else ""


def index_names(names: str) -> list[str]:
    """The names in a list with commas, each once; none of an empty text."""
    return list(dict.fromkeys(part.strip() for part in names.split(",") if part.strip()))


def resolve(kind: IndexKind, name: str = "", tell: Callable[[str], None] | None = None) -> str:
    """The name of the index to use: the one asked for, else the only one built, else the starter.

    Args:
        name: of text indexes also a list with commas, which are searched together; it comes back as such a list.
        tell: called with a warning where an index was skipped because it cannot be used.

    Raises:
        KnowledgeIndexError: the named index is not built, or several are and none is named.
    """
    if len(parts := index_names(name)) > 1:
        if kind != "text":
            raise KnowledgeIndexError(
                f"{name!r} names several {kind} indexes", hint=f"Only one {kind} index is searched; name one."
            )
        return ",".join(dict.fromkeys(resolve(kind, part, tell) for part in parts))
    name = parts[0] if parts else ""
    entries = list_indexes((kind,))
    whole = [entry.name for entry in entries if entry.problem is None]
    if name:
        if name == STARTER or name in whole:
            return name
        damaged = next((entry for entry in entries if entry.name == name), None)
        if damaged is not None:
            hint = damaged.hint or f"Build it again with `atomr {kind} build`."
            raise KnowledgeIndexError(damaged.problem or "", hint=hint)
        built = ", ".join(sorted({*whole, STARTER}))
        raise KnowledgeIndexError(
            f"there is no {kind} index named {name!r}", hint=f"Built: {built}. Build it with `atomr {kind} build`."
        )
    own = [candidate for candidate in whole if candidate != STARTER]
    if len(own) > 1:
        raise KnowledgeIndexError(
            f"several {kind} indexes are built: {', '.join(own)}",
            hint=f"Say which with --{kind}-index NAME or the setting {kind}_index.",
        )
    chosen = own[0] if own else STARTER
    if tell is not None:
        for entry in entries:
            if entry.problem is not None and entry.name != STARTER:
                tell(
                    f"The {kind} index {entry.name} cannot be used, {chosen} is used instead: {entry.problem}. "
                    f"`atomr indexes verify {entry.name}` says what to do."
                )
    return chosen


def sha256_of(file: Path) -> str:
    """Hex digest of the file's bytes."""
    with open_regular(file) as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def input_size(file: Path) -> int:
    """Bytes of an input file.

    Raises:
        InputError: it cannot be read.
    """
    try:
        return file.stat().st_size
    except OSError as error:
        raise InputError(f"{file} cannot be read: {error.strerror}") from error


def directory_size(directory: Path) -> int:
    """Bytes of all files below `directory`."""
    return sum(file.stat().st_size for file in directory.rglob("*") if file.is_file())
