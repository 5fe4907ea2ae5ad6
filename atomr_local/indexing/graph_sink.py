"""Where triples go: spool files, each loaded into Oxigraph as a whole by a thread while the next one is written."""

from __future__ import annotations

import os
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from atomr_local.errors import KnowledgeIndexError
from atomr_local.indexing.graph_qualifiers import QUALIFIER_GRAPH
from atomr_local.indexing.space import write_error

if TYPE_CHECKING:
    from pyoxigraph import Store

STORE = "oxigraph"


class Sink(Protocol):
    """Takes triples as N-Triples lines."""

    def fact(self, line: str) -> None: ...

    def qualifier(self, line: str) -> None: ...


class Spool:
    """The lines of one piece of a build, on their way into two files."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._facts: list[str] = []
        self._qualifiers: list[str] = []
        self.fact = self._facts.append
        self.qualifier = self._qualifiers.append

    def __len__(self) -> int:
        return len(self._facts) + len(self._qualifiers)

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


def spool_files(directory: Path, number: int) -> tuple[Path, Path]:
    """The files of a piece: plain facts, qualified statements."""
    return directory / f"piece-{number}.nt", directory / f"piece-{number}.qualified.nt"


class Loader:
    """Loads pieces into the store of one build, one at a time, beside the caller's own work.

    A piece may be loaded twice: a graph is a set. A kill during a load leaves all of the piece or nothing.
    """

    def __init__(self, directory: Path) -> None:
        """Raises KnowledgeIndexError when the store cannot be opened."""
        from pyoxigraph import Store

        self._directory = directory
        try:
            self._store: Store | None = Store(str(directory / STORE))
        except (OSError, ValueError, RuntimeError) as error:
            raise KnowledgeIndexError(f"{directory / STORE} cannot be opened: {error}") from error
        self._thread = ThreadPoolExecutor(1, "graph-load")
        self._running: Future[None] | None = None

    def start(self, number: int) -> None:
        """Begin to load a piece; :meth:`wait` for the one before first."""
        self._running = self._thread.submit(self._load, number)

    def wait(self) -> None:
        """Wait until the piece that was begun is loaded.

        Raises:
            KnowledgeIndexError: it cannot be loaded.
        """
        running, self._running = self._running, None
        if running is not None:
            running.result()

    def counts(self) -> tuple[int, int]:
        """(facts, triples about qualified statements) in the store."""
        from pyoxigraph import NamedNode

        if self._store is None:
            raise KnowledgeIndexError("the store is closed")
        total = len(self._store)
        # Oxigraph counts a graph by reading it; without qualified statements there is none to read.
        qualified = sum(1 for _ in self._store.quads_for_pattern(None, None, None, NamedNode(QUALIFIER_GRAPH)))
        return total - qualified, qualified

    def close(self) -> None:
        """Wait for what runs and give the store back; its lock is then free."""
        self._thread.shutdown(wait=True)
        if self._store is not None:
            self._store.flush()
            self._store = None

    def _load(self, number: int) -> None:
        from pyoxigraph import DefaultGraph, NamedNode, RdfFormat

        graphs: tuple[DefaultGraph | NamedNode, ...] = (DefaultGraph(), NamedNode(QUALIFIER_GRAPH))
        for file, graph in zip(spool_files(self._directory, number), graphs, strict=True):
            try:
                if self._store is not None and file.stat().st_size:
                    self._store.bulk_load(path=str(file), format=RdfFormat.N_TRIPLES, to_graph=graph)
            except (OSError, ValueError, SyntaxError, RuntimeError) as error:
                raise write_error("the facts", error, resumable=True) from error
