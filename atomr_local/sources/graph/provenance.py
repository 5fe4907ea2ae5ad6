"""The passages that state the facts of a graph which was made from text."""

from __future__ import annotations

from atomr_local.indexing.graph_index.provenance import OBJECT, PREDICATE, SAID, SOURCE, SUBJECT, TITLE
from atomr_local.indexing.graph_index.qualifiers import QUALIFIER_GRAPH
from atomr_local.indexing.readers.facts.json_lines import Stated
from atomr_local.sanitize import sanitize_line
from atomr_local.sources.graph.knowledge_graph import KnowledgeGraph, bound
from atomr_local.sources.graph.query_results import term_text

_MOST = 12


def stated_in(graph: KnowledgeGraph, head: str, prop: str, *, inverse: bool) -> list[Stated]:
    """Where the values of a property are stated, at most twelve places; none if the graph does not say.

    Args:
        inverse: the head is the property's value.
    """
    if not graph.has_qualifiers:
        return []
    end = OBJECT if inverse else SUBJECT
    found = graph.select(
        f"SELECT ?title ?passage ?said WHERE {{ GRAPH <{QUALIFIER_GRAPH}> {{\n"
        f"  ?fact <{end}> {bound(head)} ; <{PREDICATE}> {bound(prop)} ; <{TITLE}> ?title .\n"
        f"  OPTIONAL {{ ?fact <{SOURCE}> ?passage }} OPTIONAL {{ ?fact <{SAID}> ?said }}\n"
        "}} ORDER BY ?title ?passage",
        _MOST,
    )
    return [
        Stated(*(sanitize_line(term_text(row[name])) if name in row else "" for name in ("title", "passage", "said")))
        for row in found.terms
    ]


def stated_words(stated: list[Stated]) -> list[str]:
    """The places, each as a sentence to stand behind the facts."""
    return [f"Stated in “{one.title}”: {one.said}" if one.said else f"Stated in “{one.title}”." for one in stated]
