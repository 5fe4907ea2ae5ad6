"""The entities that the head of a relation or a condition may be."""

from __future__ import annotations

from dataclasses import dataclass

from atomr_local.sources.graph.entity_sets import EntitySetGraph
from atomr_local.sources.graph.knowledge_graph import KnowledgeGraph
from atomr_local.sources.graph.linking import LINKED, Linker
from atomr_local.sources.protocol import Value

_HEADS = 5
_HEAD_WINDOW = 0.12
_NAMESAKE = 0.8


@dataclass(frozen=True, slots=True)
class Head:
    """An entity that the head may be, how surely, and how many are as likely (itself included)."""

    iri: str
    score: float
    tied: int = 1


class HeadLinker:
    """Links values to entities of one graph. Thread-safe."""

    def __init__(self, graph: KnowledgeGraph, linker: Linker) -> None:
        self._graph = graph
        self._linker = linker

    def candidates(self, value: Value, question: str, *, fuzzy: bool = True) -> list[Head]:
        """Entities that a value may be, most likely first; then those of the same name that it may have become.

        Args:
            fuzzy: names that are only written alike will do.
        """
        if value.iri is not None and self._graph.row(value.iri) is not None:
            heads = [Head(value.iri, value.score if value.score is not None else 1.0)]
        else:
            linked = self._linker.link(value.text, question=question, fuzzy=fuzzy)
            found = [candidate for candidate in linked if candidate.score >= LINKED * 0.75]
            near = [item for item in found if found[0].score - item.score <= _HEAD_WINDOW]
            heads = [Head(item.entity.iri, item.score, item.tied) for item in near[:_HEADS]]
        known = {head.iri for head in heads}
        for head in heads[:1] if not self._of_set(value) else ():
            for row in self._linker.namesakes(head.iri):
                if row.iri not in known and len(heads) < 2 * _HEADS:
                    known.add(row.iri)
                    heads.append(Head(row.iri, head.score * _NAMESAKE))
        return heads

    def _of_set(self, value: Value) -> bool:
        """Whether the value is one of a set of entities that the graph itself has distinguished."""
        return isinstance(self._graph, EntitySetGraph) and value.iri is not None and self._graph.resolved(value.iri)
