"""The text source: hybrid search over passages in LanceDB."""

from __future__ import annotations

import re
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from atomr_local.cancellation import Cancellation
from atomr_local.errors import AtomrError, KnowledgeIndexError, SourceError
from atomr_local.indexing.names import base_key, name_key
from atomr_local.indexing.store import read_manifest
from atomr_local.indexing.text_index import EXACT_ROWS, SEARCHED, TABLE, VECTOR, connect
from atomr_local.sources.protocol import Evidence, Request, Retrieval, SourceName
from atomr_local.tree.nodes import Operator

if TYPE_CHECKING:
    from atomr_local.indexing.embedding import Embedder

# Reciprocal rank fusion, score = sum of 1 / (K + rank) (Cormack, Clarke and Büttcher, SIGIR 2009).
_RRF_K = 60
_TIMEOUT = timedelta(seconds=30)
_CANDIDATES = 30
_COLUMNS = ("id", "title", "text", "start", "end")
# A page about the entity itself goes before pages that mention it: as much as first rank in both lists is worth.
_TITLE_BONUS = 2.0 / _RRF_K
_NEAR_BONUS = 1.0 / _RRF_K
_PREFIX_BONUS = 0.5 / _RRF_K
_QUERY_WORDS = 64
_QUERY_CHARACTERS = 2000
_WORD = re.compile(r"\w+")


class TextSource:
    """A text index as :class:`KnowledgeSource`. Thread-safe."""

    def __init__(self, table: Any, embedder: Embedder, rows: int, *, page_first: bool = True) -> None:
        self._table = table
        self._embedder = embedder
        self._exact = rows <= EXACT_ROWS
        self._page_first = page_first

    @classmethod
    def open(cls, directory: Path, embedder: Embedder, *, page_first: bool = True) -> TextSource:
        """Open the index in `directory`.

        Args:
            page_first: whether the page of the entity itself goes before pages that mention it.

        Raises:
            KnowledgeIndexError: it is not whole, or was built with another embedder.
        """
        manifest = read_manifest(directory)
        built_with = manifest.settings.get("embedder")
        if built_with != embedder.identity:
            raise KnowledgeIndexError(
                f"the text index {manifest.name!r} was built with another embedder ({built_with}, "
                f"the settings give {embedder.identity})",
                hint="Set `embedder` to the one it was built with, or build the index again.",
            )
        try:
            table = connect(directory).open_table(TABLE)
            rows = table.count_rows()
        except Exception as error:  # LanceDB raises plain RuntimeError and ValueError for damage
            raise KnowledgeIndexError(
                f"the text index in {directory} cannot be opened: {error}", hint="Build the index again."
            ) from error
        return cls(table, embedder, rows, page_first=page_first)

    @property
    def name(self) -> SourceName:
        return SourceName.TEXT

    @property
    def description(self) -> str:
        return "passages of articles: descriptions, stories, details"

    def retrieve(self, request: Request, cancellation: Cancellation) -> Retrieval:
        """The passages nearest to the request's query, the page of the entity itself first."""
        cancellation.check()
        query = request.query if request.operator is not None else request.question
        query = query[:_QUERY_CHARACTERS].encode("utf-8", "replace").decode("utf-8")
        # Cut as the full-text index cuts them: "O'Brien" is two words in it.
        terms = _WORD.findall(query)[:_QUERY_WORDS]
        if not terms:
            return Retrieval()
        try:
            found = self._search(query, " ".join(terms))
        except AtomrError:
            raise
        except Exception as error:
            raise SourceError(f"the text index cannot be searched: {error}", hint="Build the index again.") from error
        cancellation.check()
        head = request.arguments[0].text if self._page_first and request.operator and request.arguments else ""
        scored = sorted(
            ((row["_relevance_score"] + title_bonus(row["title"], head, request.operator), row) for row in found),
            key=lambda item: (-item[0], item[1]["id"]),
        )
        return Retrieval(
            evidence=tuple(_evidence(row, score, query) for score, row in _folded(scored)[: request.top_k])
        )

    def close(self) -> None:
        self._table = None

    def _search(self, query: str, terms: str) -> list[dict[str, Any]]:
        from lancedb.query import MatchQuery
        from lancedb.rerankers import RRFReranker

        vector = self._embedder.encode([query])[0]
        search = (
            self._table.search(query_type="hybrid", vector_column_name=VECTOR, fts_columns=[SEARCHED])
            .vector(vector)
            .text(MatchQuery(terms, SEARCHED))
            .distance_type("cosine")
            .rerank(RRFReranker(K=_RRF_K))
            .select([*_COLUMNS])
            .limit(_CANDIDATES)
        )
        search = search.bypass_vector_index() if self._exact else search.minimum_nprobes(20).refine_factor(5)
        rows: list[dict[str, Any]] = search.to_arrow(timeout=_TIMEOUT).to_pylist()
        return rows


def title_bonus(title: str, head: str, operator: Operator | None) -> float:
    """What a passage's fused score gains when its page's title names the operator's head entity; 0 without operator."""
    if operator is None or not head:
        return 0.0
    if name_key(title) == name_key(head):
        return _TITLE_BONUS
    key, wanted = base_key(title), base_key(head)
    if key == wanted:
        return 0.9 * _TITLE_BONUS
    if _same_words(key, wanted):
        return _NEAR_BONUS
    return (
        _PREFIX_BONUS if wanted and (f"{key} ".startswith(f"{wanted} ") or f"{wanted} ".startswith(f"{key} ")) else 0.0
    )


def _same_words(title: str, name: str) -> bool:
    """Whether one of two names has all words of the other, two at least: "Ann Lee", "Ann, Countess Lee"."""
    one, other = set(title.split()), set(name.split())
    return min(len(one), len(other)) > 1 and (one <= other or other <= one)


def _folded(scored: list[tuple[float, dict[str, Any]]]) -> list[tuple[float, dict[str, Any]]]:
    """Near-duplicates (same words) once, the best of them."""
    kept = []
    seen = set()
    for score, row in scored:
        key = name_key(row["text"])
        if key not in seen:
            seen.add(key)
            kept.append((score, row))
    return kept


def _evidence(row: dict[str, Any], score: float, query: str) -> Evidence:
    return Evidence(
        source=SourceName.TEXT,
        title=row["title"],
        text=row["text"],
        score=round(float(score), 6),
        query=query,
        locator={"passage": row["id"], "span": [row["start"], row["end"]]},
    )
