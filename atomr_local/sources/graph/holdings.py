"""What the graph holds of an entity: its properties' labels, those nearest to what was asked for first."""

from __future__ import annotations

from collections.abc import Iterable

from rapidfuzz import fuzz

from atomr_local.indexing.names import name_key
from atomr_local.sources.graph.access import ROW_LIMIT, TYPE_PROPERTIES, Graph
from atomr_local.sources.graph.meaning import Meaning
from atomr_local.sources.protocol import MOST_NEAR

_MOST_JUDGED = 48


def properties_held(graph: Graph, iri: str) -> list[str]:
    """The properties that the entity has statements of, the most used in the graph first; what it is an instance of is
    left out."""
    held = {statement.property for statement in graph.statements(iri, limit=ROW_LIMIT)} - set(TYPE_PROPERTIES)
    return sorted(held, key=lambda prop: (-(row.uses if (row := graph.properties.get(prop)) else 0), prop))


def nearest_held(
    graph: Graph, meaning: Meaning | None, iri: str, wording: str, limit: int = MOST_NEAR
) -> tuple[str, ...]:
    """Labels of what the entity has, the likest to the wording first: by meaning where that is given, else by
    letters."""
    labels = list(dict.fromkeys(map(graph.property_label, properties_held(graph, iri))))[:_MOST_JUDGED]
    likeness: Iterable[float] | None = meaning.likeness(wording, labels) if meaning and wording and labels else None
    if likeness is None:
        asked = name_key(wording)
        likeness = [fuzz.token_sort_ratio(asked, name_key(label)) / 100 for label in labels]
    ranked = sorted(zip(labels, likeness, strict=True), key=lambda item: -item[1])
    return tuple(label for label, _ in ranked[:limit])
