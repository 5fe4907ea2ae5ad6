"""The models and indexes on this machine: how large and old, whether whole, and which are in use."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from atomr_local.tui.idle_embedding import ALL

if TYPE_CHECKING:
    from atomr_local.indexing.store import IndexEntry
    from atomr_local.settings.schema import Settings

Kind = Literal["model", "adapter", "embedder", "text", "graph"]
_UNREAD_SHOWN = 3


@dataclass(frozen=True)
class LibraryItem:
    """One thing that is available, as shown.

    Attributes:
        setting: the key that chooses it, empty if it cannot be chosen.
        follows: it is an index of a folder, which a sync brings up to date.
        fillable: whether it is a text index whose passages do not all have a vector.
        idle: whether its passages are embedded while no question runs.
        private: whether it must not leave this machine without the user's word.
    """

    kind: Kind
    name: str
    state: str
    size: int
    built: str
    details: tuple[str, ...]
    setting: str = ""
    chosen: bool = False
    unfinished: bool = False
    follows: bool = False
    fillable: bool = False
    idle: bool = False
    private: bool = False

    @property
    def is_index(self) -> bool:
        return self.kind in {"text", "graph"}


def library_items(settings: Settings) -> list[LibraryItem]:
    """Everything available. It reads the disk: call it from a worker."""
    return [*_models(settings), *_indexes(settings)]


def _models(settings: Settings) -> list[LibraryItem]:
    from atomr_local.catalog.find import chosen_paths, list_models

    found = []
    chosen = chosen_paths(settings.model, settings.adapter, settings.embedder)
    for entry in list_models():
        header, details = entry.header, [str(entry.path)]
        if header is not None:
            parameters = f"{header.parameters / 1e6:,.0f} million parameters" if header.parameters else ""
            details.append(", ".join(part for part in (parameters, header.quantisation or "") if part))
        if entry.problem:
            details.append(f"not usable: {entry.problem}")
        setting = "" if entry.problem else entry.kind
        state = "not usable" if entry.problem else "OK"
        found.append(
            LibraryItem(
                entry.kind, entry.name, state, entry.size, "", tuple(details), setting, entry.path.resolve() in chosen
            )
        )
    return found


def _indexes(settings: Settings) -> list[LibraryItem]:
    from atomr_local.errors import AtomrError
    from atomr_local.indexing.builds.publishing import list_unfinished
    from atomr_local.indexing.store import KINDS, index_names, list_indexes, resolve
    from atomr_local.indexing.verify import unfinished_report

    chosen: set[tuple[str, str]] = set()
    for kind in KINDS:
        with contextlib.suppress(AtomrError):
            names = resolve(kind, settings.text_index if kind == "text" else settings.graph_index)
            chosen.update((kind, name) for name in index_names(names))
    private, idle = index_names(settings.privacy.indexes), index_names(settings.ui.embed_idle)
    found = [
        _index(
            entry,
            chosen=(entry.kind, entry.name) in chosen,
            private=entry.name in private,
            idle=entry.kind == "text" and (entry.name in idle or ALL in idle),
        )
        for entry in list_indexes()
    ]
    for item in list_unfinished():
        report = unfinished_report(item)
        details = (str(item.path), *report.problems, report.hint)
        found.append(LibraryItem(item.kind, item.name, report.state, item.bytes, "", details, unfinished=True))
    return found


def _index(entry: IndexEntry, *, chosen: bool, private: bool, idle: bool) -> LibraryItem:
    from atomr_local.indexing.store import directory_size
    from atomr_local.indexing.text_index.vector_state import vector_state

    kind, manifest = entry.kind, entry.manifest
    if manifest is None:
        try:
            size = directory_size(entry.path)
        except OSError:
            size = 0
        return LibraryItem(kind, entry.name, "not usable", size, "", (str(entry.path), entry.problem or ""))
    counts = ", ".join(f"{count:,} {what}" for what, count in manifest.counts.items())
    files = ", ".join(item.path for item in manifest.inputs)
    told = vector_state(manifest, entry.path).told() if kind == "text" else ""
    told += ", embedded while no question runs" if told and idle else ""
    counts = "; ".join(part for part in (counts, told, "private" if private else "") if part)
    details = (str(entry.path), counts, f"from {files}", *_folder_details(manifest.settings))
    return LibraryItem(
        kind,
        entry.name,
        "OK",
        manifest.bytes,
        manifest.built_at[:16].replace("T", " "),
        details,
        f"{kind}_index",
        chosen,
        follows="folders" in manifest.settings,
        fillable=bool(told),
        idle=idle,
        private=private,
    )


def _folder_details(settings: dict[str, Any]) -> list[str]:
    """When the folders of an index were last read, how many files, and the first that could not be."""
    documents = settings.get("documents")
    if not isinstance(documents, dict):
        return []
    unread = documents.get("unread") or {}
    count = unread.get("count", 0)
    last = str(settings.get("last_sync", ""))[:16].replace("T", " ")
    lines = [f"last sync {last}: {documents.get('files', 0)} files read, {count} could not be read"]
    return [*lines, *(f"  {path}: {reason}" for path, reason in unread.get("samples", ())[:_UNREAD_SHOWN])]
