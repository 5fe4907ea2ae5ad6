"""Text indexes: passages with vectors and a full-text index, in LanceDB."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import timedelta
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from atomr_local.cancellation import Cancellation
from atomr_local.errors import InputError, KnowledgeIndexError
from atomr_local.indexing import store
from atomr_local.indexing.chunking import passages
from atomr_local.indexing.readers.corpus import Article, read_corpus
from atomr_local.indexing.readers.lines import LineReader, Skipped

if TYPE_CHECKING:
    from atomr_local.indexing.embedding import Embedder

TABLE = "passages"
VECTOR = "vector"
SEARCHED = "searched"  # title and text together, under the full-text index
PASSAGE_WORDS = 120
# Exact search is quick enough up to here; beyond, IVF_SQ keeps recall@10 above 0.99 where IVF_PQ does not.
EXACT_ROWS = 100_000
_BATCH = 512


@dataclass(frozen=True, slots=True)
class TextBuildProgress:
    """How far a build is: bytes of input read (as they lie on disk) of the total, and passages so far."""

    stage: str
    passages: int
    done: int
    total: int


def build_text_index(
    inputs: Sequence[Path],
    name: str,
    *,
    embedder: Embedder,
    limit: int | None = None,
    progress: Callable[[TextBuildProgress], None] | None = None,
    cancellation: Cancellation | None = None,
) -> store.Manifest:
    """Build the text index `name` from corpora (JSON lines), plain, gzip or bzip2.

    Unusable lines are skipped; the manifest's settings say how many and show the first.

    Args:
        limit: take this many articles only.

    Raises:
        InputError: an input is missing, damaged or no corpus; nothing was changed.
        KnowledgeIndexError: the index cannot be written.
        Cancelled: `cancellation` was thrown; nothing was changed.
    """
    files = [Path(item) for item in inputs]
    if not files:
        raise InputError("no input file is given")
    store.check_name(name)
    try:
        with store.building("text", name) as scratch:
            build = _Build(scratch, files, embedder, limit, progress or _silent, cancellation or Cancellation())
            build.run()
            manifest = store.Manifest(
                kind="text",
                name=name,
                counts={"articles": build.articles, "passages": build.passages},
                inputs=[store.describe_input(file) for file in files],
                settings={
                    "embedder": embedder.identity,
                    "dimensions": embedder.dimensions,
                    "passage_words": PASSAGE_WORDS,
                    "vector_index": "ivf_sq" if build.passages > EXACT_ROWS else "exact",
                    "limit": limit,
                    "skipped": asdict(build.skipped),
                },
            )
            return store.read_manifest(store.publish(scratch, manifest))
    except OSError as error:
        raise KnowledgeIndexError(f"the text index {name!r} cannot be written: {error}") from error


def connect(directory: Path) -> Any:
    """The LanceDB connection to `directory`, with the library's own messages kept off the terminal."""
    os.environ.setdefault("LANCEDB_LOG", "error")
    import lancedb

    return lancedb.connect(str(directory))


@contextmanager
def _writing() -> Iterator[None]:
    """LanceDB and Arrow raise plain RuntimeError and ValueError, a full disk among them."""
    try:
        yield
    except (OSError, RuntimeError, ValueError) as error:
        raise KnowledgeIndexError(f"the text index cannot be written: {error}") from error


def _silent(_progress: TextBuildProgress) -> None:
    """No one watches the build."""


class _Build:
    def __init__(
        self,
        scratch: Path,
        files: Sequence[Path],
        embedder: Embedder,
        limit: int | None,
        progress: Callable[[TextBuildProgress], None],
        cancellation: Cancellation,
    ) -> None:
        self._scratch = scratch
        self._files = files
        self._embedder = embedder
        self._limit = limit
        self._progress = progress
        self._cancellation = cancellation
        self._total = sum(store.input_size(file) for file in files)
        self._done = 0
        self.articles = 0
        self.passages = 0
        self.skipped = Skipped()

    def run(self) -> None:
        import pyarrow as pa

        schema = pa.schema(
            [
                *(
                    pa.field(name, pa.string())
                    for name in ("id", "article", "title", "text", "qid", "metadata", SEARCHED)
                ),
                pa.field("start", pa.int64()),
                pa.field("end", pa.int64()),
                pa.field(VECTOR, pa.list_(pa.float32(), self._embedder.dimensions)),
            ]
        )
        with _writing():
            table = connect(self._scratch).create_table(TABLE, schema=schema)
        rows = self._rows()
        while batch := list(islice(rows, _BATCH)):
            self._cancellation.check()
            embedded = self._embedded(batch)
            with _writing():
                table.add(pa.Table.from_pylist(embedded, schema=schema))
            self.passages += len(batch)
            self._report("embedding")
        self._report("indexing")
        self._cancellation.check()
        with _writing():
            self._index(table)

    def _embedded(self, batch: list[dict[str, Any]]) -> list[dict[str, Any]]:
        # Texts of like length beside each other are padded less.
        order = sorted(range(len(batch)), key=lambda i: len(batch[i][SEARCHED]))
        vectors = self._embedder.encode([batch[i][SEARCHED] for i in order])
        for i, vector in zip(order, vectors, strict=True):
            batch[i][VECTOR] = vector
        return batch

    def _index(self, table: Any) -> None:
        from lancedb.index import FTS, BTree, IvfSq

        # Built after loading: an index on an empty table covers nothing until it is optimised.
        table.create_index(SEARCHED, config=FTS())
        table.create_index("id", config=BTree())
        if self.passages > EXACT_ROWS:
            table.create_index(VECTOR, config=IvfSq(distance_type="cosine"))
        with warnings.catch_warnings():  # it warns of other readers; a table being built has none
            warnings.simplefilter("ignore", UserWarning)
            table.optimize(cleanup_older_than=timedelta(0))
        left = [
            index.name
            for index in table.list_indices()
            if (stats := table.index_stats(index.name)) is not None and stats.num_unindexed_rows
        ]
        if left:
            raise KnowledgeIndexError(
                f"rows are missing in the indexes {', '.join(left)}", hint="Build the index again."
            )

    def _articles(self) -> Iterator[Article]:
        for file in self._files:
            lines = LineReader(file)
            before = self._done
            for article in read_corpus(lines, self.skipped):
                self._done = before + lines.position
                yield article
            self._done = before + store.input_size(file)

    def _rows(self) -> Iterator[dict[str, Any]]:
        chosen: Iterable[Article] = islice(self._articles(), self._limit) if self._limit else self._articles()
        for article in chosen:
            self.articles += 1
            metadata = json.dumps(article.metadata, ensure_ascii=True)
            for number, passage in enumerate(passages(article.text, PASSAGE_WORDS)):
                yield {
                    "id": f"{article.id}#{number}",
                    "article": article.id,
                    "title": article.title,
                    "text": passage.text,
                    "qid": article.qid,
                    "metadata": metadata,
                    SEARCHED: f"{article.title}: {passage.text}",
                    "start": passage.start,
                    "end": passage.end,
                }

    def _report(self, stage: str) -> None:
        self._progress(TextBuildProgress(stage, self.passages, min(self._done, self._total), self._total))
