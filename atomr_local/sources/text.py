"""The text source: hybrid search over passages in LanceDB."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import date, timedelta
from functools import cached_property, partial
from itertools import groupby
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from atomr_local.errors import KnowledgeIndexError
from atomr_local.indexing.opening import require_unchanged
from atomr_local.indexing.store import read_manifest
from atomr_local.indexing.text_index.catalog import CATALOG, METADATA, CatalogReader, Known
from atomr_local.indexing.text_index.index import check_embedder
from atomr_local.indexing.text_index.table import EXACT_ROWS, SEARCHED, TABLE, VECTOR, connect, is_in, nearest
from atomr_local.indexing.text_index.vectors import vector_state
from atomr_local.language.collection_questions import collection_words
from atomr_local.language.literals import dates_in
from atomr_local.language.names import base_key, name_key
from atomr_local.language.words import any_of
from atomr_local.sources.document_places import DocumentPlaces, is_of_documents
from atomr_local.sources.errors import library_errors, source_errors
from atomr_local.sources.protocol import (
    Day,
    Evidence,
    HeldDate,
    HeldDocument,
    HeldPassage,
    Page,
    Request,
    Retrieval,
    SearchMode,
    SourceName,
    Within,
)
from atomr_local.sources.reranking import Reranker
from atomr_local.sources.text_hits import (
    CANDIDATES,
    EMBEDDED_AGAIN,
    EMBEDDED_HITS,
    READ,
    RRF_K,
    CandidateVectors,
    Hit,
    evidence_of,
    names_found,
    plain_query,
    put_behind,
    searched_again,
)
from atomr_local.sources.text_pages import TextPages, read_errors, rows_with_ids
from atomr_local.sources.text_parts import TextParts, day_of, tag_key
from atomr_local.system.cancellation import Cancellation
from atomr_local.tree.nodes import Operator

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from atomr_local.indexing.embedding.embedder import Embedder


# The documents of a text index of folders, all together: which there are, and what each says.

_TIMEOUT = timedelta(seconds=60)
_READ_AT_ONCE = 200  # documents whose passages are held
_COLUMNS = ("id", "article", "section", "text", "start", "end")
_HEADING = " > "
_BEGINNING = 600  # characters in which a document may state its date
_LABEL = any_of(collection_words()["date_labels"])
_STATED = re.compile(rf"(?:^|\s)(?P<label>{_LABEL}|date of \w+): *(?P<value>[^;\n]{{4,40}})", re.I)
_IN_NAME = re.compile(r"(?<!\d)((?:19|20)\d\d)([-_.]?)(\d\d)\2(\d\d)(?!\d)")


@dataclass(eq=False)
class TextCollection:
    """The documents of the index in `directory`, or those of a part of it. See :class:`Collection`."""

    directory: Path
    table: Any
    catalog: CatalogReader
    places: DocumentPlaces
    parts: TextParts
    within: Within | None

    @property
    def part(self) -> str:
        return ", ".join(self.within.given) if self.within is not None else ""

    @cached_property
    def _known(self) -> dict[str, Known]:
        with read_errors(self.directory):
            return {article.id: article for article in self.catalog.articles()}

    def documents(self) -> list[HeldDocument]:
        with read_errors(self.directory):
            inside = self.parts.articles(self.within) if self.within is not None else None
            found = [one for one in self.parts.documents if inside is None or one.article in inside]
        return [HeldDocument(one.article, one.listed, one.title) for one in found]

    def tagged(self, tag: str) -> frozenset[str]:
        with read_errors(self.directory):
            return self.parts.articles(Within((tag,), tags=(tag_key(tag),)))

    def may_hold(self, words: Sequence[str]) -> frozenset[str] | None:
        """See :class:`Collection`.

        The full-text index knows no stop words and folds few letters beside those of Latin: a word that it does not
        find is left for whoever reads the texts.
        """
        found: frozenset[str] | None = None
        with read_errors(self.directory):
            for word in dict.fromkeys(word for word in words if word.isascii()):
                if articles := self._holding(word):
                    found = articles if found is None else found & articles
        return found

    def _holding(self, word: str) -> frozenset[str]:
        from lancedb.query import MatchQuery

        rows = max(1, self.table.count_rows())
        search = self.table.search(MatchQuery(word, SEARCHED), query_type="fts").select(["article", "_score"])
        return frozenset(search.limit(rows).to_arrow(timeout=_TIMEOUT)["article"].to_pylist())

    def texts(
        self, documents: Sequence[str], cancellation: Cancellation, *, opening: bool = False
    ) -> Iterator[tuple[str, list[HeldPassage]]]:
        for at in range(0, len(documents), _READ_AT_ONCE):
            cancellation.check()
            wanted = [self._known[name] for name in documents[at : at + _READ_AT_ONCE] if name in self._known]
            ids = [passage for one in wanted for passage in one.passage_ids()[: 1 if opening else None]]
            with read_errors(self.directory):
                rows = rows_with_ids(self.table, ids, _COLUMNS)
            for name, found in groupby(rows, lambda row: str(row["article"])):
                yield name, [_passage(row) for row in found]

    def dates(self, documents: Sequence[str], cancellation: Cancellation, *, changed: bool) -> dict[str, HeldDate]:
        with read_errors(self.directory):
            own = {} if changed else self.parts.own_days()
            placed = {one.article: one for one in self.parts.documents}
        others = [] if changed else [one for one in documents if one not in own]
        begun = {name: found[0].text for name, found in self.texts(others, cancellation, opening=True)}
        dates: dict[str, HeldDate] = {}
        for name in documents:
            one = placed[name]
            if name in own:
                found = _date(own[name], "it states {} as “date”")
            else:
                named = None if changed else _IN_NAME.search(PurePosixPath(one.listed).name)
                found = _stated(begun.get(name, ""))
                if found is None and named is not None:
                    found = _date((int(named[1]), int(named[3]), int(named[4])), "its name says {}")
            if found is None and one.modified is not None:
                found = _date(one.modified, "the file was changed on {}", stated=False)
            if found is not None:
                dates[name] = found
        return dates

    def cited(self, title: str, passage: HeldPassage, query: str) -> Evidence:
        locator: dict[str, Any] = {"passage": passage.id, "span": [passage.start, passage.end]}
        if passage.headings:
            locator["section"] = _HEADING.join(passage.headings)
        with read_errors(self.directory):
            return self.places.placed(Evidence(SourceName.TEXT, title, passage.text, 1.0, query, locator))


def _passage(row: dict[str, Any]) -> HeldPassage:
    headings = tuple(filter(None, (row["section"] or "").split(_HEADING)))
    return HeldPassage(row["id"], row["text"], row["start"], row["end"], headings)


def _stated(beginning: str) -> HeldDate | None:
    """The date of a line such as "Date: 3 May 2024"."""
    for found in _STATED.finditer(beginning[:_BEGINNING]):
        for text in (found["value"], *dates_in([found["value"]])):
            if (day := day_of(text)) is not None:
                return _date(day, f"it states {{}} as “{found['label'].casefold()}”")
    return None


def _date(day: Day, how: str, *, stated: bool = True) -> HeldDate | None:
    try:
        found = date(*day)
    except ValueError:  # of no calendar, or before our era
        return None
    return HeldDate(found, how.format(found), stated)


_TEXT_TIMEOUT = timedelta(seconds=30)
# A list of thirty holds the ten nearest though distances are quantised; of twice as many, all thirty.
_REFINE = 2
# Searches by words that run beside those by vector; several steps of a plan may ask at once.
_SEARCHERS = 4
_TEXT_COLUMNS = ("id", "title", "section", "text", "start", "end", METADATA)
# A page about the entity itself goes before pages that mention it: as much as first rank in both lists is worth. A
# namesake's page ("Hamlet (1948 film)" for "Hamlet") has half of it.
_TITLE_BONUS = 2.0 / RRF_K
_BASE_BONUS = 1.0 / RRF_K
_NEAR_BONUS = 1.0 / RRF_K
_PREFIX_BONUS = 0.5 / RRF_K
_QUERY_WORDS = 64
_WORD = re.compile(r"\w+")
# The document that a question names goes before whatever rank and title give.
_NAMED_BONUS = 100.0
# Articles of a part that a query names one by one; of more, those of the part are picked out of what is found.
_MOST_NAMED = 5_000
_WIDER = 8


@dataclass(frozen=True, slots=True)
class _Part:
    """The articles to which a search is limited, and the condition for it; "" where they are too many."""

    articles: frozenset[str]
    condition: str

    @classmethod
    def of(cls, articles: frozenset[str]) -> _Part:
        few = sorted(articles) if len(articles) <= _MOST_NAMED else []
        return cls(articles, is_in("article", few) if few else "")


class TextSource:
    """A text index as :class:`HasParts` and :class:`HasCollection`. Thread-safe.

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
        told = f"the text index in {directory} cannot be opened"
        with library_errors(told, "text", directory, raised=KnowledgeIndexError):
            self._table: Any = connect(directory).open_table(TABLE)
            self._rows: int = self._table.count_rows()
        # Indexes of earlier versions have no list of articles, and no sections.
        self._catalog = CatalogReader(directory) if (directory / CATALOG).is_file() else None
        self._places = DocumentPlaces(directory, manifest) if is_of_documents(manifest) else None
        self._columns = [name for name in _TEXT_COLUMNS if name in self._table.schema.names]
        self._directory = directory
        self._embedder = embedder
        self._page_first = page_first
        self._reranker = reranker
        self._pages = TextPages(directory, self._table, self._catalog)
        self._parts = TextParts(self._table, self._rows, self._catalog, self._places)
        state = vector_state(manifest)
        self._embedded = self._rows if state.completeness == "all" else state.embedded
        self._candidates: CandidateVectors | None = None
        if state.completeness != "all":
            dimensions = self._table.schema.field(VECTOR).type.list_size
            some = bool(state.embedded)
            self._candidates = CandidateVectors(directory, self._table, embedder, dimensions, in_table=some)
        self._searchers = ThreadPoolExecutor(_SEARCHERS, thread_name_prefix="atomr-words")

    @property
    def name(self) -> str:
        return SourceName.TEXT

    def some_titles(self, number: int) -> list[str]:
        """Titles of articles that it holds; none of an index without a list of them."""
        return self._catalog.some_titles(number) if self._catalog is not None else []

    @property
    def pages_missing(self) -> str:
        return self._pages.missing

    def part_missing(self, within: Within) -> list[str]:
        with self._search_errors():
            return [] if self._parts.articles(within) else self._parts.near(within)

    def _articles(self, within: Within | None) -> frozenset[str] | None:
        """Ids of the articles of the part; None: of all."""
        with self._search_errors():
            return self._parts.articles(within) if within is not None else None

    def page(self, title: str, within: Within | None = None) -> Page | None:
        return self._pages.page(title, self._articles(within))

    def similar_titles(self, name: str, number: int, within: Within | None = None) -> tuple[str, ...]:
        return self._pages.similar_titles(name, number, self._articles(within))

    def collection(self, within: Within | None = None) -> TextCollection | None:
        if self._places is None or self._catalog is None:
            return None
        return TextCollection(self._directory, self._table, self._catalog, self._places, self._parts, within)

    def retrieve(self, request: Request, cancellation: Cancellation) -> Retrieval:
        """The passages nearest to the request's query in its mode, the page of the entity itself first.

        A name that is a redirect stands for the page that it leads to. Passages of a document that the question names
        as the place to look in go before all others.
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
        articles = self._articles(request.within)
        if not terms or (articles is not None and not articles):
            return []
        part = _Part.of(articles) if articles is not None else None
        head = request.arguments[0].text if self._page_first and request.operator and request.arguments else ""
        titles = self._titles(head)
        extended = " ".join([query, *titles[1:]])
        terms += [word for title in titles[1:] for word in _WORD.findall(title)]
        again = searched_again(request) and not compared
        words = " ".join(terms)
        with self._search_errors():
            named = self._parts.named(request.question)
            named = named if articles is None else named & articles
            found = self._search(extended, words, request.mode, part, compared=compared, again=again)
            if named:
                known = {one.row["_rowid"] for one in found}
                of_named = self._search(extended, words, request.mode, _Part.of(named), compared=compared)
                found += [one for one in of_named if one.row["_rowid"] not in known]
        cancellation.check()
        targets = set(titles[1:])
        for one in found:
            one.redirect = head if one.row["title"] in targets else ""
            one.bonus = max(title_bonus(one.row["title"], name, request.operator) for name in titles)
            if named and str(one.row["id"]).rpartition("#")[0] in named:
                one.bonus += _NAMED_BONUS
        return found

    def candidates_named(self, request: Request, names: Sequence[str], cancellation: Cancellation) -> list[Hit]:
        """What a search by the request's words and these names finds, without order; each says how similar it is.

        For hits of several indexes: the names stand in what is best of all of them (`text_hits.py`).
        """
        cancellation.check()
        query = plain_query(request)
        terms = [*_WORD.findall(query)[:_QUERY_WORDS], *(word for name in names for word in _WORD.findall(name))]
        articles = self._articles(request.within)
        with self._search_errors():
            rows = self._by_words(" ".join(terms), _Part.of(articles) if articles is not None else None)
            if self._candidates is not None:
                similar = self._candidates.similarities(query, rows[:EMBEDDED_AGAIN], self._similar)
                return self._hits(_fused([rows]), similar, None)
            return self._hits(_fused([rows]), {}, self._embedder.encode([query])[0])

    def _search_errors(self) -> AbstractContextManager[None]:
        return library_errors("the text index cannot be searched", "text", self._directory)

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
        with source_errors():
            targets = self._catalog.targets(head)
        return [head, *(title for title in targets if name_key(title) != name_key(head))]

    def _search(
        self,
        query: str,
        terms: str,
        mode: SearchMode,
        part: _Part | None,
        *,
        compared: bool = False,
        again: bool = False,
    ) -> list[Hit]:
        """What the searches of the mode find, fused by rank; each without order among the others.

        They are asked for nothing but row ids, and what the rows hold is fetched once: LanceDB's own hybrid query reads
        it in both searches, and starts the search by words after the vector is made.

        Args:
            again: search with the names of the first passages too (`text_hits.py`); only for the hybrid.
        """
        similar: dict[int, float] = {}
        asked: NDArray[np.float32] | None = None
        near = partial(self._similar, part=part)
        if mode == "words":
            lists = [self._by_words(terms, part)]
        elif self._candidates is not None:
            words_first = self._by_words(terms, part)
            similar = self._candidates.similarities(query, words_first[:EMBEDDED_HITS], near)
            by_vector = list(similar)[:CANDIDATES]
            lists = [by_vector] if mode == "dense" else [by_vector, words_first]
        else:
            words = self._searchers.submit(self._by_words, terms, part) if mode == "hybrid" else None
            asked = self._embedder.encode([query])[0]
            similar = near(asked)
            lists = [list(similar), *([words.result()] if words is not None else [])]
        hits = self._hits(_fused(lists), similar, asked if compared else None)
        return self._with_feedback(query, terms, part, lists[0], lists[1], hits) if again and hits else hits

    def _with_feedback(
        self,
        query: str,
        terms: str,
        part: _Part | None,
        by_vector: Sequence[int],
        by_words: Sequence[int],
        hits: Sequence[Hit],
    ) -> list[Hit]:
        """The hits and those of a second search, with the names of the first hits; these stay before all others."""
        ordered = sorted(hits, key=Hit.place)
        first = ordered[:READ]
        names = names_found(query, [(hit.row["title"], hit.row["text"]) for hit in first])
        if not names:
            return ordered
        second = self._by_words(" ".join([terms, *(word for name in names for word in _WORD.findall(name))]), part)
        if self._candidates is not None:
            embedded = by_words[:EMBEDDED_HITS]
            more = [row for row in second if row not in embedded][:EMBEDDED_AGAIN]
            near = partial(self._similar, part=part)
            by_vector = list(self._candidates.similarities(query, [*embedded, *more], near))[:CANDIDATES]
        kept = {hit.row["_rowid"] for hit in first}
        scores = {row: score for row, score in _fused([by_vector, by_words, second]).items() if row not in kept}
        others = self._hits(scores, {}, None)
        put_behind([hit.relevance for hit in first], others)
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
        rows = self._table.take_row_ids(list(scores)).with_row_id().select(columns).to_arrow(timeout=_TEXT_TIMEOUT)
        hits = [Hit(row, scores[row["_rowid"]], similarity=similar.get(row["_rowid"])) for row in rows.to_pylist()]
        placed = self._places.placed if self._places is not None else None
        for hit in hits:
            hit.placed = placed
            vector = hit.row.pop(VECTOR, None)
            if hit.similarity is None and vector is not None and asked is not None:
                hit.similarity = float(asked @ vector)
        return hits

    def _by_words(self, terms: str, part: _Part | None = None) -> list[int]:
        """Ids of the rows that BM25 puts first."""
        from lancedb.query import MatchQuery

        return list(
            self._first(lambda: self._table.search(MatchQuery(terms, SEARCHED), query_type="fts"), "_score", part)
        )

    def _similar(self, vector: NDArray[np.float32], part: _Part | None = None) -> dict[int, float]:
        """Cosine similarity of the nearest rows that have a vector in the table, by row id, best first."""

        def search() -> Any:
            near = self._table.search(vector, vector_column_name=VECTOR).distance_type("cosine")
            if part is not None and part.condition:
                return near.bypass_vector_index()  # few rows are left, of which the index may look at none
            near = nearest(near, self._embedded)
            return near.refine_factor(_REFINE) if self._embedded > EXACT_ROWS else near

        distances = self._first(search, "_distance", part)
        return {row: 1 - distance for row, distance in distances.items() if distance is not None}

    def _first(self, search: Callable[[], Any], measure: str, part: _Part | None) -> dict[int, float | None]:
        """What the search puts first, of the part alone: the measure by row id, best first."""
        columns, limit = [measure], CANDIDATES
        picked_out = part is not None and not part.condition
        if picked_out:
            columns.append("article")
        while True:
            query = search().select(columns).with_row_id(True).limit(limit)
            if part is not None and part.condition:
                query = query.where(part.condition, prefilter=True)
            found = query.to_arrow(timeout=_TEXT_TIMEOUT)
            rows = dict(zip(found["_rowid"].to_pylist(), found[measure].to_pylist(), strict=True))
            if part is None or not picked_out:
                return rows
            inside = [name in part.articles for name in found["article"].to_pylist()]
            kept = [row for row, is_inside in zip(rows, inside, strict=True) if is_inside][:CANDIDATES]
            if len(kept) == CANDIDATES or len(rows) < limit:
                return {row: rows[row] for row in kept}
            limit *= _WIDER


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
