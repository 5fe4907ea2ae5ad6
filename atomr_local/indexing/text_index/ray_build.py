"""Text builds on Ray: Ray's workers read and split the articles, and embed and write the shards.

One process decides, in the order of the input, as in :mod:`build`: what is new, what stands twice, what is wanted.
It hands the workers whole files to read (several at once, where there are several), then waves of shards to write. The
ledger and the shards are those of the local engine, so that either engine continues with what the other began. Every
machine of a cluster must find the inputs, the embedder and the indexes at the same paths.

Ray is a program for clusters and opens sockets; it is started only when it is asked for. Where the variable RAY_ADDRESS
names no cluster, one is started on this machine, whose sockets are bound to its loopback address.
"""

from __future__ import annotations

import functools
import importlib
import itertools
import logging
import os
import pickle
import warnings
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from atomr_local.errors import AtomrError, KnowledgeIndexError, MissingPartError
from atomr_local.indexing.builds.space import write_error
from atomr_local.indexing.readers.base import Article, PageWork
from atomr_local.indexing.readers.lines import Skipped
from atomr_local.indexing.text_index import build
from atomr_local.indexing.text_index.build import ArticleSelection, Read, TextBuild, cut_article, read_articles
from atomr_local.indexing.text_index.chunking import Tokens
from atomr_local.indexing.text_index.shards import Shard, write_shard
from atomr_local.system.installation import add_extra
from atomr_local.system.offline_imports import import_without_sockets

if TYPE_CHECKING:
    from atomr_local.indexing.embedding.embedder import Embedder

_log = logging.getLogger(__name__)

# Shards of a wave, for each core: enough that the start of a wave costs little, few enough to lose when the build is
# killed.
_BLOCKS = 4
_WAVE = 100_000  # passages at most; they wait in memory
_PACKET = 1_000_000  # characters of text that a reading worker hands over together
_AGAIN = "Run the same command again to resume; --engine local works too."
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
        importlib.import_module("ray")
    except ImportError as error:
        raise MissingPartError(
            f"--engine ray needs the package ray: {error}",
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
        import ray

        # Each worker has one core.
        selection = replace(self.selection, options=replace(self.selection.options, work=PageWork()))
        read = ray.remote(_read_file).options(num_returns="streaming")
        for begin in range(first, len(self.files), self._cores):
            self.cancellation.check()
            streams = {}
            for number in range(begin, min(begin + self._cores, len(self.files))):
                file, record = self.files[number], after if number == first else 0
                alone = len(self.files) == 1
                streams[number] = read.remote(file.absolute(), str(file), selection, self._tokens, record, alone)
            for number, packets in streams.items():
                yield number, (ray.get(packet) for packet in packets)
            self._note_lost_nodes()

    def _note_lost_nodes(self) -> None:
        """Log that nodes are gone. Ray does their tasks anew on the others."""
        import ray

        alive = sum(bool(node["Alive"]) for node in ray.nodes())
        if alive < self._nodes:
            _log.warning("Ray: %d of %d nodes are gone; the others do their work.", self._nodes - alive, self._nodes)
        self._nodes = alive

    def _write(self, shards: Sequence[Shard]) -> None:
        if not self.vectors:
            super()._write(shards)
            return
        import ray

        write = ray.remote(_write_shard)
        embedder = ray.put(pickle.dumps(self.embedder))
        files = [self._shards.file(self.state.shards + number) for number in range(len(shards))]
        tasks = [
            write.remote(shard, file.absolute(), self.embedder.dimensions, embedder)
            for shard, file in zip(shards, files, strict=True)
        ]
        ray.get(tasks)
        self._note_lost_nodes()
        if not all(file.is_file() for file in files):
            raise KnowledgeIndexError(
                f"what Ray's workers wrote into {self.ledger.directory} is not there",
                hint="All machines of the cluster must share the directory of the indexes (the variable ATOMR_HOME).",
            )


@contextmanager
def _cluster() -> Iterator[int]:
    """A cluster while this lasts; its number of cores. One that this process uses already stays."""
    require_ray()
    import ray

    with ExitStack() as stack:
        if not ray.is_initialized():
            stack.enter_context(_unprinted())
            start_ray(os.environ.get("RAY_ADDRESS") or "local")
            stack.callback(ray.shutdown)
        logging.getLogger("ray").setLevel(logging.CRITICAL + 1)  # what fails is told by its error
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
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    warnings.filterwarnings("ignore", category=FutureWarning, module=r"ray\.")
    # Ray's processes are started from this one, and none of them continues with Lance as it is here.
    warnings.filterwarnings("ignore", message="lance is not fork-safe", category=UserWarning)


@contextmanager
def _told() -> Iterator[None]:
    """Errors of workers as what they are."""
    import ray

    try:
        yield
    except ray.exceptions.RayTaskError as error:
        if isinstance(error.cause, AtomrError):
            raise error.cause from error
        raise KnowledgeIndexError(f"a worker of Ray failed: {_first_line(error.cause)}", hint=_AGAIN) from error
    except ray.exceptions.RayError as error:  # its own, such as a full disk
        raise write_error("the text index", RuntimeError(_first_line(error)), resumable=True) from error


def _first_line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:300]


# In the workers.


class _Noted(Skipped):
    """Keeps every record until it is handed over."""

    def __init__(self) -> None:
        super().__init__()
        self._new: list[tuple[int, str]] = []

    def add(self, path: Path, line: int, reason: str) -> None:
        self._new.append((line, reason))

    def take(self, shown: str) -> list[tuple[str, int, str]]:
        """What is new, under the name of the file that is told."""
        new, self._new = self._new, []
        return [(shown, line, reason) for line, reason in new]


def _read_file(
    path: Path, shown: str, selection: ArticleSelection, tokens: Tokens | None, after: int, alone: bool
) -> Iterator[_Packet]:
    """What one file holds, cut into passages, packet by packet; the last may hold nothing but what was skipped."""
    skipped = _Noted()
    packet: _Packet = []
    size = 0
    for item, position in read_articles(path, selection, skipped, after=after, alone=alone):
        cut = None
        if isinstance(item, Article):
            if not selection.wants(item):
                continue
            cut = cut_article(item, tokens)
        packet.append(((item, cut, position), skipped.take(shown)))
        size += len(item.text) if isinstance(item, Article) else 100
        if size >= _PACKET:
            yield packet
            packet, size = [], 0
    packet.append((None, skipped.take(shown)))
    yield packet


def _write_shard(shard: Shard, file: Path, dimensions: int, embedder: bytes) -> None:
    write_shard(shard, file, dimensions, _opened(embedder))


@functools.cache
def _opened(embedder: bytes) -> Embedder:
    """The embedder, loaded once in each worker."""
    from atomr_local.system.threads import prepare_threads

    prepare_threads()
    found: Embedder = pickle.loads(embedder)  # noqa: S301  # our own
    return found
