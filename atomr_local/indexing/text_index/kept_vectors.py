"""Vectors made beside an index, kept when it is built anew: a passage with the same text has the same vector."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from atomr_local.indexing import store
from atomr_local.indexing.text_index.table import SEARCHED, TABLE, VECTOR, connect, writing
from atomr_local.indexing.text_index.vector_cache import VECTORS, VectorCache

if TYPE_CHECKING:
    from atomr_local.indexing.embedding.embedder import Embedder

_ROWS = 4096


@contextmanager
def made_before(name: str, embedder: Embedder) -> Iterator[VectorCache | None]:
    """The vectors beside the present text index `name`, while it is built anew; None if there are none."""
    directory = store.index_path("text", name)
    if not (directory / VECTORS).is_file():
        yield None
        return
    with closing(VectorCache(directory, embedder.identity, embedder.dimensions, keep=0)) as cache:
        yield cache


def take_over(known: VectorCache | None, scratch: Path, embedder: Embedder) -> None:
    """Put what `known` has of the passages without a vector beside the new index in `scratch`.

    Raises:
        KnowledgeIndexError: the table cannot be read.
        OSError: the vectors cannot be written.
    """
    if known is None:
        return
    with (
        closing(VectorCache(scratch, embedder.identity, embedder.dimensions, keep=0)) as new,
        writing(scratch),
    ):
        rows = connect(scratch).open_table(TABLE).search().where(f"{VECTOR} IS NULL")
        for batch in rows.select([SEARCHED]).to_batches(_ROWS):
            texts = batch.column(SEARCHED).to_pylist()
            found = dict(zip(texts, known.get(texts), strict=True))
            same = {text: vector for text, vector in found.items() if vector is not None}
            if same and not new.put(same):
                raise OSError(new.problem)
