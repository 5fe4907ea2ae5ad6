"""Gives the passages of a text index that was built words first their vectors.

Vectors are committed beside the index batch by batch, so that a run that is killed anywhere goes on where it stood, and
searches use them at once. When none is missing, a table with all of them is put together, and the index is published
anew: readers see the one or the other.
"""

from __future__ import annotations

import contextlib
import fcntl
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from atomr_local.errors import KnowledgeIndexError
from atomr_local.indexing import store
from atomr_local.indexing.builds import publishing
from atomr_local.indexing.builds.ledger import changing
from atomr_local.indexing.builds.space import require_space, write_error
from atomr_local.indexing.text_index.build import BATCH, TextBuildProgress
from atomr_local.indexing.text_index.catalog import CATALOG
from atomr_local.indexing.text_index.index import changeable
from atomr_local.indexing.text_index.shards import encode_all
from atomr_local.indexing.text_index.table import SEARCHED, TABLE, VECTOR, PassageTable, connect, writing
from atomr_local.indexing.text_index.vectors import VectorCache, discard_damaged, noted, vector_state
from atomr_local.indexing.text_index.verify import check_before_publishing
from atomr_local.system.cancellation import Cancellation

if TYPE_CHECKING:
    from atomr_local.indexing.embedding.embedder import Embedder

LOCK = "embedding.lock"
_ROWS = 4096  # of the table, read and written together
_BESIDE = 48  # bytes of a row beside its vector
_ATTEMPTS = 5  # at an index that others keep changing
Progress = Callable[[TextBuildProgress], None]


@dataclass(frozen=True, slots=True)
class Filled:
    """What a run did.

    Attributes:
        manifest: of the index as it is now.
        embedded: passages that this run gave a vector.
        missing: passages without one.
    """

    manifest: store.Manifest
    embedded: int
    missing: int


def embed_text_index(
    name: str,
    *,
    embedder: Embedder,
    limit: int | None = None,
    batch: int | None = None,
    progress: Progress | None = None,
    tell: Callable[[str], None] | None = None,
    cancellation: Cancellation | None = None,
) -> Filled:
    """Make the vectors that the text index `name` lacks, from where the last run stopped. It can be searched meanwhile.

    Args:
        limit: make so many at most.
        batch: texts embedded and committed together; between batches it can be cancelled.

    Raises:
        KnowledgeIndexError: there is no such index, it was built with another embedder or by an earlier version,
            another process embeds or changes it, or it cannot be written.
        Cancelled: `cancellation` was thrown; what was made is kept.
    """
    store.check_name(name)
    cancellation = cancellation or Cancellation()
    tell = tell or (lambda _: None)
    made = 0
    try:
        for _ in range(_ATTEMPTS):
            directory, manifest = changeable(name, embedder, follows_folder=None)
            if vector_state(manifest).completeness == "all":
                publishing.clear_leftovers("text", name)
                return Filled(manifest, made, 0)
            with _alone(directory, name):
                if discard_damaged(directory):
                    tell("the vectors that were made before are damaged; they are made again")
                left = None if limit is None else limit - made
                run = _Run(
                    directory, manifest, embedder, left, batch or BATCH, progress or (lambda _: None), cancellation
                )
                missing = run.fill()
                made += run.made
                if missing:
                    return Filled(manifest, made, missing)
                if missing is not None and (done := _put_together(name, manifest, run)) is not None:
                    return Filled(done, made, 0)
            tell("the index was changed meanwhile; its new passages follow")
    except OSError as error:
        raise write_error(f"the text index {name!r}", error, resumable=True) from error
    raise KnowledgeIndexError(
        f"the text index {name!r} is changed again and again while it is embedded",
        hint="Run the command again when nothing else changes it. The vectors made so far are kept.",
    )


@dataclass
class _Run:
    """One walk through the table."""

    directory: Path
    manifest: store.Manifest
    embedder: Embedder
    limit: int | None
    size: int
    progress: Progress
    cancellation: Cancellation
    made: int = 0
    _left: int = 0

    def fill(self) -> int | None:
        """Make what is missing; how many the limit left out, or None if the index was replaced meanwhile."""
        state = vector_state(self.manifest, self.directory)
        stamp = _stamp(self.directory)
        missing, seen = 0, state.embedded
        self._left = max(0, state.passages - state.embedded - state.waiting)
        with closing(VectorCache(self.directory, self.embedder.identity, self.embedder.dimensions, keep=0)) as cache:
            for texts in self._without_vector(all_rows=not state.embedded):
                for at in range(0, len(texts), self.size):
                    self.cancellation.check()
                    if _stamp(self.directory) != stamp:
                        return None
                    batch = texts[at : at + self.size]
                    missing += self._batch(cache, batch)
                    seen += len(batch)
                    self.progress(TextBuildProgress("embedding", seen - missing, seen - missing, state.passages))
        return missing

    def _batch(self, cache: VectorCache, texts: Sequence[str]) -> int:
        """Make the vectors of these texts that are not there yet; how many the limit left out."""
        known = cache.get(texts)
        wanted = list(dict.fromkeys(text for text, vector in zip(texts, known, strict=True) if vector is None))
        taken = wanted if self.limit is None else wanted[: max(0, self.limit - self.made)]
        if taken:
            rest = self._left if self.limit is None else min(self._left, self.limit)
            left = max(len(taken), rest - self.made)
            require_space(self.directory, left * (4 * self.embedder.dimensions + _BESIDE), "the vectors")
            if not cache.put(dict(zip(taken, encode_all(self.embedder, taken), strict=True))):
                raise OSError(cache.problem)
            self.made += len(taken)
        return len(wanted) - len(taken)

    def _without_vector(self, *, all_rows: bool) -> Iterator[list[str]]:
        with writing(self.directory):
            search = connect(self.directory).open_table(TABLE).search()
            search = search if all_rows else search.where(f"{VECTOR} IS NULL")
            for batch in search.select([SEARCHED]).to_batches(_ROWS):
                yield batch.column(SEARCHED).to_pylist()


def _put_together(name: str, manifest: store.Manifest, run: _Run) -> store.Manifest | None:
    """Publish the index with all vectors in its table; None if it was replaced meanwhile."""
    directory, embedder = run.directory, run.embedder
    stamp = _stamp(directory)
    passages = manifest.counts["passages"]
    require_space(directory, store.directory_size(directory) * 2, "the index with its vectors")
    with changing("text", name) as scratch:
        if _stamp(directory) != stamp or store.read_manifest(directory) != manifest:
            return None
        table = PassageTable(scratch, embedder.dimensions)
        table.append(_with_all_vectors(run, table.schema, passages))
        shutil.copy2(directory / CATALOG, scratch / CATALOG)
        run.progress(TextBuildProgress("indexing", passages, passages, passages))
        trained = table.index(0)
        table.forget()
        table.check_indexed()
        outcome = {"vector_index": "ivf_sq" if trained else "exact", "trained_rows": trained}
        outcome["backend"] = getattr(embedder, "backend", "")
        settings = noted(manifest.settings | outcome, passages, passages)
        new = replace(manifest, name=name, settings=settings)
        check_before_publishing(scratch, new, run.cancellation, scan=True)
        return store.read_manifest(publishing.publish(scratch, new))


def _with_all_vectors(run: _Run, schema: Any, passages: int) -> Iterator[Any]:
    """The rows of the table, in which each gets its vector."""
    embedder = run.embedder
    done = 0
    with closing(VectorCache(run.directory, embedder.identity, embedder.dimensions, keep=0)) as cache:
        rows = connect(run.directory).open_table(TABLE)
        for batch in rows.search().select(schema.names).to_batches(_ROWS):
            run.cancellation.check()
            yield _with_vectors(batch, cache, embedder, schema)
            done += batch.num_rows
            run.progress(TextBuildProgress("putting together", done, done, passages))


def _with_vectors(batch: Any, cache: VectorCache, embedder: Embedder, schema: Any) -> Any:
    """The rows of the batch, each with its vector."""
    import numpy as np
    import pyarrow as pa

    column = batch.column(VECTOR)
    empty = np.flatnonzero(column.is_null().to_numpy(zero_copy_only=False))
    vectors = np.zeros((batch.num_rows, embedder.dimensions), dtype=np.float32)
    there = column.drop_null()
    has = np.setdiff1d(np.arange(batch.num_rows), empty)
    vectors[has] = there.flatten().to_numpy(zero_copy_only=False).reshape(len(there), embedder.dimensions)
    searched = batch.column(SEARCHED).to_pylist()
    texts = [searched[i] for i in empty]
    found = cache.get(texts)
    again = [i for i, vector in enumerate(found) if vector is None]  # a damaged row, or one of another process
    for i, vector in zip(again, encode_all(embedder, [texts[i] for i in again]), strict=True):
        found[i] = vector
    for row, vector in zip(empty, found, strict=True):
        vectors[row] = vector
    made = pa.FixedSizeListArray.from_arrays(pa.array(vectors.reshape(-1)), embedder.dimensions)
    columns = [made if field.name == VECTOR else batch.column(field.name) for field in schema]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


@contextlib.contextmanager
def _alone(directory: Path, name: str) -> Iterator[None]:
    """Let no other process embed the same index."""
    with (directory / LOCK).open("a") as stream:
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise KnowledgeIndexError(
                f"another process embeds the text index {name!r}", hint="Wait until it is done, or stop it."
            ) from error
        yield


def _stamp(directory: Path) -> tuple[int, ...]:
    """What tells this index from one that takes its place."""
    try:
        found = (directory / store.MANIFEST).stat()
    except OSError:
        return ()
    return found.st_dev, found.st_ino, found.st_mtime_ns
