"""The shards of a text build: numbered files of passages on their way into the table.

A shard is written whole before the ledger counts it. What a killed run left beyond that count is written again, and the
table is put together from the shards alone, in their order. So a build that is killed anywhere gives the same index.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from atomr_local.indexing.builds.publishing import SHARD
from atomr_local.indexing.text_index.table import SEARCHED, VECTOR, passage_schema, writing

if TYPE_CHECKING:
    import pyarrow as pa

    from atomr_local.indexing.embedding.embedder import Embedder

_REPLACED = b"replaced"  # in the metadata of a shard's schema


@dataclass(frozen=True, slots=True)
class Shard:
    """A stretch of the input, cut into passages.

    Attributes:
        rows: of the table; those without a vector may get one when the shard is written.
        replaced: ids of passages that go: of the index that is added to, and of shards before this one.
    """

    rows: list[dict[str, Any]]
    replaced: list[str] = field(default_factory=list)


def write_shard(shard: Shard, file: Path, dimensions: int, embedder: Embedder | None) -> None:
    """Write the shard into `file`, over what is there. What is written depends on nothing but the arguments.

    Args:
        dimensions: of a vector.
        embedder: gives a vector to the rows that have none; None leaves them without.

    Raises:
        KnowledgeIndexError: it cannot be written.
    """
    import pyarrow as pa

    if embedder is not None:
        new = [row for row in shard.rows if row.get(VECTOR) is None]
        for row, vector in zip(new, encode_all(embedder, [row[SEARCHED] for row in new]), strict=True):
            row[VECTOR] = vector
    schema = passage_schema(dimensions).with_metadata({_REPLACED: json.dumps(shard.replaced).encode()})
    with writing(file.parent):
        rows = pa.Table.from_pylist(shard.rows, schema=schema)
        # Texts, which stand there twice, and vectors that are missing.
        packed = pa.ipc.IpcWriteOptions(compression="lz4")
        with pa.OSFile(str(file), "wb") as sink, pa.ipc.new_file(sink, schema, options=packed) as writer:
            writer.write_table(rows)


def encode_all(embedder: Embedder, texts: Sequence[str]) -> list[Any]:
    """The vector of each text, in the order of the texts."""
    # Texts of like length beside each other are padded less.
    order = sorted(range(len(texts)), key=lambda i: len(texts[i]))
    vectors: list[Any] = [None] * len(texts)
    if not texts:
        return vectors
    for i, vector in zip(order, embedder.encode([texts[i] for i in order]), strict=True):
        vectors[i] = vector
    return vectors


class Shards:
    """The shards of one build.

    Raises (all methods):
        KnowledgeIndexError: a shard is missing or damaged.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def file(self, number: int) -> Path:
        """Where the shard of this number is or comes to be."""
        return self._directory / f"{SHARD}{number}.arrow"

    def missing(self, count: int) -> list[Path]:
        """The files of the first `count` shards that are not there."""
        return [file for file in map(self.file, range(count)) if not file.is_file()]

    def check(self, count: int) -> None:
        """Read the first `count` shards through."""
        for _ in self._batches(range(count)):
            pass

    def runs(self, count: int) -> Iterator[tuple[list[str], Iterator[pa.RecordBatch]]]:
        """What a table is put together from: by turns ids of passages to delete, and rows to append behind the rest."""
        replaced, number = self._replaced(0) if count else [], 0
        while number < count:
            first, then = number, list[str]()
            while (number := number + 1) < count and not (then := self._replaced(number)):
                pass
            yield replaced, self._batches(range(first, number))
            replaced = then

    def _replaced(self, number: int) -> list[str]:
        with writing(self._directory), self._opened(number) as reader:
            found: list[str] = json.loads(reader.schema.metadata[_REPLACED])
        return found

    def _batches(self, numbers: Sequence[int]) -> Iterator[pa.RecordBatch]:
        for number in numbers:
            with writing(self._directory), self._opened(number) as reader:
                batches = [reader.get_batch(at) for at in range(reader.num_record_batches)]
            yield from (batch.replace_schema_metadata(None) for batch in batches)

    def _opened(self, number: int) -> pa.RecordBatchFileReader:
        import pyarrow as pa

        return pa.ipc.open_file(pa.OSFile(str(self.file(number))))
