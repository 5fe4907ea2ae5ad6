"""Builds a graph index: facts into Oxigraph on disk, names into SQLite beside it, published whole or not at all."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from atomr_local.cancellation import Cancellation
from atomr_local.errors import InputError, KnowledgeIndexError
from atomr_local.indexing import store
from atomr_local.indexing.graph_names import NamesWriter
from atomr_local.indexing.graph_statements import FactStatements, TripleStatements, label_triples
from atomr_local.indexing.readers.facts import Fact, parse_fact, read_facts
from atomr_local.indexing.readers.lines import LineReader, Skipped
from atomr_local.indexing.readers.ntriples import read_ntriples
from atomr_local.indexing.vocabulary import ENTITY

if TYPE_CHECKING:
    from pyoxigraph import Store

GraphFormat = Literal["auto", "nt", "facts-jsonl"]
FORMATS: tuple[GraphFormat, ...] = ("auto", "nt", "facts-jsonl")
STORE = "oxigraph"
_SPOOL = "triples.nt"
_LABELS = "labels.sqlite"
_SPOOL_TRIPLES = 300_000
_FLUSH_TRIPLES = 50_000


@dataclass(frozen=True, slots=True)
class BuildProgress:
    """How far a build is.

    Attributes:
        stage: "reading labels", "reading facts", "loading" or "indexing names".
        triples: triples taken in so far.
        done: bytes of input read so far in this stage, as they lie on disk.
        total: bytes of all inputs.
    """

    stage: str
    triples: int
    done: int
    total: int


ProgressCallback = Callable[[BuildProgress], None]


def build_graph_index(
    inputs: Sequence[Path],
    name: str,
    *,
    format: GraphFormat = "auto",
    language: str = "en",
    progress: ProgressCallback | None = None,
    cancellation: Cancellation | None = None,
) -> store.Manifest:
    """Build the graph index `name` from facts (JSON lines) and N-Triples, plain, gzip or bzip2.

    Unusable lines are skipped; the manifest's settings tell how many and show the first:
    {"skipped": {"count", "samples": [[file, line, reason], …]}}.

    Args:
        format: "auto" recognises each file by its content.
        language: labels, aliases and descriptions of other languages are left out.

    Raises:
        InputError: an input is missing, damaged or not of its format; nothing was changed.
        KnowledgeIndexError: the index cannot be written.
        Cancelled: `cancellation` was thrown; nothing was changed.
    """
    files = [Path(item) for item in inputs]
    if not files:
        raise InputError("no input file is given")
    store.check_name(name)
    formats = [(file, detect_format(file) if format == "auto" else format) for file in files]
    try:
        with store.building("graph", name) as scratch:
            build = _Build(scratch, files, language, progress, cancellation or Cancellation())
            # N-Triples first: facts without ids then join the entities that these name.
            build.run(sorted(formats, key=lambda item: item[1] != "nt"))
            manifest = store.Manifest(
                kind="graph",
                name=name,
                counts=build.counts,
                inputs=[store.describe_input(file) for file in files],
                settings={
                    "formats": [kind for _, kind in formats],
                    "language": language,
                    "skipped": asdict(build.skipped),
                },
            )
            return store.read_manifest(store.publish(scratch, manifest))
    except (OSError, sqlite3.Error) as error:
        raise KnowledgeIndexError(f"the graph index {name!r} cannot be written: {error}") from error


def detect_format(file: Path) -> Literal["nt", "facts-jsonl"]:
    """The format that the first filled lines of the file show.

    Raises:
        InputError: they show none that we read.
    """
    for seen, (_, line) in enumerate(LineReader(file)):
        text = line.strip()
        if text.startswith((b"<", b"_:")):
            return "nt"
        if text.startswith(b"{"):
            try:
                parse_fact(text)
            except ValueError:
                if seen < 20:
                    continue
            return "facts-jsonl"
        if text and not text.startswith(b"#") and seen >= 20:
            break
    raise InputError(
        f"{file}: the format cannot be recognised from the content",
        hint='Facts are lines such as {"s": "Paris", "p": "country", "o": "France"}; N-Triples are lines such as '
        "<subject> <predicate> <object> .",
    )


class _Build:
    """One build in one scratch directory."""

    def __init__(
        self,
        scratch: Path,
        files: Sequence[Path],
        language: str,
        progress: ProgressCallback | None,
        cancellation: Cancellation,
    ) -> None:
        self.skipped = Skipped()
        self.counts: dict[str, int] = {}
        self._scratch = scratch
        self._language = language
        self._progress = progress
        self._cancellation = cancellation
        self._total = sum(store.input_size(file) for file in files)
        self._before = 0
        self._triples = 0

    def run(self, formats: Sequence[tuple[Path, str]]) -> None:
        from pyoxigraph import Store

        with NamesWriter(self._scratch) as names, _LabelIds(self._scratch / _LABELS, names) as labels:
            self._collect_labels([file for file, kind in formats if kind == "facts-jsonl"], labels)
            self._before = 0
            graph = Store(str(self._scratch / STORE))
            self._load(graph, self._statements(formats, names, labels), names)
            if not self._triples:
                raise InputError(f"no facts in {', '.join(str(file) for file, _ in formats)}")
            distinct = len(graph)
            self._report("indexing names", self._total)
            names.finish()
            self._load(graph, label_triples(names, self._language), None)
            entities, properties = names.counts()
            self.counts = {"entities": entities, "triples": distinct, "properties": properties}
            graph.flush()
            del graph
        (self._scratch / _LABELS).unlink()

    def _collect_labels(self, files: Iterable[Path], labels: _LabelIds) -> None:
        for file in files:
            reader = LineReader(file)
            for number, fact in enumerate(read_facts(reader, Skipped())):
                labels.add(fact)
                if number % 5_000 == 0:
                    self._report("reading labels", self._before + reader.position)
            self._before += store.input_size(file)
        labels.commit()

    def _statements(self, formats: Iterable[tuple[Path, str]], names: NamesWriter, labels: _LabelIds) -> Iterator[str]:
        for number, (file, kind) in enumerate(formats):
            reader = LineReader(file)
            if kind == "nt":
                triples = TripleStatements(names, self._language, f"{number}")
                for block in read_ntriples(reader, self.skipped):
                    yield from triples.lines(block)
                    self._report("reading facts", self._before + reader.position)
            else:
                names.flush()
                names.index_keys()
                facts = FactStatements(names, labels.id_of)
                for count, fact in enumerate(read_facts(reader, self.skipped)):
                    yield from facts.lines(fact)
                    if count % 5_000 == 0:
                        self._report("reading facts", self._before + reader.position)
            self._before += store.input_size(file)

    def _load(self, graph: Store, lines: Iterator[str], names: NamesWriter | None) -> None:
        """Write triples to a spool file and load it whenever it is full; count them where `names` is given."""
        from pyoxigraph import RdfFormat

        spool = self._scratch / _SPOOL
        more = True
        while more:
            written = 0
            with spool.open("w", encoding="utf-8", newline="\n") as stream:
                for line in lines:
                    stream.write(line)
                    written += 1
                    if names is not None:
                        self._triples += 1
                        if self._triples % _FLUSH_TRIPLES == 0:
                            names.flush()
                    if written >= _SPOOL_TRIPLES:
                        break
                else:
                    more = False
            self._report("loading", self._before)
            if written:
                try:
                    graph.bulk_load(path=str(spool), format=RdfFormat.N_TRIPLES)
                except (OSError, ValueError, SyntaxError, RuntimeError) as error:
                    raise KnowledgeIndexError(f"the facts cannot be loaded: {error}") from error
            spool.unlink()
        if names is not None:
            names.flush()

    def _report(self, stage: str, done: int) -> None:
        self._cancellation.check()
        if self._progress is not None:
            self._progress(BuildProgress(stage, self._triples, min(done, self._total), self._total))


class _LabelIds:
    """Which Wikidata ids stand beside which label, so that lines without an id can join those with one.

    On disk, so that memory stays bounded however many facts there are.
    """

    def __init__(self, file: Path, names: NamesWriter) -> None:
        self._db = sqlite3.connect(file)
        self._db.executescript(
            "PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF;"
            "CREATE TABLE known(label TEXT, qid TEXT, subject INTEGER, PRIMARY KEY(label, qid, subject)) WITHOUT ROWID"
        )
        self._names = names
        self.id_of = lru_cache(maxsize=100_000)(self._id_of)

    def __enter__(self) -> _LabelIds:
        return self

    def __exit__(self, *_: object) -> None:
        self._db.close()

    def add(self, fact: Fact) -> None:
        rows = [
            (term.label, term.qid, subject)
            for term, subject in ((fact.subject, 1), (fact.object, 0))
            if term.qid is not None
        ]
        if rows:
            self._db.executemany("INSERT OR IGNORE INTO known VALUES(?, ?, ?)", rows)

    def commit(self) -> None:
        self._db.commit()

    def _id_of(self, label: str) -> str | None:
        """The IRI of the only entity known by this label, or None.

        What is written about (as a subject) outweighs what is only mentioned: objects are often given by a word
        for them ("Italian" for Italy).
        """
        found = self._db.execute(
            "SELECT qid, max(subject) FROM known WHERE label = ? GROUP BY qid", (label,)
        ).fetchall()
        subjects = [qid for qid, subject in found if subject]
        ids = subjects or [qid for qid, _ in found]
        if ids:
            return ENTITY + ids[0] if len(ids) == 1 else None
        named = self._names.iris_named(label, 1.0)
        return named[0] if len(named) == 1 else None
