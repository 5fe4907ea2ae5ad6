"""Bulk loading: spool files of triples that a thread loads into Oxigraph while the next ones are written."""

from __future__ import annotations

import hashlib
import os
import re
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from atomr_local.errors import KnowledgeIndexError
from atomr_local.indexing.builds.space import something_done, write_error
from atomr_local.language.properties import ENTITY

# Statements with their qualifiers (start, end, point in time, of), and which of them rank best.
#
# They lie in a graph of their own beside the plain facts, in Wikidata's own form (p:, ps:, pq:), so that a question
# that asks for no time reads the plain facts alone.

QUALIFIER_GRAPH = "urn:atomr:qualifiers"
PROP = "http://www.wikidata.org/prop/"
PROP_STATEMENT = PROP + "statement/"
PROP_QUALIFIER = PROP + "qualifier/"
NODE = ENTITY + "statement/"
START, END, POINT, OF = "P580", "P582", "P585", "P642"
QUALIFIERS = frozenset({START, END, POINT, OF})
WIKIDATA = "http://www.wikidata.org/"
_NODE_ID = re.compile(r"[QqPpMm]\d+[-$][0-9A-Za-z-]{1,60}")


@dataclass
class Claim:
    """One statement of an item.

    Attributes:
        node: the IRI of the statement itself.
        term: the value as an N-Triples term.
        entity: the IRI of the value where it is an entity.
        value_range: one of RANGES in names/database.py.
        rank: "preferred", "normal" or "deprecated".
        qualifiers: (id of one of QUALIFIERS, value as an N-Triples term).
        text: the value as the source writes it, where that differs from the term.
        unit: the IRI of a number's unit, where it is to be shown by its label.
        datatype: of the property; "" where the source does not tell.
        base: what the IRIs of the property's Wikibase begin with.
    """

    node: str
    property: str
    term: str
    entity: str | None
    value_range: str
    rank: str = "normal"
    qualifiers: list[tuple[str, str]] = field(default_factory=list)
    text: str = ""
    unit: str = ""
    datatype: str = ""
    base: str = WIKIDATA


def node_iri(statement_id: str, item: str, base: str = WIKIDATA) -> str:
    """The IRI of a statement by its id in JSON; an id that is none of a Wikibase's gives a stable IRI of its own."""
    node = f"{base}entity/statement/"
    if _NODE_ID.fullmatch(statement_id):
        return node + statement_id.replace("$", "-", 1)
    return f"{node}{item}-{hashlib.sha256(statement_id.encode('utf-8', 'replace')).hexdigest()[:32]}"


def best(claims: Iterable[Claim]) -> Iterator[Claim]:
    """Of each property the preferred statements, or where there is none, the normal ones; never deprecated ones.

    Others are outranked: a statement that the value is unknown goes first.
    """
    by_property: dict[tuple[str, str], list[Claim]] = defaultdict(list)
    for claim in claims:
        if claim.rank not in ("deprecated", "outranked"):
            by_property[claim.base, claim.property].append(claim)
    for group in by_property.values():
        preferred = [claim for claim in group if claim.rank == "preferred"]
        yield from preferred or group


def qualifier_triples(subject: str, claim: Claim) -> Iterator[str]:
    """The triples of a qualified statement that is not deprecated; none for any other."""
    if not claim.qualifiers or claim.rank == "deprecated":
        return
    node = f"<{claim.node}>"
    yield f"<{subject}> <{PROP}{claim.property}> {node} .\n"
    yield f"{node} <{PROP_STATEMENT}{claim.property}> {claim.term} .\n"
    for pid, term in claim.qualifiers:
        yield f"{node} <{PROP_QUALIFIER}{pid}> {term} .\n"


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
