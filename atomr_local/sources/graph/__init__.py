"""The graph source: entity linking, relations and conditions over an Oxigraph index."""

from atomr_local.sources.graph.source import GraphSource

__all__ = ["GraphSource"]
