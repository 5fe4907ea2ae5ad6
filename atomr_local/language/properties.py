"""Common Wikidata properties: labels, wordings in both directions, kind of value.

The table lets facts that come without property ids join facts that have them, and lets a relation be understood
without an embedding model.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from atomr_local.language.countries import adjectives
from atomr_local.language.names import name_key

ENTITY = "http://www.wikidata.org/entity/"
PROPERTY = "http://www.wikidata.org/prop/direct/"
INSTANCE_OF = PROPERTY + "P31"
SUBCLASS_OF = PROPERTY + "P279"


@dataclass(frozen=True)
class KnownProperty:
    """One property.

    Attributes:
        kind: what its values are: time, quantity, string, type, person, place, country, city, org, work, other, …
        domain: words for what has this property ("film").
        names: other wordings of head → value.
        inverse: wordings of value → head ("films directed" for director).
        flip: head and value are of different kinds, so a value given as head can only mean the inverse.
        symmetric: the relation holds both ways.
        adjectival: values are often written as adjectives ("American"), which are poor labels.
    """

    id: str
    label: str
    kind: str = "other"
    domain: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    inverse: tuple[str, ...] = ()
    flip: bool = False
    symmetric: bool = False
    adjectival: bool = False

    @property
    def iri(self) -> str:
        return PROPERTY + self.id


@dataclass(frozen=True)
class PropertyTable:
    """The table, with its look-ups.

    Attributes:
        compound: wordings that take more than one hop ("grandfather").
        countries: keys of the countries (and continents) that the key of an adjective or a short form stands for.
    """

    by_iri: dict[str, KnownProperty]
    by_label: dict[str, KnownProperty]
    compound: frozenset[str]
    countries: dict[str, frozenset[str]]


@cache
def property_table() -> PropertyTable:
    """The shipped table, read once."""
    data = json.loads(files("atomr_local.language").joinpath("en/properties.json").read_text(encoding="utf-8"))
    known = []
    for pid, entry in data["properties"].items():
        fields: dict[str, Any] = {name: tuple(part) if isinstance(part, list) else part for name, part in entry.items()}
        known.append(KnownProperty(pid, **fields))
    return PropertyTable(
        by_iri={item.iri: item for item in known},
        by_label={name_key(item.label): item for item in known},
        compound=frozenset(data["compound"]),
        countries=adjectives(),
    )
