"""Which index of each kind is open, and whether it is still the one on the disk.

Another process may remove an index while it is open here, and build it again under the same name: what was opened
then reads files that are gone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from atomr_local.errors import AtomrError
from atomr_local.indexing.starter import ensure_index
from atomr_local.indexing.store import KINDS, MANIFEST, IndexKind, index_names, index_path, list_indexes, resolve

if TYPE_CHECKING:
    from atomr_local.indexing.embedding.embedder import Embedder


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
