"""Selects the slice of Wikidata about given entities, with names and types of their values."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from enum import IntEnum
from pathlib import Path

from atomr_local.indexing.graph_index.ids import IdSet
from atomr_local.output_files import put

# What says what an entity is; kept of everything that is pointed to, whatever other properties are wanted.
TYPE_IDS = frozenset({"P31", "P279"})
# Datatypes that answer no question here: Wikidata's name in RDF → in JSON.
DATATYPES_LEFT_OUT = {
    "ExternalId": "external-id", "CommonsMedia": "commonsMedia", "GeoShape": "geo-shape", "TabularData": "tabular-data",
    "MusicalNotation": "musical-notation", "Math": "math", "EntitySchema": "entity-schema",
    "WikibaseLexeme": "wikibase-lexeme", "WikibaseForm": "wikibase-form", "WikibaseSense": "wikibase-sense",
}  # fmt: skip
LEFT_OUT = frozenset(DATATYPES_LEFT_OUT.values())
_SETS = ("subjects", "linked", "classes")


class Role(IntEnum):
    """How much of an entity is kept: nothing, its names, its names and types, all."""

    NONE = 0
    CLASS = 1
    LINKED = 2
    SUBJECT = 3


@dataclass
class Subset:
    """What is kept.

    Attributes:
        sliced: only what is about `subjects` is kept; else everything.
        subjects: entities whose statements are kept.
        linked: what those point to; kept with names and types.
        classes: what anything is an instance or subclass of; kept with names where something that is kept needs them.
        allowed: properties that are kept; None: all but those of :data:`LEFT_OUT`.
        datatypes: the datatype of each property whose own entry was seen.
    """

    sliced: bool = False
    subjects: IdSet = field(default_factory=IdSet)
    linked: IdSet = field(default_factory=IdSet)
    classes: IdSet = field(default_factory=IdSet)
    allowed: frozenset[str] | None = None
    datatypes: dict[str, str] = field(default_factory=dict)

    def role(self, number: int) -> Role:
        if not self.sliced or number in self.subjects:
            return Role.SUBJECT
        return Role.LINKED if number in self.linked else Role.CLASS if number in self.classes else Role.NONE

    def wants(self, identifier: str) -> bool:
        """Whether anything is kept of an item or property (all properties may be needed by name)."""
        return identifier.startswith("P") or self.role(int(identifier[1:])) is not Role.NONE

    def keeps(self, pid: str, datatype: str = "") -> bool:
        """Whether statements of the property are kept; `datatype` is what the statement itself says it is."""
        if self.allowed is not None:
            return pid in self.allowed or pid in TYPE_IDS
        return (datatype or self.datatypes.get(pid, "")) not in LEFT_OUT

    def keeps_of(self, role: Role, pid: str, datatype: str = "") -> bool:
        """The same for an entity of this role."""
        if role is Role.SUBJECT:
            return self.keeps(pid, datatype)
        return role is Role.LINKED and pid in TYPE_IDS

    def save(self, directory: Path) -> None:
        """Write down what was chosen so far.

        Raises:
            OSError: it cannot be written; what was written before stays.
        """
        for name in _SETS:
            put(directory / f"slice.{name}", getattr(self, name).to_bytes())
        put(directory / "slice.datatypes", json.dumps(self.datatypes).encode())

    def load(self, directory: Path) -> None:
        """Take back what :meth:`save` wrote."""
        for name in _SETS:
            setattr(self, name, IdSet.from_bytes((directory / f"slice.{name}").read_bytes()))
        self.datatypes = json.loads((directory / "slice.datatypes").read_bytes())

    @staticmethod
    def remove(directory: Path) -> None:
        for name in (*_SETS, "datatypes"):
            (directory / f"slice.{name}").unlink(missing_ok=True)
