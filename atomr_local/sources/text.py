"""The text source: hybrid search over passages in LanceDB."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from atomr_local.cancellation import Cancellation
from atomr_local.errors import AtomrError, KnowledgeIndexError, SourceError
from atomr_local.indexing.builds.rebuilding import damage_hint
from atomr_local.indexing.foreign_errors import library_line, panics_as_errors
from atomr_local.indexing.opening import require_unchanged
from atomr_local.indexing.store import read_manifest
from atomr_local.indexing.text_index.catalog import CATALOG, CatalogReader
from atomr_local.indexing.text_index.index import check_embedder
from atomr_local.indexing.text_index.passage_kind import METADATA
from atomr_local.indexing.text_index.table import EXACT_ROWS, SEARCHED, TABLE, VECTOR, connect, nearest
from atomr_local.indexing.text_index.vector_state import vector_state
from atomr_local.language.names import base_key, name_key
from atomr_local.sources.candidate_vectors import EMBEDDED_HITS, CandidateVectors
from atomr_local.sources.document_places import DocumentPlaces, is_of_documents
from atomr_local.sources.feedback import EMBEDDED_AGAIN, READ, behind, names_found, searched_again
from atomr_local.sources.protocol import Page, Request, Retrieval, SearchMode, SourceName
from atomr_local.sources.reranking import Reranker
from atomr_local.sources.text_hits import CANDIDATES, RRF_K, Hit, evidence_of, plain_query
from atomr_local.sources.text_pages import TextPages
from atomr_local.tree.nodes import Operator

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from atomr_local.indexing.embedding.embedder import Embedder

_TIMEOUT = timedelta(seconds=30)
# A list of thirty holds the ten nearest though distances are quantised; of twice as many, all thirty.
_REFINE = 2
# Searches by words that run beside those by vector; several steps of a plan may ask at once.
_SEARCHERS = 4
_COLUMNS = ("id", "title", "section", "text", "start", "end", METADATA)
# A page about the entity itself goes before pages that mention it: as much as first rank in both lists is worth. A
# namesake's page ("Hamlet (1948 film)" for "Hamlet") has half of it.
_TITLE_BONUS = 2.0 / RRF_K
_BASE_BONUS = 1.0 / RRF_K
_NEAR_BONUS = 1.0 / RRF_K
_PREFIX_BONUS = 0.5 / RRF_K
_QUERY_WORDS = 64
_WORD = re.compile(r"\w+")


class TextSource:
    """A text index as :class:`KnowledgeSource` and :class:`Pages`. Thread-safe.

    Args:
        directory: of the index.
        page_first: whether the page of the entity itself goes before pages that mention it.
        reranker: orders what was found again.

    Raises:
        KnowledgeIndexError: it is not whole, or was built with another embedder.
    """

    def __init__(
        self, directory: Path, embedder: Embedder, *, page_first: bool = True, reranker: Reranker | None = None
    ) -> None:
        manifest = read_manifest(directory)
        check_embedder(manifest, embedder)
        require_unchanged("text", directory)
        try:
            with panics_as_errors():
                self._table: Any = connect(directory).open_table(TABLE)
                self._rows: int = self._table.count_rows()
        except Exception as error:  # LanceDB raises plain RuntimeError and ValueError for damage
            raise KnowledgeIndexError(
                f"the text index in {directory} cannot be opened: {library_line(error, directory)}",
                hint=damage_hint("text", directory),
            ) from error
        # Indexes of earlier versions have no list of articles, and no sections.
        self._catalog = CatalogReader(directory) if (directory / CATALOG).is_file() else None
        self._places = DocumentPlaces(directory, manifest) if is_of_documents(manifest) else None
        self._columns = [name for name in _COLUMNS if name in self._table.schema.names]
        self._directory = directory
        self._embedder = embedder
        self._page_first = page_first
        self._reranker = reranker
        self._pages = TextPages(directory, self._table, self._catalog)
        state = vector_state(manifest)
        self._embedded = self._rows if state.completeness == "all" else state.embedded
        self._candidates: CandidateVectors | None = None
        if state.completeness != "all":
            near = self._similar if state.embedded else None
            dimensions = self._table.schema.field(VECTOR).type.list_size
            self._candidates = CandidateVectors(directory, self._table, embedder, dimensions, near)
        self._searchers = ThreadPoolExecutor(_SEARCHERS, thread_name_prefix="atomr-words")

    @property
    def name(self) -> str:
        return SourceName.TEXT

    def some_titles(self, number: int) -> list[str]:
        """Titles of articles that it holds; none of an index without a list of them."""
        return self._catalog.some_titles(number) if self._catalog is not None else []

    @property
    def pages_missing(self) -> str:
        """See :class:`Pages`."""
        return self._pages.missing

    def page(self, title: str) -> Page | None:
        """See :class:`Pages`."""
        return self._pages.page(title)

    def similar_titles(self, name: str, number: int) -> tuple[str, ...]:
        """See :class:`Pages`."""
        return self._pages.similar_titles(name, number)

    def retrieve(self, request: Request, cancellation: Cancellation) -> Retrieval:
        """The passages nearest to the request's query in its mode, the page of the entity itself first.

        A name that is a redirect stands for the page that it leads to.
        """
        return evidence_of(request, self.candidates(request, cancellation), self._reranker, cancellation)

    def candidates(self, request: Request, cancellation: Cancellation, *, compared: bool = False) -> list[Hit]:
        """What the searches find for the request, without order.

        Args:
            compared: with hits of other indexes: each that has a vector says how similar it is.
        """
        cancellation.check()
        query = plain_query(request)
        # Cut as the full-text index cuts them: "O'Brien" is two words in it.
        terms = _WORD.findall(query)[:_QUERY_WORDS]
        if not terms:
            return []
        head = request.arguments[0].text if self._page_first and request.operator and request.arguments else ""
        titles = self._titles(head)
        extended = " ".join([query, *titles[1:]])
        terms += [word for title in titles[1:] for word in _WORD.findall(title)]
        again = searched_again(request) and not compared
        with self._search_errors():
            found = self._search(extended, " ".join(terms), request.mode, compared=compared, again=again)
        cancellation.check()
        for one in found:
            one.bonus = max(title_bonus(one.row["title"], name, request.operator) for name in titles)
        return found

    def candidates_named(self, request: Request, names: Sequence[str], cancellation: Cancellation) -> list[Hit]:
        """What a search by the request's words and these names finds, without order; each says how similar it is.

        For hits of several indexes: the names stand in what is best of all of them (`feedback.py`).
        """
        cancellation.check()
        query = plain_query(request)
        terms = [*_WORD.findall(query)[:_QUERY_WORDS], *(word for name in names for word in _WORD.findall(name))]
        with self._search_errors():
            rows = self._by_words(" ".join(terms))
            if self._candidates is not None:
                similar = self._candidates.similarities(query, rows[:EMBEDDED_AGAIN])
                return self._hits(_fused([rows]), similar, None)
            return self._hits(_fused([rows]), {}, self._embedder.encode([query])[0])

    @contextmanager
    def _search_errors(self) -> Iterator[None]:
        """Turns what LanceDB raises into errors of the source."""
        try:
            with panics_as_errors():
                yield
        except AtomrError:
            raise
        except Exception as error:
            raise SourceError(
                f"the text index cannot be searched: {library_line(error, self._directory)}",
                hint=damage_hint("text", self._directory),
            ) from error

    def close(self) -> None:
        self._table = None
        self._pages.close()
        if self._candidates is not None:
            self._candidates.close()
        self._searchers.shutdown(wait=False)
        if self._places is not None:
            self._places.close()
        if self._catalog is not None:
            self._catalog.close()

    def _titles(self, head: str) -> list[str]:
        """The name as it is given, and the titles of the pages that it leads to by redirects."""
        if not head or self._catalog is None:
            return [head]
        try:
            targets = self._catalog.targets(head)
        except KnowledgeIndexError as error:
            raise SourceError(error.message, hint=error.hint) from error
        return [head, *(title for title in targets if name_key(title) != name_key(head))]

    def _search(
        self, query: str, terms: str, mode: SearchMode, *, compared: bool = False, again: bool = False
    ) -> list[Hit]:
        """What the searches of the mode find, fused by rank; each without order among the others.

        They are asked for nothing but row ids, and what the rows hold is fetched once: LanceDB's own hybrid query reads
        it in both searches, and starts the search by words after the vector is made.

        Args:
            again: search with the names of the first passages too (`feedback.py`); only for the hybrid.
        """
        similar: dict[int, float] = {}
        asked: NDArray[np.float32] | None = None
        if mode == "words":
            lists = [self._by_words(terms)]
        elif self._candidates is not None:
            words_first = self._by_words(terms)
            similar = self._candidates.similarities(query, words_first[:EMBEDDED_HITS])
            by_vector = list(similar)[:CANDIDATES]
            lists = [by_vector] if mode == "dense" else [by_vector, words_first]
        else:
            words = self._searchers.submit(self._by_words, terms) if mode == "hybrid" else None
            asked = self._embedder.encode([query])[0]
            similar = self._similar(asked)
            lists = [list(similar), *([words.result()] if words is not None else [])]
        hits = self._hits(_fused(lists), similar, asked if compared else None)
        return self._with_feedback(query, terms, lists[0], lists[1], hits) if again and hits else hits

    def _with_feedback(
        self, query: str, terms: str, by_vector: Sequence[int], by_words: Sequence[int], hits: Sequence[Hit]
    ) -> list[Hit]:
        """The hits and those of a second search, with the names of the first hits; these stay before all others."""
        ordered = sorted(hits, key=Hit.place)
        first = ordered[:READ]
        names = names_found(query, [(hit.row["title"], hit.row["text"]) for hit in first])
        if not names:
            return ordered
        second = self._by_words(" ".join([terms, *(word for name in names for word in _WORD.findall(name))]))
        if self._candidates is not None:
            embedded = by_words[:EMBEDDED_HITS]
            more = [row for row in second if row not in embedded][:EMBEDDED_AGAIN]
            by_vector = list(self._candidates.similarities(query, [*embedded, *more]))[:CANDIDATES]
        kept = {hit.row["_rowid"] for hit in first}
        scores = {row: score for row, score in _fused([by_vector, by_words, second]).items() if row not in kept}
        others = self._hits(scores, {}, None)
        for hit, score in zip(
            others, behind([hit.relevance for hit in first], [h.relevance for h in others]), strict=True
        ):
            hit.relevance = score
        return [*first, *others]

    def _hits(
        self, scores: Mapping[int, float], similar: Mapping[int, float], asked: NDArray[np.float32] | None
    ) -> list[Hit]:
        """The rows with their scores.

        Args:
            asked: vector of the query, where hits that the search by vector did not find are compared with it too.
        """
        if not scores:
            return []
        columns = [*self._columns, VECTOR] if asked is not None else self._columns
        rows = self._table.take_row_ids(list(scores)).with_row_id().select(columns).to_arrow(timeout=_TIMEOUT)
        hits = [Hit(row, scores[row["_rowid"]], similarity=similar.get(row["_rowid"])) for row in rows.to_pylist()]
        placed = self._places.placed if self._places is not None else None
        for hit in hits:
            hit.placed = placed
            vector = hit.row.pop(VECTOR, None)
            if hit.similarity is None and vector is not None and asked is not None:
                hit.similarity = float(asked @ vector)
        return hits

    def _by_words(self, terms: str) -> list[int]:
        """Ids of the rows that BM25 puts first."""
        from lancedb.query import MatchQuery

        search = self._table.search(MatchQuery(terms, SEARCHED), query_type="fts").select(["_score"])
        found = search.with_row_id(True).limit(CANDIDATES).to_arrow(timeout=_TIMEOUT)
        return list(found["_rowid"].to_pylist())

    def _similar(self, vector: NDArray[np.float32]) -> dict[int, float]:
        """Cosine similarity of the nearest rows that have a vector in the table, by row id, best first."""
        near = (
            self._table.search(vector, vector_column_name=VECTOR)
            .distance_type("cosine")
            .select(["_distance"])
            .with_row_id(True)
            .limit(CANDIDATES)
        )
        near = nearest(near, self._embedded)
        if self._embedded > EXACT_ROWS:
            near = near.refine_factor(_REFINE)
        found = near.to_arrow(timeout=_TIMEOUT)
        distances = zip(found["_rowid"].to_pylist(), found["_distance"].to_pylist(), strict=True)
        return {row: 1 - distance for row, distance in distances if distance is not None}


def _fused(lists: Sequence[Sequence[int]]) -> dict[int, float]:
    """Reciprocal rank fusion of lists of row ids."""
    scores: dict[int, float] = {}
    for found in lists:
        for rank, row in enumerate(found, 1):
            scores[row] = scores.get(row, 0.0) + 1 / (RRF_K + rank)
    return scores


def title_bonus(title: str, head: str, operator: Operator | None) -> float:
    """What a passage's fused score gains when its page's title names the operator's head entity; 0 without operator."""
    if operator is None or not head:
        return 0.0
    if name_key(title) == name_key(head):
        return _TITLE_BONUS
    key, wanted = base_key(title), base_key(head)
    if key == wanted:
        return _BASE_BONUS
    if _same_words(key, wanted):
        return _NEAR_BONUS
    return (
        _PREFIX_BONUS if wanted and (f"{key} ".startswith(f"{wanted} ") or f"{wanted} ".startswith(f"{key} ")) else 0.0
    )


def _same_words(title: str, name: str) -> bool:
    """Whether one of two names has all words of the other, two at least: "Ann Lee", "Ann, Countess Lee"."""
    one, other = set(title.split()), set(name.split())
    return min(len(one), len(other)) > 1 and (one <= other or other <= one)
