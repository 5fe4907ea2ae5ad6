"""Whole pages of a text index: by title or redirect, with their sentences, and titles like a name."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

from rapidfuzz import fuzz

from atomr_local.errors import SourceError
from atomr_local.indexing.text_index.catalog import CatalogReader
from atomr_local.indexing.text_index.table import SEARCHED, is_in
from atomr_local.language.names import base_key, name_key, words
from atomr_local.language.sentences import sentences
from atomr_local.sources.errors import library_errors, source_errors
from atomr_local.sources.graph.linking import one_slip_away
from atomr_local.sources.protocol import Page, Sentence

_TIMEOUT = timedelta(seconds=30)
_LONGEST_NAME = 300
# Of a page; the longest of Wikipedia's have some five hundred.
_MOST_PASSAGES, _AT_ONCE = 1000, 200
_CANDIDATES, _PASSAGES, _WORDS = 40, 100, 32
_COLUMNS = ("id", "text", "start", "end")
_ARTICLES = ("the", "a", "an")
# How alike a title and a name are: the same but for a qualifier, one the beginning of the other, all words of the name
# in the title, all but for a slip, else by letters. Less alike than _LIKE: the name's words are in the text alone.
_SAME_BASE, _BEGINS, _HOLDS, _NEARLY_HOLDS = 0.95, 0.85, 0.8, 0.75
_MISSPELT = 85
_LIKE = 0.7

NO_CATALOG = "the text index has no list of its articles: it was built by an earlier version"


class TextPages:
    """The pages of the text index in `directory`. Thread-safe.

    Raises (all methods):
        SourceError: the index cannot be read, or has no catalogue.
    """

    def __init__(self, directory: Path, table: Any, catalog: CatalogReader | None) -> None:
        self._directory = directory
        self._table = table
        self._catalog = catalog

    @property
    def missing(self) -> str:
        """Why no pages can be opened; empty if they can."""
        return "" if self._catalog is not None else NO_CATALOG

    def close(self) -> None:
        self._table = None

    def page(self, title: str, only: Collection[str] | None = None) -> Page | None:
        """See :class:`Pages`; of the articles with these ids, where `only` is given."""
        name = _plain(title)
        if not name:
            return None
        with read_errors(self._directory):
            known = self._listed().titled(name, only)
            if known is None:
                return None
            rows = rows_with_ids(self._table, known.passage_ids()[:_MOST_PASSAGES], _COLUMNS)
        return Page(known.title, tuple(_sentences(rows)), known.qid or "")

    def similar_titles(self, name: str, number: int, only: Collection[str] | None = None) -> tuple[str, ...]:
        """See :class:`Pages`; of the articles with these ids, where `only` is given."""
        wanted = _plain(name)
        key = name_key(wanted)
        if not key or number < 1:
            return ()
        with read_errors(self._directory):
            own = self._listed().titled(wanted)
            # By title: how alike its best name is, and how long the article is.
            found: dict[str, tuple[float, int]] = {}
            for other, title, passages in self._near_names(wanted):
                likeness = max(_likeness(key, other), _likeness(key, name_key(title)))
                found[title] = max(found.get(title, (0.0, 0)), (likeness, passages))
            holding = self._titles_holding(wanted)
            if len(holding) < number:
                holding += self._titles_holding(wanted, every=False)
            for title in [*holding, *self._titles_holding(wanted, slips=1)]:
                found.setdefault(title, (_likeness(key, name_key(title)), 0))
        if own is not None:
            found.pop(own.title, None)
        alike = [title for title, (likeness, _) in found.items() if likeness >= _LIKE]
        alike.sort(key=lambda title: (-found[title][0], -found[title][1], title))
        titles = dict.fromkeys([*alike, *(title for title in holding if title in found)])
        if only is not None:
            with read_errors(self._directory):
                titles = dict.fromkeys(title for title in titles if self._listed().titled(title, only) is not None)
        return tuple(titles)[:number]

    def _listed(self) -> CatalogReader:
        if self._catalog is None:
            raise SourceError(f"pages cannot be opened: {NO_CATALOG}", hint="Build the index again.")
        return self._catalog

    def _near_names(self, name: str) -> Iterator[tuple[str, str, int]]:
        """Names in the catalogue that are the same but for a qualifier, an article, an ending or a slip of the pen."""
        catalog, key, base = self._listed(), name_key(name), base_key(name)
        same = [base, *(f"{article} {base}" for article in _ARTICLES)]
        yield from catalog.with_keys(same, _CANDIDATES)
        for beginning in dict.fromkeys((key, *same)):
            yield from catalog.beginning(beginning, _CANDIDATES)
        slips = one_slip_away(base)
        for article in ("", *(f"{article} " for article in _ARTICLES)):
            yield from catalog.with_keys([article + slip for slip in slips], _CANDIDATES)

    def _titles_holding(self, name: str, *, every: bool = True, slips: int = 0) -> list[str]:
        """Titles of the passages that hold every word of the name, or else most of them, best first.

        Args:
            slips: letters by which a word may differ.
        """
        from lancedb.query import FullTextOperator, MatchQuery

        operator = FullTextOperator.AND if every else FullTextOperator.OR
        terms = " ".join(words(name)[:_WORDS])
        query = MatchQuery(terms, SEARCHED, operator=operator, fuzziness=slips, prefix_length=1 if slips else 0)
        search = self._table.search(query, query_type="fts").select(["title", "_score"]).limit(_PASSAGES)
        return list(dict.fromkeys(search.to_arrow(timeout=_TIMEOUT)["title"].to_pylist()))


def rows_with_ids(table: Any, ids: Sequence[str], columns: Sequence[str]) -> list[dict[str, Any]]:
    """The rows of the passages with these ids, in their order; `columns`: what is read, "id" among it."""
    found: dict[str, dict[str, Any]] = {}
    for at in range(0, len(ids), _AT_ONCE):
        search = table.search().where(is_in("id", ids[at : at + _AT_ONCE])).select(list(columns)).limit(_AT_ONCE)
        found.update((row["id"], row) for row in search.to_arrow(timeout=_TIMEOUT).to_pylist())
    return [found[one] for one in ids if one in found]


@contextmanager
def read_errors(directory: Path) -> Iterator[None]:
    """Turns what the catalogue and LanceDB raise into errors of the source; `directory`: of the index."""
    with source_errors(), library_errors("the text index cannot be read", "text", directory):
        yield


def _plain(name: str) -> str:
    """The name as it can be looked up: without half surrogate pairs, on one line, not too long."""
    return " ".join(name[:_LONGEST_NAME].encode("utf-8", "replace").decode("utf-8").split())


def _sentences(rows: Sequence[dict[str, Any]]) -> Iterator[Sentence]:
    """The sentences of the passages, in order; a sentence that two passages share comes in two pieces."""
    for row in rows:
        text = row["text"]
        for begin, end in sentences(text):
            piece = text[begin:end]
            blank = len(piece) - len(piece.lstrip())
            if stripped := piece.strip():
                start = row["start"] + begin + blank
                yield Sentence(stripped, row["id"], start, start + len(stripped))


def _likeness(key: str, other: str) -> float:
    """How alike the keys of a name and of a title are, 0 to 1."""
    if base_key(key) == base_key(other):
        return _SAME_BASE
    ratio = max(fuzz.ratio(key, other), fuzz.token_sort_ratio(key, other)) / 100
    mine, theirs = set(key.split()), set(other.split())
    if f"{other} ".startswith(f"{key} ") or f"{key} ".startswith(f"{other} "):
        return max(ratio, _BEGINS)
    if mine <= theirs:
        return max(ratio, _HOLDS)
    if all(any(fuzz.ratio(word, other) >= _MISSPELT for other in theirs) for word in mine):
        return max(ratio, _NEARLY_HOLDS)
    return ratio
