"""What the cache holds that answers rest on, prepared weights and read prompts, and whether it is whole."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ADVICE = "The next question makes it anew."


@dataclass(frozen=True, slots=True)
class KeptFile:
    """Something in the cache. `note` says how far the check goes; `problem` is empty when it is whole."""

    name: str
    path: Path
    note: str
    problem: str = ""


def kept_files() -> Iterator[KeptFile]:
    """Everything of that kind in the cache, read in full."""
    from atomr_local import paths
    from atomr_local.backbone.llama import PREFIXES
    from atomr_local.backbone.preparation import WEIGHTS, is_whole, prepared_files
    from atomr_local.backbone.snapshots import damaged_snapshots

    cache = paths.cache_dir()
    for path in prepared_files(cache / WEIGHTS):
        name = f"prepared weights {path.name[:8]}"
        try:
            problem = "" if is_whole(path) else "its content is not what was written"
        except OSError as error:
            problem = f"it cannot be read: {error.strerror or error}"
        yield KeptFile(name, path, "its checksum fits what was written", problem)
    count, damaged = damaged_snapshots(cache / PREFIXES)
    if count:
        problem = f"{damaged} of {count} are not what was written" if damaged else ""
        yield KeptFile("read prompts", cache / PREFIXES, f"the checksums of all {count} fit what was written", problem)
