"""The properties of an entity that are nearest to what was asked for."""

from __future__ import annotations

from collections.abc import Iterable

from rapidfuzz import fuzz

from atomr_local.language.names import name_key
from atomr_local.sources.graph.knowledge_graph import ROW_LIMIT, TYPE_PROPERTIES, KnowledgeGraph
from atomr_local.sources.graph.semantic_similarity import SemanticSimilarity
from atomr_local.sources.protocol import MOST_NEAR

_MOST_JUDGED = 48


def entity_properties(graph: KnowledgeGraph, iri: str) -> list[str]:
    """The properties that the entity has statements of, the most used in the graph first; what it is an instance of is
    left out."""
    held = {statement.property for statement in graph.statements(iri, limit=ROW_LIMIT)} - set(TYPE_PROPERTIES)
    return sorted(held, key=lambda prop: (-(row.uses if (row := graph.properties.get(prop)) else 0), prop))


def nearest_properties(
    graph: KnowledgeGraph, semantic: SemanticSimilarity | None, iri: str, wording: str, limit: int = MOST_NEAR
) -> tuple[str, ...]:
    """Labels of what the entity has, the nearest to the wording first: by meaning where that is given, else by
    letters."""
    labels = list(dict.fromkeys(map(graph.property_label, entity_properties(graph, iri))))[:_MOST_JUDGED]
    similarities: Iterable[float] | None = (
        semantic.similarities(wording, labels) if semantic and wording and labels else None
    )
    if similarities is None:
        asked = name_key(wording)
        similarities = [fuzz.token_sort_ratio(asked, name_key(label)) / 100 for label in labels]
    ranked = sorted(zip(labels, similarities, strict=True), key=lambda item: -item[1])
    return tuple(label for label, _ in ranked[:limit])
