"""What a built graph index holds."""

from __future__ import annotations

from atomr_local.indexing import graph_index, store
from atomr_local.indexing.graph_names import Names


def triples(name: str = "t") -> set[str]:
    from pyoxigraph import Store

    graph = Store.read_only(str(store.index_path("graph", name) / graph_index.STORE))
    return {str(quad.triple) for quad in graph.quads_for_pattern(None, None, None)}


def names(name: str = "t") -> Names:
    return Names(store.index_path("graph", name))
