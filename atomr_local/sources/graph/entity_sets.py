"""Queries a property of many entities at once.

An operator over a set runs as it does for one entity; only where it reads the statements of one, those of the whole
set are read in one query (`VALUES ?head { … }`), which is also what the evidence shows.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from atomr_local.cancellation import Cancellation
from atomr_local.sources.graph.knowledge_graph import KnowledgeGraph, bound
from atomr_local.sources.graph.query_results import SelectResult, term_text
from atomr_local.sources.protocol import Evidence, Request, Retrieval
from atomr_local.tree.nodes import Operator

# Entities of one query, and its rows; whatever goes beyond is read one entity at a time.
MOST_ENTITIES, _MOST_ROWS = 200, 1000
# So many entities without any value: nobody has it, or the relation is not understood.
_FUTILE = 12
_TITLED = 3

Run = Callable[[Request, KnowledgeGraph], Retrieval]


class EntitySetGraph(KnowledgeGraph):
    """A graph seen from a set of entities: their statements of one property are read together. Thread-safe."""

    def __init__(self, graph: KnowledgeGraph, iris: Sequence[str]) -> None:
        self.__dict__.update(graph.__dict__)
        self._iris = tuple(dict.fromkeys(iris))[:MOST_ENTITIES]
        self._set = frozenset(self._iris)
        self._read: dict[tuple[str, bool], dict[str, SelectResult] | None] = {}
        self._reading = threading.Lock()

    def has(self, iri: str, prop: str, *, inverse: bool = False) -> bool:
        """See :class:`KnowledgeGraph`."""
        found = self._of_set(prop, inverse) if iri in self._set else None
        return super().has(iri, prop, inverse=inverse) if found is None else iri in found

    def value_pages(
        self, iri: str, prop: str, *, inverse: bool = False, cancellation: Cancellation | None = None
    ) -> Iterator[SelectResult]:
        """See :class:`KnowledgeGraph`."""
        found = self._of_set(prop, inverse) if iri in self._set else None
        if found is None:
            yield from super().value_pages(iri, prop, inverse=inverse, cancellation=cancellation)
        else:
            yield found.get(iri) or SelectResult(self._query(prop, inverse), ())

    def _query(self, prop: str, inverse: bool) -> str:
        heads = " ".join(map(bound, self._iris))
        pattern = f"?value {bound(prop)} ?head ." if inverse else f"?head {bound(prop)} ?value ."
        return f"SELECT DISTINCT ?head ?value WHERE {{\n  VALUES ?head {{ {heads} }}\n  {pattern}\n}}"

    def _of_set(self, prop: str, inverse: bool) -> dict[str, SelectResult] | None:
        """By entity, what the query found; None if it finds more than one query may give."""
        with self._reading:
            key = (prop, inverse)
            if key not in self._read:
                self._read[key] = self._grouped(self.select(self._query(prop, inverse), _MOST_ROWS))
            return self._read[key]

    def _grouped(self, answer: SelectResult) -> dict[str, SelectResult] | None:
        if answer.cut:
            return None
        answer = replace(answer, values=self._labels_of(answer))
        grouped: dict[str, list[int]] = {}
        for place, row in enumerate(answer.terms):
            grouped.setdefault(term_text(row["head"]), []).append(place)
        return {head: answer.only(places) for head, places in grouped.items()}


def is_set(graph: KnowledgeGraph, requests: Sequence[Request]) -> bool:
    """Whether the requests are one operator over several entities of the graph, alike but for these."""
    first = requests[0]
    heads = [request.arguments[0].iri for request in requests if request.arguments]
    return (
        len(requests) > 1
        and first.operator in (Operator.RELATE, Operator.FILTER)
        and len(heads) == len(requests)
        and all(request.operator is first.operator for request in requests)
        and all(request.arguments[1:] == first.arguments[1:] for request in requests)
        and all(iri is not None and graph.row(iri) is not None for iri in heads)
    )


def run_over_set(
    graph: KnowledgeGraph, requests: Sequence[Request], run: Run, cancellation: Cancellation
) -> list[Retrieval]:
    """What each request finds, in their order; evidence of one query is one piece that all of them share."""
    view = EntitySetGraph(graph, [request.arguments[0].iri or "" for request in requests])
    found: list[Retrieval] = []
    for request in requests:
        cancellation.check()
        if len(found) >= _FUTILE and not any(one.values or one.decided for one in found):
            found.append(Retrieval(dropped=(f"not looked up: the first {_FUTILE} of {len(requests)} have none",)))
        else:
            found.append(run(request, view))
    return _with_shared_evidence(found)


def _with_shared_evidence(found: Sequence[Retrieval]) -> list[Retrieval]:
    by_query: dict[str, list[Evidence]] = {}
    for retrieval in found:
        for item in retrieval.evidence:
            by_query.setdefault(_query_of(item), []).append(item)
    shared = {query: _joined(items) for query, items in by_query.items()}
    return [
        replace(one, evidence=tuple(shared[query] for query in dict.fromkeys(map(_query_of, one.evidence))))
        for one in found
    ]


def _query_of(item: Evidence) -> str:
    return str(item.locator.get("sparql", ""))


def _joined(items: Sequence[Evidence]) -> Evidence:
    """Pieces of one query as one piece: all their sentences and rows."""
    first = items[0]
    texts = list(dict.fromkeys(item.text for item in items))
    if len(texts) == 1:
        return first
    titles = list(dict.fromkeys(item.title for item in items))
    more = f" and {len(titles) - _TITLED} more" if len(titles) > _TITLED else ""
    rows = {str(row): row for item in items for row in item.locator.get("rows") or ()}
    return replace(
        first,
        title=", ".join(titles[:_TITLED]) + more,
        text=" ".join(texts),
        score=max(item.score for item in items),
        locator={**first.locator, "rows": list(rows.values())},
    )
