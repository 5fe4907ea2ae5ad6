"""The pages of a text index, passage by passage."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from atomr_local.errors import KnowledgeIndexError
from atomr_local.indexing.opening import require_unchanged
from atomr_local.indexing.text_index.catalog import CATALOG, CatalogReader, Known, kind_of
from atomr_local.indexing.text_index.table import TABLE, connect, is_in
from atomr_local.sources.errors import library_errors

MOST_PASSAGES = 200  # of one page, and at once
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
        self.catalog = CatalogReader(directory)
        self._errors = partial(
            library_errors, "the text index cannot be read", "text", directory, raised=KnowledgeIndexError
        )
        with self._errors():
            self._table: Any = connect(directory).open_table(TABLE)
            self._columns = [*_COLUMNS, *(name for name in _MORE_COLUMNS if name in self._table.schema.names)]

    def close(self) -> None:
        self.catalog.close()
        self._table = None

    def pages(self) -> Iterator[tuple[str, str, list[PagePassage]]]:
        """Every page in the order of reading: its id, title and passages, of a long page the first 200."""
        for known in self.listed():
            yield known.id, known.title, self.of(known)

    def of(self, known: Known) -> list[PagePassage]:
        """The passages of a page, of a long one the first 200."""
        ids = known.passage_ids()[:MOST_PASSAGES]
        found = self.with_ids(ids)
        return [found[one] for one in ids if one in found]

    def listed(self) -> Iterable[Known]:
        """The pages that have passages, in the order of reading."""
        return (known for known in self.catalog.articles() if known.passages)

    def with_ids(self, ids: Sequence[str]) -> dict[str, PagePassage]:
        """The passages with these ids, at most 200, that there are."""
        with self._errors():
            search = self._table.search().where(is_in("id", ids)).select(self._columns).limit(len(ids))
            return {row["id"]: _passage(row) for row in search.to_arrow().to_pylist()}


def _passage(row: dict[str, Any]) -> PagePassage:
    more = (str(row.get(name) or "") for name in _MORE_COLUMNS)
    return PagePassage(row["id"], str(row["title"]), str(row["text"]), str(row["qid"] or ""), *more)
