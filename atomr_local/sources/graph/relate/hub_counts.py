"""Counts in the store: how many values there are where they are too many to be read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from atomr_local.sources.graph.knowledge_graph import KnowledgeGraph, bound, value_pattern
from atomr_local.sources.graph.properties.matching import PropertyMatch
from atomr_local.sources.graph.query_results import SelectResult
from atomr_local.sources.graph.relate.counting import counted_kind, is_other

_MOST_TYPES = 2_000


@dataclass(frozen=True, slots=True)
class HubCount:
    """How many values there are.

    Attributes:
        number: of the kind that the question counts.
        total: of any kind.
        kind: the one that the question names, where others were left out; else "".
        answer: the query that counted them.
    """

    number: int
    total: int
    kind: str
    answer: SelectResult


def values_pattern(head: str, chosen: Sequence[PropertyMatch]) -> str:
    """The pattern of all values of the properties."""
    patterns = [value_pattern(head, match.property, inverse=match.inverse) for match in chosen]
    return patterns[0] if len(patterns) == 1 else " UNION ".join(f"{{ {one} }}" for one in patterns)


def can_count(graph: KnowledgeGraph, chosen: Sequence[PropertyMatch]) -> bool:
    """Whether :func:`count_values` counts all values of the properties: they are entities, and none is left out by
    gender."""
    return not any(match.gender for match in chosen) and _are_entities(graph, chosen)


def _are_entities(graph: KnowledgeGraph, chosen: Sequence[PropertyMatch]) -> bool:
    stated = [graph.properties.get(match.property) for match in chosen if not match.inverse]
    return all(row is not None and row.entities == row.uses for row in stated)


def count_values(graph: KnowledgeGraph, head: str, chosen: Sequence[PropertyMatch], question: str) -> HubCount | None:
    """Count the entities that the properties have as values, by the rule of :func:`counting.counted`; None where the
    graph cannot tell, as by gender."""
    if any(match.gender for match in chosen):
        return None
    pattern = values_pattern(head, chosen)
    if not _are_entities(graph, chosen):  # to look at each takes four times as long as to count them
        pattern += "\n  FILTER(isIRI(?value))"
    total, answer = graph.count(pattern)
    kind = counted_kind(question)
    types = "|".join(map(bound, graph.type_properties))
    if not kind or not types:
        return HubCount(total, total, "", answer)
    stated = graph.select(f"SELECT DISTINCT ?type WHERE {{\n  {pattern}\n  ?value {types} ?type .\n}}", _MOST_TYPES)
    others = [row["type"] for row in stated.rows if is_other([graph.label(row["type"])], kind)]
    if not others:
        return HubCount(total, total, "", answer)
    listed = ", ".join(map(bound, others))
    of_kind = (
        f"{pattern}\n  FILTER(NOT EXISTS {{ ?value {types} ?any }} || "
        f"EXISTS {{ ?value {types} ?type . FILTER(?type NOT IN ({listed})) }})"
    )
    number, query = graph.count(of_kind)
    # Where nothing is of the kind, the word means another.
    return HubCount(number, total, kind, query) if 0 < number < total else HubCount(total, total, "", answer)
