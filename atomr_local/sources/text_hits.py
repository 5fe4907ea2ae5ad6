"""Passages that a search of a text index found: their order, and the evidence that they become."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

from atomr_local.cancellation import Cancellation
from atomr_local.indexing.text_index.passage_kind import METADATA, kind_of
from atomr_local.sources.duplicates import Wording
from atomr_local.sources.protocol import Evidence, Request, Retrieval, SourceName
from atomr_local.sources.reranking import Reranker

# Reciprocal rank fusion, score = sum of 1 / (K + rank) (Cormack, Clarke and Büttcher, SIGIR 2009). Their 60 was chosen
# for lists of a thousand documents; few passages answer a hop, and what one search puts first must outweigh what both
# put tenth. Measured by scripts/bench/retrieval.py.
RRF_K = 2
CANDIDATES = 30  # of each of the two searches, and those that a reranker reads
# The score that is told says the place alone, by their formula: how far fused ranks lie apart means nothing.
_SCORE_K = 60
_QUERY_CHARACTERS = 2000


@dataclass(slots=True)
class Hit:
    """A row of the table that was found.

    Attributes:
        relevance: by the searches, or by the reranker.
        bonus: for its title.
        similarity: of its vector to the query's, as a cosine; None if it was not compared.
        index: name of its index, where several are searched.
        placed: gives the evidence its place in the user's own documents.
    """

    row: dict[str, Any]
    relevance: float
    bonus: float = 0.0
    similarity: float | None = None
    index: str = ""
    placed: Callable[[Evidence], Evidence] | None = None

    def place(self) -> tuple[float, str, str]:
        """Key for sorting, best first."""
        return -(self.relevance + self.bonus), self.row["id"], self.index


def plain_query(request: Request) -> str:
    """The request's query as it can be searched for: not too long, without half surrogate pairs."""
    return request.query[:_QUERY_CHARACTERS].encode("utf-8", "replace").decode("utf-8")


def without_duplicates(found: Iterable[Hit]) -> Iterator[Hit]:
    """Passages that say the same, such as those of a page and its mirror, once: the first of them.

    Passages are compared as they are asked for: all of them takes longer than the searches.
    """
    seen: list[Wording] = []
    for one in found:
        wording = Wording(one.row["text"])
        if not any(wording.is_duplicate_of(other) for other in seen):
            seen.append(wording)
            yield one


def reranked(reranker: Reranker, request: Request, found: list[Hit], cancellation: Cancellation) -> list[Hit]:
    """The first candidates in the reranker's order, the page of the entity still first; the others behind them."""
    first, others = found[:CANDIDATES], found[CANDIDATES:]
    texts = [f"{one.row['title']}: {one.row['text']}" for one in first]
    # The node's question, not its query: such models were trained on questions.
    asked = request.question or request.query
    scores = reranker.scores(asked[:_QUERY_CHARACTERS], texts, cancellation)
    ranked = sorted(zip(scores, first, strict=True), key=lambda item: (-item[0], item[1].row["id"], item[1].index))
    # Its order stands for both lists', so that a title weighs as much as without it.
    for rank, (_, one) in enumerate(ranked, 1):
        one.relevance = 2 / (RRF_K + rank)
    return sorted(first, key=Hit.place) + others


def evidence_of(
    request: Request, found: Iterable[Hit], reranker: Reranker | None, cancellation: Cancellation
) -> Retrieval:
    """The best of what was found, each wording once."""
    query = plain_query(request)
    ordered = without_duplicates(sorted(found, key=Hit.place))
    if reranker is not None:
        ordered = iter(reranked(reranker, request, list(ordered), cancellation))
    best = enumerate(islice(ordered, request.top_k), 1)
    return Retrieval(evidence=tuple(_evidence(one, place, query) for place, one in best))


def _evidence(one: Hit, place: int, query: str) -> Evidence:
    row = one.row
    locator: dict[str, Any] = {"passage": row["id"], "span": [row["start"], row["end"]]}
    if section := row.get("section"):
        locator["section"] = section
    locator |= kind_of(row.get(METADATA))
    if one.index:
        locator["index"] = one.index
    evidence = Evidence(
        source=SourceName.TEXT,
        title=row["title"],
        text=row["text"],
        score=round(1 / (_SCORE_K + place), 6),
        query=query,
        locator=locator,
    )
    return one.placed(evidence) if one.placed is not None else evidence
