"""Vectors of what a search by words found, for a text index whose passages do not all have one.

The passages are embedded with the query when they are first found, and kept in the index (`vector_cache.py`): the
steps of a question share them, and so do later questions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from atomr_local.indexing.text_index.table import SEARCHED, VECTOR
from atomr_local.indexing.text_index.vector_cache import VectorCache

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from atomr_local.indexing.embedding.embedder import Embedder

# The first hits of a search by words that are compared by vector too.
EMBEDDED_HITS = 20
_TIMEOUT = timedelta(seconds=30)
_DECIMALS = 5  # of a similarity: which texts were embedded together changes the seventh
# Row ids and similarities of the passages that the table's own vectors put nearest.
Nearest = Callable[["NDArray[np.float32]"], dict[int, float]]


class CandidateVectors:
    """Ranks rows of the table by vector. Thread-safe.

    Args:
        dimensions: of a vector; the embedder tells its own only once it is loaded.
        nearest: searches the vectors that the table has; None if it has none.
    """

    def __init__(
        self, directory: Path, table: Any, embedder: Embedder, dimensions: int, nearest: Nearest | None
    ) -> None:
        self._table = table
        self._embedder = embedder
        self._nearest = nearest
        self._cache = VectorCache(directory, embedder.identity, dimensions)
        # The latest query with its vector: feedback asks it again.
        self._latest: tuple[str, NDArray[np.float32]] | None = None

    def close(self) -> None:
        self._table = None
        self._cache.close()

    def similarities(self, query: str, row_ids: Sequence[int]) -> dict[int, float]:
        """Cosine similarity to the query of these rows, and of those nearest by the table's own vectors; best first."""
        import numpy as np

        rows = self._rows(row_ids)
        known = {row_id: vector for row_id, (_, vector) in rows.items() if vector is not None}
        lacking = {row_id: text for row_id, (text, vector) in rows.items() if vector is None}
        for row_id, vector in zip(lacking, self._cache.get(list(lacking.values())), strict=True):
            if vector is not None:
                known[row_id] = vector
        texts = list(dict.fromkeys(text for row_id, text in lacking.items() if row_id not in known))
        asked = self._vector_of(query)
        if asked is None:
            asked, *vectors = self._embedder.encode([query, *texts])
            self._latest = (query, asked)
        else:
            vectors = list(self._embedder.encode(texts)) if texts else []
        if texts:
            made = dict(zip(texts, vectors, strict=True))
            self._cache.put(made)
            known.update((row_id, made[text]) for row_id, text in lacking.items() if row_id not in known)
        similarity = {row_id: float(np.dot(asked, vector)) for row_id, vector in known.items()}
        if self._nearest is not None:
            similarity = self._nearest(asked) | similarity
        ordered = sorted(similarity, key=lambda row_id: (-round(similarity[row_id], _DECIMALS), row_id))
        return {row_id: similarity[row_id] for row_id in ordered}

    def _vector_of(self, query: str) -> NDArray[np.float32] | None:
        latest = self._latest  # other threads may replace it
        return latest[1] if latest is not None and latest[0] == query else None

    def _rows(self, row_ids: Sequence[int]) -> dict[int, tuple[str, NDArray[np.float32] | None]]:
        """Text and vector of each row; no vector where the table has none."""
        import numpy as np

        if not row_ids:
            return {}
        columns = [SEARCHED, VECTOR] if self._nearest is not None else [SEARCHED]
        found = self._table.take_row_ids(list(row_ids)).with_row_id().select(columns).to_arrow(timeout=_TIMEOUT)
        return {
            row["_rowid"]: (row[SEARCHED], np.asarray(row[VECTOR], dtype=np.float32) if row.get(VECTOR) else None)
            for row in found.to_pylist()
        }
