"""Bulk loading: spool files of triples that a thread loads into Oxigraph while the next ones are written."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from pathlib import Path
from typing import Any

from atomr_local.errors import KnowledgeIndexError
from atomr_local.indexing.builds.space import something_done, write_error
from atomr_local.indexing.graph_index.qualifiers import QUALIFIER_GRAPH

STORE = "oxigraph"
# Oxigraph sorts and writes a piece on one processor; its memory is needed for each.
_AT_ONCE = 2
_PATIENCE = 0.5  # seconds between two looks at whether the user wants to stop


class Spool:
    """The lines of one piece of a build, on their way into two files."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._facts: list[str] = []
        self._qualifiers: list[str] = []
        self._joined = 0
        self.fact = self._facts.append
        self.qualifier = self._qualifiers.append

    def __len__(self) -> int:
        return len(self._facts) + len(self._qualifiers) + self._joined

    def facts(self, lines: str, count: int) -> None:
        """Take in so many lines that are joined already."""
        self._facts.append(lines)
        self._joined += count - 1

    def write(self, number: int) -> None:
        """Write the lines as piece `number`, surely on the disk on return, and begin an empty piece.

        Raises:
            OSError: they cannot be written.
        """
        for lines, file in zip((self._facts, self._qualifiers), spool_files(self._directory, number), strict=True):
            with file.open("w", encoding="utf-8", newline="\n") as stream:
                stream.writelines(lines)
                stream.flush()
                os.fsync(stream.fileno())
            lines.clear()
        self._joined = 0


def spool_files(directory: Path, number: int) -> tuple[Path, Path]:
    """The files of a piece: plain facts, qualified statements."""
    return directory / f"piece-{number}.nt", directory / f"piece-{number}.qualified.nt"


class Loader:
    """Loads pieces into the store of one build, two at a time, beside the caller's own work.

    A piece may be loaded twice: a graph is a set. A kill during a load leaves all of the piece or nothing.
    """

    def __init__(self, directory: Path) -> None:
        """Raises KnowledgeIndexError when the store cannot be opened."""
        from pyoxigraph import Store

        self._directory = directory
        try:
            self._store = Store(str(directory / STORE))
        except (OSError, ValueError, RuntimeError) as error:
            raise KnowledgeIndexError(f"{directory / STORE} cannot be opened: {error}") from error
        self._thread = ThreadPoolExecutor(_AT_ONCE, "graph-load")
        self._running: deque[tuple[int, dict[str, Any], Future[None]]] = deque()

    def start(self, number: int, **said: Any) -> None:
        """Load a piece after those that wait; `said` comes back with it from :meth:`finished`."""
        self._running.append((number, said, self._thread.submit(self._load, number)))

    def finished(self, most: int, waiting: Callable[[], None]) -> Iterator[tuple[int, dict[str, Any]]]:
        """The pieces that are loaded, in their order; waits until at most `most` others are left.

        Args:
            waiting: called now and then while there is nothing to give.

        Raises:
            KnowledgeIndexError: a piece cannot be loaded.
        """
        while self._running:
            number, said, running = self._running[0]
            while not running.done() and len(self._running) > most:
                wait((running,), _PATIENCE)
                waiting()
            if not running.done():
                return
            running.result()
            self._running.popleft()
            yield number, said

    def counts(self) -> tuple[int, int]:
        """(facts, triples about qualified statements) in the store."""
        from pyoxigraph import NamedNode

        total = len(self._store)
        # Oxigraph counts a graph by reading it; without qualified statements there is none to read.
        qualified = sum(1 for _ in self._store.quads_for_pattern(None, None, None, NamedNode(QUALIFIER_GRAPH)))
        return total - qualified, qualified

    def close(self) -> None:
        """Wait for the piece that is being loaded and give the store back; its lock is then free."""
        self._thread.shutdown(wait=True, cancel_futures=True)
        self._store.flush()
        del self._store

    def _load(self, number: int) -> None:
        from pyoxigraph import DefaultGraph, NamedNode, RdfFormat

        graphs: tuple[DefaultGraph | NamedNode, ...] = (DefaultGraph(), NamedNode(QUALIFIER_GRAPH))
        for file, graph in zip(spool_files(self._directory, number), graphs, strict=True):
            try:
                if file.stat().st_size:
                    # Readers have checked the syntax; an address that is no strict IRI is to stop no build.
                    self._store.bulk_load(path=str(file), format=RdfFormat.N_TRIPLES, to_graph=graph, lenient=True)
            except (OSError, ValueError, SyntaxError, RuntimeError) as error:
                raise write_error("the facts", error, resumable=something_done(self._directory)) from error
