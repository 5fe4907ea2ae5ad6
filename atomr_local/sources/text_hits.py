"""Passages that a search of a text index found: their order, and the evidence that they become."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from atomr_local.indexing.text_index.catalog import METADATA, kind_of
from atomr_local.indexing.text_index.table import SEARCHED, VECTOR
from atomr_local.indexing.text_index.vectors import VectorCache
from atomr_local.language.names import name_key, names_in
from atomr_local.language.sentences import sentences
from atomr_local.sources.protocol import Evidence, Request, Retrieval, SourceName
from atomr_local.sources.reranking import Reranker
from atomr_local.system.cancellation import Cancellation

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from atomr_local.indexing.embedding.embedder import Embedder


# Pseudo-relevance feedback: what the first passages name is searched for with the question.
#
# The page that answers a question of several hops often shares no word with it, but is named by a page that does. So
# the names in the first passages go into a second search by words. Procedure: query expansion from the first hits as in
# Rocchio (The SMART Retrieval System, 1971) and the relevance models of Lavrenko and Croft (SIGIR 2001), with names as
# the only terms. The first passages keep their places, since feedback finds more and ranks worse: measured by
# scripts/bench/retrieval.py.


# The passages that are read for names, and that keep their places.
READ = 3
# Hits of the second search that are embedded where passages do not all have a vector.
EMBEDDED_AGAIN = 10
_NAMES = 8
_MARKS = " .,;:!?\"'()"
_SHORTEST = 4  # letters of a name: initials and abbreviations of two or three letters are everywhere


def searched_again(request: Request) -> bool:
    """Whether a second search can be of use: of a question, which may need pages that it does not name.

    Of few passages it could change none, since the first stay.
    """
    return request.operator is None and request.mode == "hybrid" and request.top_k > READ


def names_found(query: str, passages: Iterable[tuple[str, str]]) -> list[str]:
    """The names of the passages that the query does not have, those of more and of earlier passages first.

    Args:
        passages: title and text of each, best first.
    """
    asked = f" {name_key(query)} "
    weights: dict[str, float] = {}
    written: dict[str, str] = {}
    for rank, (title, text) in enumerate(passages, 1):
        names = [title, *names_in([text[start:end] for start, end in sentences(text)])]
        for key, name in {name_key(name): name.strip(_MARKS) for name in names}.items():
            if len(key) >= _SHORTEST and f" {key} " not in asked:
                weights[key] = weights.get(key, 0.0) + 1 / rank
                written.setdefault(key, name)
    return [written[key] for key in sorted(weights, key=lambda key: -weights[key])[:_NAMES]]


def behind(first: Sequence[float], others: Sequence[float]) -> list[float]:
    """The others' scores in proportion, all of them below the lowest of the first."""
    highest = max(others, default=0.0)
    limit = min(first) * 0.99
    return [limit * score / highest for score in others]


# Passages that say the same, such as those of a page and its mirror.


# Two passages say the same from this share of common word triples on, unless they differ in a number.
_SAME_SHARE = 0.95


class Wording:
    """The words of a passage, to compare it with others."""

    def __init__(self, text: str) -> None:
        words = name_key(text).split()
        self._words = words
        self._triples = set(zip(words, words[1:], words[2:], strict=False))
        # Tables and lists may differ in nothing but their figures, and that is what is asked for.
        self._numbers = {word for word in words if any(character.isdigit() for character in word)}

    def is_duplicate_of(self, other: Wording) -> bool:
        if self._words == other._words:
            return True
        if self._numbers != other._numbers or not self._triples or not other._triples:
            return False
        shared = len(self._triples & other._triples)
        return shared >= _SAME_SHARE * (len(self._triples) + len(other._triples) - shared)


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
        redirect: the name that was asked for, where it leads to the page by a redirect.
        placed: gives the evidence its place in the user's own documents.
    """

    row: dict[str, Any]
    relevance: float
    bonus: float = 0.0
    similarity: float | None = None
    index: str = ""
    redirect: str = ""
    placed: Callable[[Evidence], Evidence] | None = None

    def place(self) -> tuple[float, str, str]:
        """Key for sorting, best first."""
        return -(self.relevance + self.bonus), self.row["id"], self.index


def plain_query(request: Request) -> str:
    """The request's query as it can be searched for: not too long, without half surrogate pairs."""
    return request.query[:_QUERY_CHARACTERS].encode("utf-8", "replace").decode("utf-8")


def put_behind(first: Sequence[float], others: Sequence[Hit]) -> None:
    """Give the others relevance in proportion, all of it below the lowest of the first."""
    for hit, score in zip(others, behind(first, [hit.relevance for hit in others]), strict=True):
        hit.relevance = score


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
    if one.redirect:
        locator["redirect"] = one.redirect
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


# Vectors of what a search by words found, for a text index whose passages do not all have one.
#
# The passages are embedded with the query when they are first found, and kept in the index (`vectors.py`): the
# steps of a question share them, and so do later questions.


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
        in_table: whether the table has vectors of its own.
    """

    def __init__(self, directory: Path, table: Any, embedder: Embedder, dimensions: int, *, in_table: bool) -> None:
        self._table = table
        self._embedder = embedder
        self._in_table = in_table
        self._cache = VectorCache(directory, embedder.identity, dimensions)
        # The latest query with its vector: feedback asks it again.
        self._latest: tuple[str, NDArray[np.float32]] | None = None

    def close(self) -> None:
        self._table = None
        self._cache.close()

    def similarities(self, query: str, row_ids: Sequence[int], nearest: Nearest) -> dict[int, float]:
        """Cosine similarity to the query of these rows, and of those nearest by the table's own vectors; best first.

        Args:
            nearest: searches the vectors that the table has.
        """
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
        if self._in_table:
            similarity = nearest(asked) | similarity
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
        columns = [SEARCHED, VECTOR] if self._in_table else [SEARCHED]
        found = self._table.take_row_ids(list(row_ids)).with_row_id().select(columns).to_arrow(timeout=_TIMEOUT)
        return {
            row["_rowid"]: (row[SEARCHED], np.asarray(row[VECTOR], dtype=np.float32) if row.get(VECTOR) else None)
            for row in found.to_pylist()
        }
