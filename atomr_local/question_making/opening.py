"""Opens the indexes and describes what a run is made of."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from atomr_local.errors import KnowledgeIndexError
from atomr_local.indexing.starter import ensure_index
from atomr_local.indexing.store import STARTER, IndexKind, index_names, index_path, read_manifest, resolve
from atomr_local.input_files import read_text
from atomr_local.page_facts.passages import Passages
from atomr_local.question_making.journal import ABOUT_FILE, SCHEMA
from atomr_local.question_making.knowledge import Knowledge
from atomr_local.question_making.making import Wanted
from atomr_local.question_making.near import Nearness
from atomr_local.sources.graph.knowledge_graph import KnowledgeGraph
from atomr_local.sources.protocol import Evidence

if TYPE_CHECKING:
    from atomr_local.reasoning.ranking import Ranking
    from atomr_local.settings.schema import Settings

_ABOUT_BYTES = 16 << 20


def open_knowledge(text_index: str, graph_index: str) -> Knowledge:
    """The indexes with these names; "" stands for the only one that there is.

    Raises:
        KnowledgeIndexError: there is no such whole index, or more than one to choose from.
    """
    name = resolve("text", text_index)
    if len(index_names(name)) > 1:
        raise KnowledgeIndexError(
            f"{name!r} names several text indexes", hint="Questions are made from one: --text-index NAME."
        )
    text = ensure_index("text", name)
    graph = ensure_index("graph", resolve("graph", graph_index))
    return Knowledge(Passages(text), KnowledgeGraph(graph))


def description(settings: Settings, wanted: Wanted, *, rephrase: bool) -> dict[str, Any]:
    """What decides the questions, for make.json. How many are wanted is left out, so that a run can be extended."""
    return {
        "schema": SCHEMA,
        "seed": wanted.seed,
        "bridges": list(wanted.bridges),
        "forms": list(wanted.forms),
        "pages": wanted.pages,
        "per_relation": wanted.per_relation,
        "rephrase": rephrase,
        "indexes": {
            "text": _described("text", resolve("text", settings.text_index)),
            "graph": _described("graph", resolve("graph", settings.graph_index)),
        },
        "model": settings.endpoint.model if settings.endpoint.url else settings.model,
        "adapter": settings.adapter,
    }


def _described(kind: IndexKind, name: str) -> dict[str, Any]:
    if name == STARTER:  # built on first use, perhaps by this very run
        return {"name": name}
    manifest = read_manifest(index_path(kind, name))
    return {"name": name, "counts": manifest.counts, "inputs": [item.sha256 for item in manifest.inputs]}


def index_names_beside(path: Path) -> dict[str, str]:
    """Names of the indexes that a file's questions were made from, by kind, where its directory still says so."""
    try:
        indexes = json.loads(read_text(path.with_name(ABOUT_FILE), _ABOUT_BYTES))["indexes"]
        return {kind: name for kind in ("text", "graph") if isinstance(name := indexes[kind]["name"], str)}
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return {}


def nearness_by(ranking: Ranking) -> Nearness:
    """Names ordered by the embedder of the text index."""
    from atomr_local.cancellation import Cancellation

    def nearest(name: str, others: Sequence[str]) -> list[str]:
        items = [Evidence("text", other, other, 0.0, name, {}) for other in others]
        ordered = ranking.ranked(name, items, len(items), Cancellation())
        return [item.text for item in ordered] or list(others)

    return nearest
