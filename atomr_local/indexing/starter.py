"""The starter knowledge: ships as text, becomes indexes on first use."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from atomr_local import paths
from atomr_local.errors import KnowledgeIndexError
from atomr_local.indexing.graph_index.linearised.table import COUNT, LAYOUT
from atomr_local.indexing.opening import opening_problem
from atomr_local.indexing.store import STARTER, IndexEntry, IndexKind, index_path, read_manifest, sha256_of
from atomr_local.output_files import exclusive

if TYPE_CHECKING:
    from atomr_local.indexing.embedding.embedder import Embedder

_SHIPPED: dict[IndexKind, str] = {"text": "articles.jsonl", "graph": "facts.jsonl"}


def ensure_index(kind: IndexKind, name: str, open_embedder: Callable[[], Embedder] | None = None) -> Path:
    """The directory of the whole index `name`; the starter is built when it is not there, older than what ships,
    or made with another embedder.

    Args:
        open_embedder: gives the embedder that the starter's text index is built with; needed for that alone.

    Safe when two processes do it at once: the second waits for the first.

    Raises:
        KnowledgeIndexError: the index is not whole, or the starter's files are missing.
    """
    directory = index_path(kind, name)
    if name != STARTER:
        read_manifest(directory)
        return directory
    source = _source(kind)
    embedder = open_embedder() if kind == "text" and open_embedder is not None else None
    if not _current(directory, source, embedder):
        _build(kind, source, embedder, unless_current=True)
    return directory


def rebuild_starter(kind: IndexKind, open_embedder: Callable[[], Embedder]) -> None:
    """Rebuild the starter's index from the files that ship; the old one stays until the new one is complete.

    Raises:
        KnowledgeIndexError: the starter's files are missing, or the index cannot be written.
    """
    _build(kind, _source(kind), open_embedder() if kind == "text" else None)


def _source(kind: IndexKind) -> Path:
    source = paths.starter_knowledge_dir() / _SHIPPED[kind]
    if not source.is_file():
        raise KnowledgeIndexError(f"the starter knowledge is missing: {source}", hint="Install atomr-local again.")
    return source


def _current(directory: Path, source: Path, embedder: Embedder | None) -> bool:
    try:
        manifest = read_manifest(directory)
    except KnowledgeIndexError:
        return False
    if IndexEntry(manifest.kind, manifest.name, directory, manifest).damage() or opening_problem(directory):
        return False
    if embedder is not None and manifest.settings.get("embedder") != embedder.identity:
        return False
    if manifest.kind == "graph" and manifest.settings.get(COUNT) != LAYOUT:  # made by an earlier version
        return False
    return [item.sha256 for item in manifest.inputs] == [sha256_of(source)]


def _build(kind: IndexKind, source: Path, embedder: Embedder | None, *, unless_current: bool = False) -> None:
    directory = index_path(kind, STARTER)
    try:
        directory.parent.mkdir(parents=True, exist_ok=True)
        with exclusive(directory):
            if unless_current and _current(directory, source, embedder):  # another process has built it meanwhile
                return
            if kind == "graph":
                from atomr_local.indexing.graph_index.index import build_graph_index

                build_graph_index([source], STARTER, format="facts-jsonl", linearise=True)
            elif embedder is not None:
                from atomr_local.indexing.text_index.index import build_text_index

                build_text_index([source], STARTER, embedder=embedder, vectors="now")
            else:
                raise KnowledgeIndexError(
                    "the starter's text index is not built yet, and no embedder is given to build it"
                )
    except OSError as error:
        raise KnowledgeIndexError(f"the starter's {kind} index cannot be written: {error}") from error
