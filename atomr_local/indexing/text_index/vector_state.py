"""How many passages of a text index have a vector: none, a part, or all of them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from atomr_local.indexing.store import Manifest
from atomr_local.indexing.text_index.vector_cache import count_vectors

SETTING = "vectors"  # of a manifest; an index of which it says nothing has all of them
Completeness = Literal["none", "part", "all"]


@dataclass(frozen=True, slots=True)
class VectorState:
    """What an index has.

    Attributes:
        passages: of the index.
        embedded: those with a vector in the index's table, which a search by vector finds.
        waiting: vectors that were made since, beside the table.
    """

    passages: int
    embedded: int
    waiting: int = 0

    @property
    def made(self) -> int:
        """Passages with a vector in either place, at most; those beside the table may be of texts that are gone."""
        return min(self.passages, self.embedded + self.waiting)

    @property
    def completeness(self) -> Completeness:
        """All only if the table has all of them: then the search is the hybrid of words and vectors."""
        if self.embedded >= self.passages:
            return "all"
        return "part" if self.made else "none"

    def told(self) -> str:
        """In words; "" of an index that has all of them."""
        if self.completeness == "all":
            return ""
        if not self.made:
            return "words first: no vectors yet"
        return f"words first: {self.made} of {self.passages} passages have a vector"


def vector_state(manifest: Manifest, directory: Path | None = None) -> VectorState:
    """What the manifest says, and with the index's directory also what was made since."""
    passages = int(manifest.counts.get("passages", 0))
    noted = manifest.settings.get(SETTING)
    if not isinstance(noted, dict):
        return VectorState(passages, passages)
    embedded = noted.get("embedded")
    embedded = embedded if isinstance(embedded, int) and not isinstance(embedded, bool) else 0
    waiting = count_vectors(directory) if directory is not None else 0
    return VectorState(passages, max(0, min(embedded, passages)), waiting)


def noted(settings: dict[str, Any], passages: int, embedded: int) -> dict[str, Any]:
    """A manifest's settings with what they say about vectors; nothing where all passages have one."""
    rest = {key: value for key, value in settings.items() if key != SETTING}
    if embedded >= passages:
        return rest
    return rest | {SETTING: {"state": "part" if embedded else "none", "embedded": embedded}}
