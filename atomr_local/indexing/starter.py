"""Which index of each kind is open, and whether it is still the one on the disk.

Another process may remove an index while it is open here, and build it again under the same name: what was opened
then reads files that are gone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from atomr_local.errors import AtomrError, InputError, KnowledgeIndexError
from atomr_local.indexing.graph_index.linearised import COUNT, LAYOUT
from atomr_local.indexing.opening import opening_problem
from atomr_local.indexing.readers.facts.json_lines import EXAMPLE, parse_fact
from atomr_local.indexing.readers.lines import LineReader
from atomr_local.indexing.store import (
    KINDS,
    MANIFEST,
    STARTER,
    IndexEntry,
    IndexKind,
    index_names,
    index_path,
    list_indexes,
    read_manifest,
    resolve,
    sha256_of,
)
from atomr_local.language.names import name_key
from atomr_local.system import paths
from atomr_local.system.files import exclusive, write_output

if TYPE_CHECKING:
    from atomr_local.indexing.embedding.embedder import Embedder


# The starter knowledge: ships as text, becomes indexes on first use.

_SHIPPED: dict[IndexKind, str] = {"text": "articles.jsonl", "graph": "facts.jsonl.gz"}


def ensure_index(kind: IndexKind, name: str, open_embedder: Callable[[], Embedder] | None = None) -> Path:
    """The directory of the whole index `name`; the starter is built when it is not there, older than what ships,
    or made with another embedder.

    Args:
        open_embedder: gives the embedder that the starter's text index is built with; needed for that alone.

    Safe when two processes do it at once: the second waits for the first.

    Raises:
        KnowledgeIndexError: the index is not whole, or the starter's files are missing.
    """
    directory = index_path(kind, name)
    if name != STARTER:
        read_manifest(directory)
        return directory
    source = _source(kind)
    embedder = open_embedder() if kind == "text" and open_embedder is not None else None
    if not _current(directory, source, embedder):
        _build(kind, source, embedder, unless_current=True)
    return directory


def rebuild_starter(kind: IndexKind, open_embedder: Callable[[], Embedder]) -> None:
    """Rebuild the starter's index from the files that ship; the old one stays until the new one is complete.

    Raises:
        KnowledgeIndexError: the starter's files are missing, or the index cannot be written.
    """
    _build(kind, _source(kind), open_embedder() if kind == "text" else None)


def _source(kind: IndexKind) -> Path:
    source = paths.starter_knowledge_dir() / _SHIPPED[kind]
    if not source.is_file():
        raise KnowledgeIndexError(f"the starter knowledge is missing: {source}", hint="Install atomr-local again.")
    own = paths.own_facts_file()
    return _corrected(source, own) if kind == "graph" and own.is_file() else source


def _corrected(source: Path, own: Path) -> Path:
    """The shipped facts with the user's own in the place of those of the same subject and property.

    Raises:
        InputError: a line of the user's file is no fact.
    """
    made = paths.cache_dir() / "starter-facts.jsonl"
    if made.is_file() and made.stat().st_mtime > max(own.stat().st_mtime, source.stat().st_mtime):
        return made
    said: set[tuple[str, str]] = set()
    lines = []
    for number, line in LineReader(own):
        try:
            fact = parse_fact(line)
        except ValueError as error:
            raise InputError(f"{own}, line {number}: {error}", hint=EXAMPLE) from error
        said.add((name_key(fact.subject.label), name_key(fact.property)))
        lines.append(line)
    for _, line in LineReader(source):
        fact = parse_fact(line)
        if (name_key(fact.subject.label), name_key(fact.property)) not in said:
            lines.append(line)
    made.parent.mkdir(parents=True, exist_ok=True)
    write_output(made, b"\n".join(lines).decode() + "\n")
    return made


def _current(directory: Path, source: Path, embedder: Embedder | None) -> bool:
    try:
        manifest = read_manifest(directory)
    except KnowledgeIndexError:
        return False
    if IndexEntry(manifest.kind, manifest.name, directory, manifest).damage() or opening_problem(directory):
        return False
    if embedder is not None and manifest.settings.get("embedder") != embedder.identity:
        return False
    if manifest.kind == "graph" and manifest.settings.get(COUNT) != LAYOUT:  # made by an earlier version
        return False
    return [item.sha256 for item in manifest.inputs] == [sha256_of(source)]


def _build(kind: IndexKind, source: Path, embedder: Embedder | None, *, unless_current: bool = False) -> None:
    directory = index_path(kind, STARTER)
    try:
        directory.parent.mkdir(parents=True, exist_ok=True)
        with exclusive(directory):
            if unless_current and _current(directory, source, embedder):  # another process has built it meanwhile
                return
            if kind == "graph":
                from atomr_local.indexing.graph_index.index import build_graph_index

                build_graph_index([source], STARTER, format="facts-jsonl", linearise=True)
            elif embedder is not None:
                from atomr_local.indexing.text_index.index import build_text_index

                build_text_index([source], STARTER, embedder=embedder, vectors="later")
            else:
                raise KnowledgeIndexError(
                    "the starter's text index is not built yet, and no embedder is given to build it"
                )
    except OSError as error:
        raise KnowledgeIndexError(f"the starter's {kind} index cannot be written: {error}") from error


class IndexesInUse:
    """The indexes that are open.

    Attributes:
        names: of the index of each kind, several with commas between them; empty until it is open.
    """

    def __init__(self) -> None:
        self.names: dict[str, str] = {"text": "", "graph": ""}
        self._manifests: dict[str, list[tuple[int, ...]]] = {}

    def directories(
        self,
        kind: IndexKind,
        configured: str,
        open_embedder: Callable[[], Embedder],
        *,
        stage: Callable[[str], None],
        notify: Callable[[str], None],
    ) -> list[Path]:
        """The directories of the index, or of the text indexes, to be opened; from now on they are the ones in use.

        Raises:
            KnowledgeIndexError: there is no such index, or more than one to choose from.
        """
        name = resolve(kind, configured, notify)
        directories = []
        for one in index_names(name):
            if not index_path(kind, one).exists():
                stage(f"preparing the {one} {kind} index, once")
            directories.append(ensure_index(kind, one, open_embedder))
        self.names[kind] = name
        self._manifests[kind] = list(map(_manifest, directories))  # before they are opened: what comes after shows
        return directories

    def changed(self, configured: Mapping[IndexKind, str]) -> list[IndexKind]:
        """The kinds whose index was removed, has another one in its place, or is no longer the one to be used.

        Args:
            configured: the index of each kind that the settings name; "" leaves the choice to what is built.
        """
        return [
            kind
            for kind in KINDS
            if self.names[kind] and (self._is_another(kind) or not (configured[kind] or self._is_first_choice(kind)))
        ]

    def others(self, kinds: Sequence[str]) -> tuple[tuple[str, str], ...]:
        """Kind and name of the whole indexes that are not in use for these kinds."""
        try:
            found = list_indexes()
        except AtomrError:
            return ()
        used = {(kind, name) for kind, names in self.names.items() if kind in kinds for name in index_names(names)}
        whole = [(str(entry.kind), entry.name) for entry in found if not entry.damage()]
        return tuple(item for item in whole if item not in used)

    def close(self, kind: str) -> None:
        """The index of this kind, if it is one, is in use no longer."""
        if kind in self.names:
            self.names[kind] = ""
            self._manifests.pop(kind, None)

    def _is_first_choice(self, kind: IndexKind) -> bool:
        """Whether the index would be chosen today: the first of one's own takes the place of the starter."""
        try:
            return resolve(kind) == self.names[kind]
        except AtomrError:  # several to choose from by now: what is open stays
            return True

    def _is_another(self, kind: IndexKind) -> bool:
        directories = [index_path(kind, name) for name in index_names(self.names[kind])]
        now = list(map(_manifest, directories))
        return not all(directory.exists() for directory in directories) or now != self._manifests.get(kind, now)


def _manifest(directory: Path) -> tuple[int, ...]:
    """What tells an index from another of the same name; empty if there is none."""
    try:
        found = (directory / MANIFEST).stat()
    except OSError:
        return ()
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns
