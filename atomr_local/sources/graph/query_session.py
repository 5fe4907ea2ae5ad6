"""The queries of one question over a graph, run in one process."""

from __future__ import annotations

from atomr_local.cancellation import Cancellation
from atomr_local.sources.graph.knowledge_graph import KnowledgeGraph
from atomr_local.sources.graph.lookups import rows_of
from atomr_local.sources.graph.source_errors import source_errors
from atomr_local.sources.graph.sparql.runner import QueryRunner
from atomr_local.sources.protocol import QueryRows


class GraphQuerySession:
    """See :class:`atomr_local.sources.protocol.QuerySession`."""

    def __init__(self, graph: KnowledgeGraph) -> None:
        self._graph = graph
        self._runner = QueryRunner(graph.directory)

    def query(
        self, sparql: str, cancellation: Cancellation, *, seconds: float = 5.0, most_rows: int = 200
    ) -> QueryRows:
        with source_errors():
            found = self._runner.run(sparql, timeout=seconds, max_rows=most_rows, cancellation=cancellation)
            return rows_of(self._graph, sparql, found)

    def close(self) -> None:
        self._runner.close()
