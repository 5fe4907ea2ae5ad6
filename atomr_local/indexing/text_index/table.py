"""The LanceDB table of a text index."""

from __future__ import annotations

import contextlib
import ctypes
import os
import shutil
import sys
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from atomr_local.errors import KnowledgeIndexError
from atomr_local.indexing.builds import publishing
from atomr_local.indexing.builds.space import CHECK_DISK, something_done, write_error
from atomr_local.indexing.foreign_errors import panics_as_errors
from atomr_local.system.offline_imports import import_without_sockets

if TYPE_CHECKING:
    import pyarrow as pa

TABLE = "passages"
VECTOR = "vector"
SEARCHED = "searched"  # title, section and text together, under the full-text index
# Exact search is quick enough up to here; beyond, IVF_SQ keeps recall@10 above 0.99 where IVF_PQ does not.
EXACT_ROWS = 100_000
NPROBES = 20
REFINE = 5
_TEXTS = ("id", "article", "title", "section", "text", "qid", "metadata", SEARCHED)
# The centroids of IVF are learned from the rows that there are; beyond this growth they are learned again.
_RETRAIN_GROWTH = 2.0
_QUOTED = 500
# Lance's own are those of a server: 2 GB read ahead, 128 MB sorted before it goes to the disk (bytes both), batches of
# 8192 rows; and gigabytes for each worker of the full-text index.
_BOUNDS = {
    "LANCE_DEFAULT_IO_BUFFER_SIZE": 32 << 20,
    "LANCE_SHUFFLE_BATCH_BYTES": 32 << 20,
    "LANCE_DEFAULT_BATCH_SIZE": 1024,
}
_ARENAS = 2
_M_ARENA_MAX = -8  # of malloc.h
_FULL_TEXT_MB = 256


def connect(directory: Path) -> Any:
    """The LanceDB connection to `directory`, with the library's own messages kept off the terminal."""
    os.environ.setdefault("LANCEDB_LOG", "error")
    os.environ.setdefault("RUST_BACKTRACE", "0")  # a panic is told in our words
    import_without_sockets()
    import lancedb

    return lancedb.connect(str(directory))


@contextmanager
def writing(directory: Path) -> Iterator[None]:
    """Around writes in a build: LanceDB and Arrow raise plain RuntimeError and ValueError for a full disk."""
    try:
        with panics_as_errors():
            yield
    except (OSError, RuntimeError, ValueError) as error:
        raise write_error("the text index", error, resumable=something_done(directory)) from error


def nearest(search: Any, rows: int) -> Any:
    """A vector or hybrid query with the parameters for a table of so many rows."""
    return search.bypass_vector_index() if rows <= EXACT_ROWS else search.minimum_nprobes(NPROBES).refine_factor(REFINE)


def is_in(column: str, texts: Iterable[str]) -> str:
    """The SQL condition that the column has one of these texts."""
    quoted = ", ".join("'" + text.replace("'", "''") + "'" for text in texts)
    return f"{column} IN ({quoted})"


def passage_schema(dimensions: int) -> pa.Schema:
    """The columns of the table, with vectors of so many dimensions."""
    import pyarrow as pa

    return pa.schema(
        [
            *(pa.field(name, pa.string()) for name in _TEXTS),
            pa.field("start", pa.int64()),
            pa.field("end", pa.int64()),
            pa.field(VECTOR, pa.list_(pa.float32(), dimensions)),
        ]
    )


def share_table(directory: Path, scratch: Path) -> None:
    """The table of one directory in another too. LanceDB never writes into a file that is there, so that the files can
    be shared.

    Raises:
        OSError: the table cannot be read, or there is one already.
    """
    name = f"{TABLE}.lance"
    shutil.copytree(directory / name, scratch / name, copy_function=publishing.share)


class PassageTable:
    """The table in a build's directory, made when it is not there. Not thread-safe.

    Raises (all methods):
        KnowledgeIndexError: the table cannot be written or read.
    """

    def __init__(self, directory: Path, dimensions: int) -> None:
        self.path = directory / f"{TABLE}.lance"
        self.schema = passage_schema(dimensions)
        _bound_memory()
        with writing(self.path.parent):
            connection = connect(directory)
            there = self.path.exists()
            self._table = connection.open_table(TABLE) if there else connection.create_table(TABLE, schema=self.schema)

    @property
    def rows(self) -> int:
        return int(self._table.count_rows())

    @property
    def embedded(self) -> int:
        """Rows with a vector."""
        with writing(self.path.parent):
            return int(self._table.count_rows(f"{VECTOR} IS NOT NULL"))

    def append(self, batches: Iterable[pa.RecordBatch]) -> None:
        """Add rows, one batch after the other; a row without a vector is found by its words.

        Raises:
            BaseException: what the iterable raises; nothing is then added.
        """
        import pyarrow as pa

        raised: list[BaseException] = []

        def watched() -> Iterator[pa.RecordBatch]:
            try:
                yield from batches
            except BaseException as error:  # the library would make another of it
                raised.append(error)
                raise

        try:
            with writing(self.path.parent):
                self._table.add(pa.RecordBatchReader.from_batches(self.schema, watched()))
        except KnowledgeIndexError:
            if raised:
                raise raised[0] from None
            raise

    def delete(self, passages: Sequence[str]) -> None:
        """Delete the passages with these ids."""
        with writing(self.path.parent):
            for i in range(0, len(passages), _QUOTED):
                self._table.delete(is_in("id", passages[i : i + _QUOTED]))

    def vectors(self, articles: Sequence[str], most: int) -> dict[str, Any]:
        """The vectors of the articles' passages, by what was embedded; of `most` passages at most."""
        found: dict[str, Any] = {}
        with writing(self.path.parent):
            for i in range(0, len(articles), _QUOTED):
                wanted = is_in("article", articles[i : i + _QUOTED])
                search = self._table.search().where(wanted).select([SEARCHED, VECTOR])
                for row in search.limit(max(1, most - len(found))).to_list():
                    if row[VECTOR] is not None:
                        found[row[SEARCHED]] = row[VECTOR]
        return found

    def rewrite(self) -> None:
        """Write every row anew, so that nothing of deleted rows is left once :meth:`forget` has run.

        LanceDB only notes what is deleted; its compaction leaves files alone of which little is.
        """
        with writing(self.path.parent):
            self._table.update(where="id IS NOT NULL", values_sql={"id": "id"})

    def forget(self) -> None:
        """Put small files together, and remove all versions but the present one and what killed writers left."""
        # It warns of other readers; a table being built has none.
        with writing(self.path.parent), warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            self._table.optimize(cleanup_older_than=timedelta(0), delete_unverified=True)

    def index(self, trained: int) -> int:
        """Make the indexes that are missing and take all rows into those that are there.

        Args:
            trained: rows that the vector index was trained on, 0 if there is none.

        Returns:
            `trained` as it is now.
        """
        from lancedb.index import FTS, BTree, IvfSq

        with writing(self.path.parent):
            rows = self.rows
            there = {tuple(index.columns) for index in self._table.list_indices()}
            # Built after loading: an index on an empty table covers nothing until it is optimised.
            if (SEARCHED,) not in there:
                self._table.create_index(SEARCHED, config=FTS(memory_limit=_FULL_TEXT_MB))
            if ("id",) not in there:
                self._table.create_index("id", config=BTree())
            embedded = self.embedded if rows > EXACT_ROWS else 0
            if embedded > EXACT_ROWS and ((VECTOR,) not in there or embedded > trained * _RETRAIN_GROWTH):
                self._table.create_index(VECTOR, config=IvfSq(distance_type="cosine"))
                trained = embedded
        return trained

    def index_anew(self) -> int:
        """Rebuild all indexes.

        Returns:
            Rows that the vector index was trained on, 0 if there is none.
        """
        with writing(self.path.parent):
            for index in self._table.list_indices():
                self._table.drop_index(index.name)
        trained = self.index(0)
        self.forget()
        self.check_indexed()
        return trained

    def check_indexed(self) -> None:
        """Make sure that no row is missing in an index."""
        if left := unindexed(self._table):
            raise KnowledgeIndexError(
                f"rows are missing in the indexes {', '.join(left)}",
                hint=f"{CHECK_DISK}, then run the same command again: it makes them again.",
            )


def _bound_memory() -> None:
    """Make compaction and index building take less memory, as far as that is ours to say; what the user set stays."""
    for name, size in _BOUNDS.items():
        os.environ.setdefault(name, str(size))
    if sys.platform == "linux" and "MALLOC_ARENA_MAX" not in os.environ:
        # glibc gives each thread a heap of its own, and what Lance's threads free stays in theirs: twice the memory.
        with contextlib.suppress(AttributeError, OSError):  # another C library
            ctypes.CDLL(None).mallopt(_M_ARENA_MAX, _ARENAS)


def unindexed(table: Any) -> list[str]:
    """Names of the table's indexes that do not cover all rows."""
    return [
        index.name
        for index in table.list_indices()
        if (stats := table.index_stats(index.name)) is not None and stats.num_unindexed_rows
    ]
