"""The text source: hybrid search over passages in LanceDB."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import timedelta
from itertools import islice
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
from atomr_local.indexing.text_index.table import EXACT_ROWS, SEARCHED, TABLE, VECTOR, connect, nearest
from atomr_local.language.names import base_key, name_key
from atomr_local.sources.duplicates import Wording
from atomr_local.sources.protocol import Evidence, Page, Request, Retrieval, SearchMode, SourceName
from atomr_local.sources.reranking import Reranker
from atomr_local.sources.text_pages import TextPages
from atomr_local.tree.nodes import Operator

if TYPE_CHECKING:
    from atomr_local.indexing.embedding.embedder import Embedder

# Reciprocal rank fusion, score = sum of 1 / (K + rank) (Cormack, Clarke and Büttcher, SIGIR 2009). Their 60 was chosen
# for lists of a thousand documents; few passages answer a hop, and what one search puts first must outweigh what both
# put tenth. Measured by scripts/bench/retrieval.py.
_RRF_K = 2
# The score that is told says the place alone, by their formula: how far fused ranks lie apart means nothing.
_SCORE_K = 60
_TIMEOUT = timedelta(seconds=30)
_CANDIDATES = 30  # of each of the two searches, and those that a reranker reads
# A list of thirty holds the ten nearest though distances are quantised; of twice as many, all thirty.
_REFINE = 2
# Searches by words that run beside those by vector; several steps of a plan may ask at once.
_SEARCHERS = 4
_COLUMNS = ("id", "title", "section", "text", "start", "end")
# A page about the entity itself goes before pages that mention it: as much as first rank in both lists is worth. A
# namesake's page ("Hamlet (1948 film)" for "Hamlet") has half of it.
_TITLE_BONUS = 2.0 / _RRF_K
_BASE_BONUS = 1.0 / _RRF_K
_NEAR_BONUS = 1.0 / _RRF_K
_PREFIX_BONUS = 0.5 / _RRF_K
_QUERY_WORDS = 64
_QUERY_CHARACTERS = 2000
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
        check_embedder(read_manifest(directory), embedder)
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
        self._columns = [name for name in _COLUMNS if name in self._table.schema.names]
        self._directory = directory
        self._embedder = embedder
        self._page_first = page_first
        self._reranker = reranker
        self._pages = TextPages(directory, self._table, self._catalog)
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
        cancellation.check()
        query = request.query[:_QUERY_CHARACTERS].encode("utf-8", "replace").decode("utf-8")
        # Cut as the full-text index cuts them: "O'Brien" is two words in it.
        terms = _WORD.findall(query)[:_QUERY_WORDS]
        if not terms:
            return Retrieval()
        head = request.arguments[0].text if self._page_first and request.operator and request.arguments else ""
        titles = self._titles(head)
        extended = " ".join([query, *titles[1:]])
        terms += [word for title in titles[1:] for word in _WORD.findall(title)]
        try:
            with panics_as_errors():
                found = self._search(extended, " ".join(terms), request.mode)
        except AtomrError:
            raise
        except Exception as error:
            raise SourceError(
                f"the text index cannot be searched: {library_line(error, self._directory)}",
                hint=damage_hint("text", self._directory),
            ) from error
        cancellation.check()
        for one in found:
            one.bonus = max(title_bonus(one.row["title"], name, request.operator) for name in titles)
        ordered = _without_duplicates(sorted(found, key=_Hit.place))
        if self._reranker is not None:
            ordered = iter(self._reranked(self._reranker, request, list(ordered), cancellation))
        return Retrieval(
            evidence=tuple(_evidence(one, place, query) for place, one in enumerate(islice(ordered, request.top_k), 1))
        )

    def close(self) -> None:
        self._table = None
        self._pages.close()
        self._searchers.shutdown(wait=False)
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

    def _search(self, query: str, terms: str, mode: SearchMode) -> list[_Hit]:
        """What the searches of the mode find, fused by rank; each without order among the others.

        They are asked for nothing but row ids, and what the rows hold is fetched once: LanceDB's own hybrid query reads
        it in both searches, and starts the search by words after the vector is made.
        """
        if mode == "words":
            lists = [self._by_words(terms)]
        elif mode == "dense":
            lists = [self._by_vector(query)]
        else:
            words = self._searchers.submit(self._by_words, terms)
            lists = [self._by_vector(query), words.result()]
        scores: dict[int, float] = {}
        for found in lists:
            for rank, row in enumerate(found, 1):
                scores[row] = scores.get(row, 0.0) + 1 / (_RRF_K + rank)
        if not scores:
            return []
        rows = self._table.take_row_ids(list(scores)).with_row_id().select(self._columns).to_arrow(timeout=_TIMEOUT)
        return [_Hit(row, scores[row["_rowid"]]) for row in rows.to_pylist()]

    def _by_words(self, terms: str) -> list[int]:
        """Ids of the rows that BM25 puts first."""
        from lancedb.query import MatchQuery

        search = self._table.search(MatchQuery(terms, SEARCHED), query_type="fts").select(["_score"])
        found = search.with_row_id(True).limit(_CANDIDATES).to_arrow(timeout=_TIMEOUT)
        return list(found["_rowid"].to_pylist())

    def _by_vector(self, query: str) -> list[int]:
        """Ids of the rows whose vectors are nearest."""
        near = (
            self._table.search(self._embedder.encode([query])[0], vector_column_name=VECTOR)
            .distance_type("cosine")
            .select(["_distance"])
            .with_row_id(True)
            .limit(_CANDIDATES)
        )
        near = nearest(near, self._rows)
        if self._rows > EXACT_ROWS:
            near = near.refine_factor(_REFINE)
        return list(near.to_arrow(timeout=_TIMEOUT)["_rowid"].to_pylist())

    def _reranked(
        self, reranker: Reranker, request: Request, found: list[_Hit], cancellation: Cancellation
    ) -> list[_Hit]:
        """The first candidates in the reranker's order, the page of the entity still first; the others behind them."""
        first, others = found[:_CANDIDATES], found[_CANDIDATES:]
        texts = [f"{one.row['title']}: {one.row['text']}" for one in first]
        # The node's question, not its query: such models were trained on questions.
        asked = request.question or request.query
        scores = reranker.scores(asked[:_QUERY_CHARACTERS], texts, cancellation)
        ranked = sorted(zip(scores, first, strict=True), key=lambda item: (-item[0], item[1].row["id"]))
        # Its order stands for both lists', so that a title weighs as much as without it.
        for rank, (_, one) in enumerate(ranked, 1):
            one.relevance = 2 / (_RRF_K + rank)
        return sorted(first, key=_Hit.place) + others


@dataclass(slots=True)
class _Hit:
    """A row of the table that was found.

    Attributes:
        relevance: by the searches, or by the reranker.
        bonus: for its title.
    """

    row: dict[str, Any]
    relevance: float
    bonus: float = 0.0

    def place(self) -> tuple[float, str]:
        """Key for sorting, best first."""
        return -(self.relevance + self.bonus), self.row["id"]


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


def _without_duplicates(found: Iterable[_Hit]) -> Iterator[_Hit]:
    """Passages that say the same, such as those of a page and its mirror, once: the first of them.

    Passages are compared as they are asked for: all of them takes longer than the searches.
    """
    seen: list[Wording] = []
    for one in found:
        wording = Wording(one.row["text"])
        if not any(wording.is_duplicate_of(other) for other in seen):
            seen.append(wording)
            yield one


def _evidence(one: _Hit, place: int, query: str) -> Evidence:
    row = one.row
    locator: dict[str, Any] = {"passage": row["id"], "span": [row["start"], row["end"]]}
    if section := row.get("section"):
        locator["section"] = section
    return Evidence(
        source=SourceName.TEXT,
        title=row["title"],
        text=row["text"],
        score=round(1 / (_SCORE_K + place), 6),
        query=query,
        locator=locator,
    )
