"""The pages of a text index: their opening passages in an order that a seed decides, and their whole text."""

from __future__ import annotations

import hashlib
import heapq
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from atomr_local.errors import KnowledgeIndexError
from atomr_local.indexing.builds.ledger import damage_hint
from atomr_local.indexing.foreign_errors import library_line, panics_as_errors
from atomr_local.indexing.opening import require_unchanged
from atomr_local.indexing.text_index.catalog import CATALOG, CatalogReader, Known, kind_of
from atomr_local.indexing.text_index.table import TABLE, connect
from atomr_local.language.names import name_key, split_qualifier

_AT_ONCE = 200
_MOST_PASSAGES = 200  # of one page
_NAMESAKES = 50
_COLUMNS = ("id", "title", "text", "qid")
# Indexes of earlier versions have no sections.
_MORE_COLUMNS = ("section", "metadata")


@dataclass(frozen=True, slots=True)
class PagePassage:
    """A passage of a page, mostly its first. Untrusted.

    Attributes:
        section: the heading that it begins under; "" at the page's beginning.
        metadata: of the page, in JSON, and what kind of passage it is.
    """

    id: str
    title: str
    text: str
    qid: str = ""
    section: str = ""
    metadata: str = ""

    @property
    def kind(self) -> str:
        """ "" of prose, and of all passages of documents; else "table", "infobox" or "code"."""
        return str(kind_of(self.metadata).get("kind", ""))

    @property
    def about(self) -> str:
        """What an infobox is about, by the name of its template: "film"."""
        return str(kind_of(self.metadata).get("infobox", ""))


class Passages:
    """A text index, for reading. Not thread-safe.

    Raises (all methods):
        KnowledgeIndexError: the index cannot be read, or has no list of its pages.
    """

    def __init__(self, directory: Path) -> None:
        require_unchanged("text", directory)
        if not (directory / CATALOG).is_file():
            raise KnowledgeIndexError(
                f"{directory} has no list of its articles: it was built by an earlier version",
                hint="Build the index again.",
            )
        self._directory = directory
        self._catalog = CatalogReader(directory)
        with _errors(directory):
            self._table: Any = connect(directory).open_table(TABLE)
            self._columns = [*_COLUMNS, *(name for name in _MORE_COLUMNS if name in self._table.schema.names)]

    def close(self) -> None:
        self._catalog.close()
        self._table = None

    def openings(self, seed: int, most: int) -> Iterator[PagePassage]:
        """The opening passages of up to `most` pages; which ones, and in which order, the seed decides.

        Pages without prose are passed over.
        """
        ids = [known.passage_ids()[0] for known in heapq.nsmallest(most, self._listed(), key=_drawn(seed))]
        for at in range(0, len(ids), _AT_ONCE):
            rows = self._rows(ids[at : at + _AT_ONCE])
            for one in ids[at : at + _AT_ONCE]:
                if (row := rows.get(one)) is not None and not (opening := _opening(one, row)).kind:
                    yield opening

    def pages(self) -> Iterator[tuple[str, str, list[PagePassage]]]:
        """Every page in the order of reading: its id, title and passages, of a long page the first 200."""
        for known in self._listed():
            yield known.id, known.title, self._of(known)

    def text_of(self, title: str) -> str | None:
        """The whole text of the page with this title, or that a redirect of this name leads to; None without one."""
        known = self._catalog.titled(title)
        if known is None:
            return None
        return " ".join(passage.text for passage in self._of(known))

    def named(self, title: str) -> int:
        """How many pages have this title, capitals and punctuation aside."""
        return len(self._catalog.with_keys([name_key(title)], 10))

    def alike(self, name: str) -> list[str]:
        """Titles of the pages that a reader may take this name for: this title, and it with a qualifier behind."""
        key = name_key(name)
        titles = {title for _, title, _ in self._catalog.with_keys([key], _NAMESAKES)}
        if not split_qualifier(name)[1]:
            others = (title for _, title, _ in self._catalog.beginning(key, _NAMESAKES))
            titles.update(title for title in others if name_key(split_qualifier(title)[0]) == key)
        return sorted(titles)

    def passage(self, identifier: str) -> PagePassage | None:
        """The passage with this id."""
        row = self._rows([identifier]).get(identifier)
        return _opening(identifier, row) if row else None

    def _of(self, known: Known) -> list[PagePassage]:
        ids = known.passage_ids()[:_MOST_PASSAGES]
        rows: dict[str, Any] = {}
        for at in range(0, len(ids), _AT_ONCE):
            rows |= self._rows(ids[at : at + _AT_ONCE])
        return [_opening(one, rows[one]) for one in ids if one in rows]

    def _listed(self) -> Iterable[Known]:
        return (known for known in self._catalog.articles() if known.passages)

    def _rows(self, ids: Sequence[str]) -> dict[str, Any]:
        quoted = ", ".join("'" + one.replace("'", "''") + "'" for one in ids)
        with _errors(self._directory):
            search = self._table.search().where(f"id IN ({quoted})").select(self._columns).limit(len(ids))
            return {row["id"]: row for row in search.to_arrow().to_pylist()}


def _opening(identifier: str, row: dict[str, Any]) -> PagePassage:
    more = (str(row.get(name) or "") for name in _MORE_COLUMNS)
    return PagePassage(identifier, str(row["title"]), str(row["text"]), str(row["qid"] or ""), *more)


def _drawn(seed: int) -> Callable[[Known], tuple[bytes, str]]:
    def key(known: Known) -> tuple[bytes, str]:
        return hashlib.blake2b(f"{seed}:{known.id}".encode("utf-8", "replace"), digest_size=8).digest(), known.id

    return key


@contextmanager
def _errors(directory: Path) -> Iterator[None]:
    """Turns what LanceDB raises into an error about the index."""
    try:
        with panics_as_errors():
            yield
    except Exception as error:  # LanceDB raises plain RuntimeError and ValueError for damage
        raise KnowledgeIndexError(
            f"the text index cannot be read: {library_line(error, directory)}", hint=damage_hint("text", directory)
        ) from error
