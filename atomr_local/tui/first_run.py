"""The first start: whether there is anything but the starter, so that a choice of how to begin is of use."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from atomr_local.settings import Settings


def only_the_starter(settings: Settings) -> bool:
    """Whether no model and no index of the user's own is at hand or chosen. It reads the disk."""
    from atomr_local import paths
    from atomr_local.indexing.store import STARTER, list_indexes

    chosen = (settings.model, settings.text_index or STARTER, settings.graph_index or STARTER)
    if set(chosen) != {STARTER} or settings.endpoint.url:
        return False
    if any(paths.models_dir().glob("*.gguf")):  # reading them would hold up the first frames
        return False
    return all(entry.name == STARTER for entry in list_indexes())
