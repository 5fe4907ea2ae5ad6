"""Which index of each kind is open, and whether it is still the one on the disk.

Another process may remove an index while it is open here, and build it again under the same name: what was opened
then reads files that are gone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from atomr_local.errors import AtomrError
from atomr_local.indexing.starter import ensure_index
from atomr_local.indexing.store import KINDS, MANIFEST, IndexKind, index_path, list_indexes, resolve

if TYPE_CHECKING:
    from atomr_local.indexing.embedding.embedder import Embedder


class IndexesInUse:
    """The indexes that are open.

    Attributes:
        names: of the index of each kind; empty until it is open.
    """

    def __init__(self) -> None:
        self.names: dict[str, str] = {"text": "", "graph": ""}
        self._manifests: dict[str, tuple[int, ...]] = {}

    def directory(
        self,
        kind: IndexKind,
        configured: str,
        open_embedder: Callable[[], Embedder],
        *,
        stage: Callable[[str], None],
        notify: Callable[[str], None],
    ) -> Path:
        """The directory of the index that is to be opened; from now on it is the one in use.

        Raises:
            KnowledgeIndexError: there is no such index, or more than one to choose from.
        """
        name = resolve(kind, configured, notify)
        if not index_path(kind, name).exists():
            stage(f"preparing the {name} {kind} index, once")
        directory = ensure_index(kind, name, open_embedder)
        self.names[kind] = name
        self._manifests[kind] = _manifest(directory)  # before it is opened: what comes after shows
        return directory

    def changed(self) -> list[IndexKind]:
        """The kinds whose index was removed, or has another one in its place."""
        return [kind for kind in KINDS if self.names[kind] and self._is_another(kind)]

    def others(self, kinds: Sequence[str]) -> tuple[tuple[str, str], ...]:
        """Kind and name of the whole indexes that are not in use for these kinds."""
        try:
            found = list_indexes()
        except AtomrError:
            return ()
        used = {(kind, name) for kind, name in self.names.items() if kind in kinds}
        whole = [(str(entry.kind), entry.name) for entry in found if not entry.damage()]
        return tuple(item for item in whole if item not in used)

    def close(self, kind: str) -> None:
        """The index of this kind, if it is one, is in use no longer."""
        if kind in self.names:
            self.names[kind] = ""
            self._manifests.pop(kind, None)

    def _is_another(self, kind: IndexKind) -> bool:
        directory = index_path(kind, self.names[kind])
        return not directory.exists() or _manifest(directory) != self._manifests.get(kind, _manifest(directory))


def _manifest(directory: Path) -> tuple[int, ...]:
    """What tells an index from another of the same name; empty if there is none."""
    try:
        found = (directory / MANIFEST).stat()
    except OSError:
        return ()
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns
