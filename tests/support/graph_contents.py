"""What a built graph index holds."""

from __future__ import annotations

from atomr_local.indexing import store
from atomr_local.indexing.graph_index.bulk_loading import STORE
from atomr_local.indexing.graph_index.names.database import Names


def triples(name: str = "t") -> set[str]:
    from pyoxigraph import Store

    graph = Store.read_only(str(store.index_path("graph", name) / STORE))
    return {str(quad.triple) for quad in graph.quads_for_pattern(None, None, None)}


def names(name: str = "t") -> Names:
    return Names(store.index_path("graph", name))
