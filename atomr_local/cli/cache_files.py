"""Checks the prepared weights and saved prompt states in the cache."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ADVICE = "It is not used. The next question that needs it rebuilds it. `atomr models verify --repair` deletes it now."


@dataclass(frozen=True, slots=True)
class CacheFile:
    """Something in the cache.

    Attributes:
        note: how far the check goes.
        problem: what is wrong; empty when it is whole.
        damaged: the files that are not whole.
    """

    name: str
    path: Path
    note: str
    problem: str = ""
    damaged: tuple[Path, ...] = ()

    def delete(self) -> None:
        """Delete what is damaged.

        Raises:
            OSError: it cannot be deleted.
        """
        for path in self.damaged:
            path.unlink(missing_ok=True)


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
        yield CacheFile(name, path, "its checksum fits what was written", problem, (path,) if problem else ())
    count, damaged = damaged_snapshots(cache / PREFIXES)
    if count:
        problem = f"{len(damaged)} of {count} are not what was written" if damaged else ""
        note = f"the checksums of all {count} fit what was written"
        yield CacheFile("read prompts", cache / PREFIXES, note, problem, tuple(damaged))
