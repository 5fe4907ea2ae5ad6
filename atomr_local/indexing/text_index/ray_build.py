"""Text builds on Ray: Ray's workers read, split and embed the articles.

One process decides, in the order of the input, as in :mod:`build`: what is new, what stands twice, what is wanted.
It hands the workers whole files to read (several at once, where there are several), then waves of passages: Ray Data
embeds them block by block, lance-ray writes a fragment for each block and commits the fragments of a wave together, in
their order. The ledger is that of the local engine, wave by wave, so that either engine continues with what the other
began. Every machine of a cluster must find the inputs, the embedder and the indexes at the same paths.

Ray is a program for clusters and opens sockets; it is started only when it is asked for. Where the variable RAY_ADDRESS
names no cluster, one is started on this machine, whose sockets are bound to its loopback address.
"""

from __future__ import annotations

import base64
import functools
import importlib
import itertools
import json
import logging
import os
import pickle
import re
import warnings
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from atomr_local import errors
from atomr_local.errors import AtomrError, KnowledgeIndexError, MissingPartError
from atomr_local.indexing.builds.space import write_error
from atomr_local.indexing.readers.base import Article, PageWork
from atomr_local.indexing.readers.lines import Skipped
from atomr_local.indexing.text_index import build
from atomr_local.indexing.text_index.build import (
    ArticleSelection,
    Read,
    TextBuild,
    cut_article,
    encode_all,
    read_articles,
)
from atomr_local.indexing.text_index.chunking import Tokens
from atomr_local.indexing.text_index.table import SEARCHED, VECTOR
from atomr_local.system.installation import add_extra
from atomr_local.system.offline_imports import import_without_sockets

if TYPE_CHECKING:
    from atomr_local.indexing.embedding.embedder import Embedder

_log = logging.getLogger(__name__)

# Of a wave, for each core: enough that the start of a wave costs little, few enough to lose when the build is killed.
_BLOCKS = 4
_WAVE = 100_000  # passages at most; they wait in memory
_PACKET = 1_000_000  # characters of text that a reading worker hands over together
_BLOCK_BYTES = 16 << 20
_AGAIN = "Run the same command again to resume; --engine local works too."
# What a worker raised, in the text of Ray's error: ours, see _handed_over, and others'.
_HANDED = re.compile(r"atomr<([\w=-]+)>")
_RAISED = re.compile(r"^\s*[\w.]*(?:Error|Exception): (.+)$", re.M)

# What a worker read: items, and what it could not use before each: (file, record, reason).
_Packet = list[tuple[Read | None, list[tuple[str, int, str]]]]


def require_ray() -> None:
    """Make sure that Ray can be used.

    Raises:
        MissingPartError: it is not installed.
    """
    _quiet()
    try:
        import_without_sockets()
        for name in ("lance", "lance_ray", "ray.data"):
            importlib.import_module(name)
    except ImportError as error:
        raise MissingPartError(
            f"--engine ray needs the packages ray and lance-ray: {error}",
            hint=f"Install them with: {add_extra('ray')}",
        ) from error


class RayTextBuild(TextBuild):
    """One run of a build on Ray; arguments as in :class:`TextBuild`.

    Raises (beside what :class:`TextBuild` raises):
        MissingPartError: Ray is not installed.
        KnowledgeIndexError: Ray cannot be started, or a worker failed.
    """

    _cores = 1
    _nodes = 0  # that were alive when last looked
    _files_read: Iterator[tuple[int, Iterator[_Packet]]] | None = None

    def run(self) -> None:
        with _cluster() as self._cores, _told():
            self._note_lost_nodes()
            super().run()

    def _at_once(self) -> int:
        return min(build.BATCH * _BLOCKS * self._cores, _WAVE) if self.vectors else super()._at_once()

    def _records(self, number: int, after: int) -> Iterator[Read]:
        last = len(self.files) - 1
        # A limit is reached in the middle of a file, as a rule; and one file is read by one process in any case.
        if self.selection.limit is not None or (self._files_read is None and number == last):
            yield from super()._records(number, after)
            return
        if self._files_read is None:
            self._files_read = self._read_side_by_side(number, after)
        found, packets = next(self._files_read)
        assert found == number
        for read, skipped in itertools.chain.from_iterable(packets):
            for file, record, reason in skipped:
                self.skipped.add(Path(file), record, reason)
            if read is not None:
                yield read

    def _read_side_by_side(self, first: int, after: int) -> Iterator[tuple[int, Iterator[_Packet]]]:
        """The files from `first` on, each with what it holds, as many at once as there are cores.

        What is read waits in Ray's object store, which puts it on the disk where memory ends.
        """
        import ray.data

        # Each worker has one core.
        selection = replace(self.selection, options=replace(self.selection.options, work=PageWork()))
        for begin in range(first, len(self.files), self._cores):
            numbers = range(begin, min(begin + self._cores, len(self.files)))
            items = [
                {"number": n, "path": str(self.files[n].absolute()), "shown": str(self.files[n])}
                | {"after": after if n == first else 0}
                for n in numbers
            ]
            self.cancellation.check()
            read = (
                ray.data.from_items(items, override_num_blocks=len(items))
                .map_batches(
                    _read_file,
                    batch_size=1,
                    fn_kwargs={"selection": selection, "tokens": self._tokens, "alone": len(self.files) == 1},
                )
                .materialize()
            )
            self._note_lost_nodes()
            yield from _by_file(read.to_arrow_refs())

    def _note_lost_nodes(self) -> None:
        """Log that nodes are gone. Ray does their tasks anew on the others."""
        import ray

        alive = sum(bool(node["Alive"]) for node in ray.nodes())
        if alive < self._nodes:
            _log.warning("Ray: %d of %d nodes are gone; the others do their work.", self._nodes - alive, self._nodes)
        self._nodes = alive

    def _embed(self, batch: list[dict[str, Any]]) -> None:
        """Done where the passages are written."""

    def _append(self, batch: list[dict[str, Any]]) -> None:
        if not self.vectors:
            super()._append(batch)
            return
        import lance_ray
        import pyarrow as pa
        import ray.data

        table = self._table
        schema = table.schema
        texts = pa.schema([field for field in schema if field.name != VECTOR])
        size = max(1, min(build.BATCH, -(-len(batch) // self._cores)))
        blocks = [pa.Table.from_pylist(batch[i : i + size], schema=texts) for i in range(0, len(batch), size)]
        before, rows = table.version, table.rows
        passages = ray.data.from_arrow(blocks).map_batches(
            _embedded,
            batch_size=None,
            batch_format="pyarrow",
            fn_kwargs={"embedder": pickle.dumps(self.embedder), "vector": schema.field(VECTOR)},
        )
        # A fragment for each block: the write is then done by the task that embeds.
        lance_ray.write_lance(passages, str(table.path.absolute()), mode="append", schema=schema, min_rows_per_file=1)
        self._note_lost_nodes()
        table.reload()
        if table.rows != rows + len(batch) or not _are_here(table.path):
            table.go_back(before)
            raise KnowledgeIndexError(
                f"what Ray's workers wrote into {table.path.parent} is not there",
                hint="All machines of the cluster must share the directory of the indexes (the variable ATOMR_HOME).",
            )


@contextmanager
def _cluster() -> Iterator[int]:
    """A cluster while this lasts; its number of cores. One that this process uses already stays."""
    require_ray()
    import ray
    import ray.data

    with ExitStack() as stack:
        if not ray.is_initialized():
            stack.enter_context(_unprinted())
            start_ray(os.environ.get("RAY_ADDRESS") or "local")
            stack.callback(ray.shutdown)
        context = ray.data.DataContext.get_current()
        context.execution_options.preserve_order = True
        context.enable_progress_bars = False
        context.target_max_block_size = _BLOCK_BYTES
        for name in ("ray", "ray.data"):
            logging.getLogger(name).setLevel(logging.CRITICAL + 1)  # what fails is told by its error
        yield max(1, int(ray.cluster_resources().get("CPU", 1)))


@contextmanager
def _unprinted() -> Iterator[None]:
    """Keep off the terminal what Ray's servers tell every program, such as the logs of a node that is gone."""
    from ray._private import worker

    printing = "print_to_stdstream"  # its name in the versions known
    before = getattr(worker, printing, None)
    if before is not None:
        setattr(worker, printing, lambda *_, **__: None)
    try:
        yield
    finally:
        if before is not None:
            setattr(worker, printing, before)


def start_ray(address: str, cores: int | None = None) -> None:
    """Start or find the cluster, a new one with so many cores."""
    import ray
    from ray._private import ray_constants

    # On Linux Ray listens on every interface, even for itself alone; told that no machine can join, as it is where
    # its clusters are not supported, on the loopback address only.
    joined = getattr(ray_constants, "ENABLE_RAY_CLUSTER", None)
    if address == "local":
        ray_constants.ENABLE_RAY_CLUSTER = False
    try:
        ray.init(
            address=address,
            num_cpus=cores,
            include_dashboard=False if address == "local" else None,
            log_to_driver=False,
            logging_level=logging.ERROR,
        )
    except Exception as error:  # of many kinds, from its own and from the operating system
        raise KnowledgeIndexError(
            f"Ray cannot be started: {_first_line(error)}",
            hint="Look at the variable RAY_ADDRESS, or build with --engine local.",
        ) from error
    finally:
        ray_constants.ENABLE_RAY_CLUSTER = joined


def _quiet() -> None:
    """What Ray reads when it is imported: it reports nothing to its makers, and writes nothing on the terminal."""
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    os.environ.setdefault("RAY_DATA_DISABLE_PROGRESS_BARS", "1")
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    warnings.filterwarnings("ignore", category=FutureWarning, module=r"ray\.")
    # Ray's processes are started from this one, and none of them continues with Lance as it is here.
    warnings.filterwarnings("ignore", message="lance is not fork-safe", category=UserWarning)


@contextmanager
def _told() -> Iterator[None]:
    """Errors of workers as what they are."""
    try:
        yield
    except AtomrError:
        raise
    except Exception as error:
        import ray

        if not isinstance(error, ray.exceptions.RayError):
            raise
        if found := _HANDED.search(str(error)):
            kind, message, hint = json.loads(base64.urlsafe_b64decode(found[1]))
            raise getattr(errors, kind)(message, hint=hint) from error
        # Lance's own, such as a full disk: the innermost comes first.
        lines = _RAISED.findall(str(error)) or [type(error).__name__]
        raise write_error("the text index", RuntimeError(lines[0]), resumable=True) from error


def _first_line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:300]


def _are_here(table: Path) -> bool:
    """Whether this machine has the files of the last fragments that were committed."""
    fragments = importlib.import_module("lance").dataset(str(table)).get_fragments()
    return all((table / "data" / file.path).is_file() for part in fragments for file in part.data_files())


def _by_file(blocks: Iterable[Any]) -> Iterator[tuple[int, Iterator[_Packet]]]:
    import ray

    def rows() -> Iterator[tuple[int, bytes]]:
        for block in blocks:
            table = ray.get(block)
            yield from zip(table["number"].to_pylist(), table["packet"].to_pylist(), strict=True)

    for number, group in itertools.groupby(rows(), key=lambda row: row[0]):
        yield number, (pickle.loads(packet) for _, packet in group)  # noqa: S301  # our own workers'


# In the workers.


@contextmanager
def _handed_over() -> Iterator[None]:
    """Ray keeps the text of what its workers raise and loses the rest, so the text says all."""
    try:
        yield
    except Exception as error:
        told = error
        if not isinstance(told, AtomrError):
            told = KnowledgeIndexError(f"a worker of Ray failed: {_first_line(error)}", hint=_AGAIN)
        kind = next(base.__name__ for base in type(told).__mro__ if base.__module__ == errors.__name__)
        text = json.dumps([kind, told.message, told.hint])
        raise RuntimeError(f"atomr<{base64.urlsafe_b64encode(text.encode()).decode()}>") from error


class _Noted(Skipped):
    """Keeps every record until it is handed over."""

    def __init__(self) -> None:
        super().__init__()
        self.new: list[tuple[str, int, str]] = []

    def add(self, path: Path, line: int, reason: str) -> None:
        self.new.append((str(path), line, reason))

    def take(self) -> list[tuple[str, int, str]]:
        new, self.new = self.new, []
        return new


def _read_file(
    batch: dict[str, Any], selection: ArticleSelection, tokens: Tokens | None, alone: bool
) -> Iterator[dict[str, Any]]:
    """What one file holds, cut into passages, packet by packet; the last may hold nothing but what was skipped."""
    with _handed_over():
        number = int(batch["number"][0])
        shown = str(batch["shown"][0])
        skipped = _Noted()
        packet: _Packet = []
        size = 0
        for read in _reads(Path(str(batch["path"][0])), selection, tokens, skipped, int(batch["after"][0]), alone):
            packet.append((read, [(shown, record, reason) for _, record, reason in skipped.take()]))
            size += len(read[0].text) if isinstance(read[0], Article) else 100
            if size >= _PACKET:
                yield {"number": [number], "packet": [pickle.dumps(packet)]}
                packet, size = [], 0
        packet.append((None, [(shown, record, reason) for _, record, reason in skipped.take()]))
        yield {"number": [number], "packet": [pickle.dumps(packet)]}


def _reads(
    path: Path, selection: ArticleSelection, tokens: Tokens | None, skipped: Skipped, after: int, alone: bool
) -> Iterator[Read]:
    for item, position in read_articles(path, selection, skipped, after=after, alone=alone):
        if not isinstance(item, Article):
            yield item, None, position
        elif selection.wants(item):
            yield item, cut_article(item, tokens), position


def _embedded(batch: Any, embedder: bytes, vector: Any) -> Any:
    """A table of passages with their vectors."""
    import numpy as np
    import pyarrow as pa

    with _handed_over():
        vectors = np.asarray(encode_all(_opened(embedder), batch[SEARCHED].to_pylist()), dtype=np.float32)
    column = pa.FixedSizeListArray.from_arrays(pa.array(vectors.reshape(-1)), vector.type.list_size)
    return batch.append_column(vector, column)


@functools.cache
def _opened(embedder: bytes) -> Embedder:
    """The embedder, loaded once in each worker."""
    from atomr_local.system.threads import prepare_threads

    prepare_threads()
    found: Embedder = pickle.loads(embedder)  # noqa: S301  # our own
    return found
