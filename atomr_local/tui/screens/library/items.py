"""The models and indexes on this machine: how large and old, whether whole, and which are in use."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from atomr_local.indexing.store import IndexEntry
    from atomr_local.settings.schema import Settings

Kind = Literal["model", "adapter", "embedder", "text", "graph"]


@dataclass(frozen=True)
class LibraryItem:
    """One thing that is available, as shown. `setting` is the key that chooses it, empty if it cannot be chosen."""

    kind: Kind
    name: str
    state: str
    size: int
    built: str
    details: tuple[str, ...]
    setting: str = ""
    chosen: bool = False
    unfinished: bool = False

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
    from atomr_local.indexing.store import KINDS, list_indexes, resolve
    from atomr_local.indexing.verify import unfinished_report

    chosen = set()
    for kind in KINDS:
        with contextlib.suppress(AtomrError):
            chosen.add((kind, resolve(kind, settings.text_index if kind == "text" else settings.graph_index)))
    found = [_index(entry, (entry.kind, entry.name) in chosen) for entry in list_indexes()]
    for item in list_unfinished():
        report = unfinished_report(item)
        details = (str(item.path), *report.problems, report.hint)
        found.append(LibraryItem(item.kind, item.name, report.state, item.bytes, "", details, unfinished=True))
    return found


def _index(entry: IndexEntry, chosen: bool) -> LibraryItem:
    from atomr_local.indexing.store import directory_size

    kind, manifest = entry.kind, entry.manifest
    if manifest is None:
        try:
            size = directory_size(entry.path)
        except OSError:
            size = 0
        return LibraryItem(kind, entry.name, "not usable", size, "", (str(entry.path), entry.problem or ""))
    counts = ", ".join(f"{count:,} {what}" for what, count in manifest.counts.items())
    files = ", ".join(item.path for item in manifest.inputs)
    details = (str(entry.path), counts, f"from {files}")
    return LibraryItem(
        kind,
        entry.name,
        "OK",
        manifest.bytes,
        manifest.built_at[:16].replace("T", " "),
        details,
        f"{kind}_index",
        chosen,
    )
