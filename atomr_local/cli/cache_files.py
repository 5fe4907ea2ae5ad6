"""Checks the prepared weights and saved prompt states in the cache."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from atomr_local.catalog.record import FileCheck

ADVICE = "It is not used. The next question that needs it rebuilds it. `atomr models verify --repair` deletes it now."


@dataclass(frozen=True, slots=True)
class CacheFile:
    """Something in the cache.

    Attributes:
        damaged: the files of it that are not whole.
    """

    name: str
    path: Path
    check: FileCheck
    damaged: tuple[Path, ...] = ()


def cache_files() -> Iterator[CacheFile]:
    """Everything of that kind in the cache, read in full."""
    from atomr_local import paths
    from atomr_local.backbone.llama.snapshots import PREFIXES, damaged_snapshots
    from atomr_local.backbone.llama.weights import WEIGHTS, is_whole, prepared_files

    cache = paths.cache_dir()
    for path in prepared_files(cache / WEIGHTS):
        name = f"prepared weights {path.name[:8]}"
        try:
            problem = "" if is_whole(path) else "its content is not what was written"
        except OSError as error:
            problem = f"it cannot be read: {error.strerror or error}"
        check = FileCheck("its checksum fits what was written", problem)
        yield CacheFile(name, path, check, (path,) if problem else ())
    count, damaged = damaged_snapshots(cache / PREFIXES)
    if count:
        problem = f"{len(damaged)} of {count} are not what was written" if damaged else ""
        note = f"the checksums of all {count} fit what was written"
        yield CacheFile("read prompts", cache / PREFIXES, FileCheck(note, problem), tuple(damaged))
