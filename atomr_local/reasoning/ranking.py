"""One ranking of evidence that comes from several sources or queries."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from atomr_local.sources.protocol import Evidence
from atomr_local.sources.reranking import Reranker
from atomr_local.sources.text_hits import Wording
from atomr_local.system.cancellation import Cancellation

if TYPE_CHECKING:
    from atomr_local.indexing.embedding.embedder import Embedder

# As the text source fuses its two searches.
_RRF_K = 2
_LONGEST = 2000


class Ranking:
    """Orders evidence by how well it suits a question. Thread-safe.

    Args:
        reranker: gives a cross-encoder, asked for with the first ranking; it decides where there is one.
        embedder: one that is at hand anyway; else the nearest to the question goes first. None: the order stays.

    Raises (all methods):
        ModelError: the model cannot be used.
        Cancelled: `cancellation` was thrown.
    """

    def __init__(
        self, reranker: Callable[[], Reranker | None] = lambda: None, embedder: Embedder | None = None
    ) -> None:
        self._reranker = reranker
        self._embedder = embedder

    def ranked(self, question: str, evidence: Sequence[Evidence], k: int, cancellation: Cancellation) -> list[Evidence]:
        """The k best, each wording once; of what suits equally well, in the order given."""
        cancellation.check()
        left = folded(evidence)
        if not left or k < 1:
            return []
        scores = self.relevance(question, left, cancellation)
        if scores is None:
            scores = self._cosines(question, _texts(left), cancellation)
        cancellation.check()
        return _best(left, scores, k)

    def together(self, question: str, evidence: list[Evidence], cancellation: Cancellation) -> list[Evidence]:
        """All of it, ranked where it comes from several sources, whose own orders cannot be compared."""
        if len({item.source for item in evidence}) < 2:
            return evidence
        return self.ranked(question, evidence, len(evidence), cancellation)

    def nearest(self, text: str, evidence: Sequence[Evidence], k: int, cancellation: Cancellation) -> list[Evidence]:
        """The k pieces nearest to the text by the embedder alone; without one, the first ones."""
        return _best(evidence, self._cosines(text, _texts(evidence), cancellation), k)

    def alike(self, text: str, others: Sequence[str], cancellation: Cancellation) -> float | None:
        """The largest cosine of the text to one of the others, by the embedder; None without one or without others."""
        return max(self.cosines(text, others, cancellation) or (), default=None)

    def cosines(self, text: str, others: Sequence[str], cancellation: Cancellation) -> list[float] | None:
        """The cosine of the text to each of the others, by the embedder; None without one or without others."""
        return self._cosines(text, [other[:_LONGEST] for other in others], cancellation)

    def relevance(
        self, question: str, evidence: Sequence[Evidence], cancellation: Cancellation
    ) -> Sequence[float] | None:
        """How well each piece answers the question, by the reranker; None without one. The usual cross-encoder gives a
        logit, with even odds at 0."""
        cancellation.check()
        if not evidence or (reranker := self._reranker()) is None:
            return None
        return reranker.scores(question[:_LONGEST], _texts(evidence), cancellation)

    def _cosines(self, text: str, others: Sequence[str], cancellation: Cancellation) -> list[float] | None:
        cancellation.check()
        if self._embedder is None or not others:
            return None
        import numpy as np

        vectors = np.asarray(self._embedder.encode([text[:_LONGEST], *others]), dtype=np.float64)
        lengths = np.linalg.norm(vectors, axis=1)
        cosines = vectors[1:] @ vectors[0] / np.maximum(lengths[1:] * lengths[0], 1e-12)
        # A vector that is no number says nothing of its text.
        return [float(cosine) for cosine in np.nan_to_num(cosines, nan=-1.0)]


def _texts(evidence: Sequence[Evidence]) -> list[str]:
    return [f"{item.title}: {item.text}" for item in evidence]


def _best(evidence: Sequence[Evidence], scores: Sequence[float] | None, k: int) -> list[Evidence]:
    """The k pieces with the highest scores; without scores, the first ones."""
    places: Sequence[int] = range(len(evidence))
    if scores is not None:
        places = sorted(places, key=lambda place: (-scores[place], place))
    return [evidence[place] for place in places[:k]]


def folded(evidence: Sequence[Evidence]) -> list[Evidence]:
    """The evidence with each wording once: of those that say the same, the first."""
    kept: list[tuple[Evidence, Wording]] = []
    for item in evidence:
        wording = Wording(item.text)
        if not any(wording.is_duplicate_of(other) for _, other in kept):
            kept.append((item, wording))
    return [item for item, _ in kept]


def fuse_ranks(lists: Sequence[Sequence[Evidence]], k: int) -> list[Evidence]:
    """The k pieces with the largest sum of 1 / (2 + rank) over the lists, ranks from 1; ties as first seen.

    What stands twice in one list counts at its first place there.
    """
    scores: dict[object, float] = {}
    items: dict[object, Evidence] = {}
    for ranked in lists:
        seen: set[object] = set()
        for rank, item in enumerate(ranked, 1):
            key = _identity(item)
            if key in seen:
                continue
            seen.add(key)
            items.setdefault(key, item)
            scores[key] = scores.get(key, 0.0) + 1 / (_RRF_K + rank)
    return [items[key] for key in sorted(scores, key=lambda key: -scores[key])][:k]


def _identity(item: Evidence) -> object:
    """What makes a piece of evidence the same one: its id in the trace, else where it is and what it says."""
    return item.id or (str(item.source), item.title, item.text, str(item.locator.get("passage")))
