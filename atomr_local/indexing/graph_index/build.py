"""One build of a graph index in its hidden directory, from the first line to the moment before it is published.

What is lasting, and in which order, so that a build that was killed anywhere goes on to the same result:

- A piece of triples is written to spool files; then the names that belong to it are committed in SQLite together with
  the place in the input; then Oxigraph loads the piece; then the ledger says that it is loaded.
- A kill between these steps loads a piece twice, which a graph (a set) does not notice, or reads lines again whose
  names were never committed.
- Loading is what takes longest, so it never waits: pieces queue before it, two are loaded at a time, and while it works
  on the last of them the labels are chosen, and while it loads those the names are indexed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Protocol

from atomr_local.cancellation import Cancellation
from atomr_local.errors import InputError
from atomr_local.indexing import store
from atomr_local.indexing.builds.ledger import Ledger
from atomr_local.indexing.builds.space import require_space
from atomr_local.indexing.graph_index.bulk_loading import Loader, Spool, spool_files
from atomr_local.indexing.graph_index.ids import HIGHEST
from atomr_local.indexing.graph_index.names.writer import NamesWriter
from atomr_local.indexing.graph_index.statements.entities import EntityStatements
from atomr_local.indexing.graph_index.statements.label_ids import LabelIds
from atomr_local.indexing.graph_index.statements.lines import LineStatements
from atomr_local.indexing.graph_index.statements.terms import FactStatements, LabelWords, label_triples
from atomr_local.indexing.graph_index.statements.triples import LineFilter, TripleStatements
from atomr_local.indexing.graph_index.subset import Role, Subset
from atomr_local.indexing.graph_index.subset_selection import SubsetSelector, TitleMatcher, choosing_line, title_line
from atomr_local.indexing.graph_index.titles import FILE as TITLES_FILE
from atomr_local.indexing.graph_index.titles import Titles, read_articles
from atomr_local.indexing.readers.facts.json_lines import read_facts
from atomr_local.indexing.readers.facts.ntriples import LineBlocks, read_ntriples
from atomr_local.indexing.readers.facts.turtle import TurtleReader
from atomr_local.indexing.readers.facts.wikidata_json import read_entities
from atomr_local.indexing.readers.lines import LineReader, Skipped

# Oxigraph takes about 700 bytes of memory a triple of a piece while it loads it; smaller ones load hardly more slowly.
PIECE_TRIPLES = 100_000
# Pieces that may wait to be loaded; some 12 MB of disk each.
_QUEUE = 24
# So much input is read at most before what came of it is made lasting, however little that is.
CHECKPOINT_BYTES = 128 << 20
_REPORT_FACTS = 5_000


@dataclass(frozen=True, slots=True)
class BuildProgress:
    """How far a build is.

    Attributes:
        stage: "matching titles", "choosing the slice", "reading labels", "reading facts", "indexing names" or
            "loading names".
        triples: triples taken in so far.
        done: bytes of input read so far in this stage, as they lie on disk.
        total: bytes of all inputs.
        note: what became of an earlier, unfinished build; "" where there was none.
    """

    stage: str
    triples: int
    done: int
    total: int
    note: str = ""


ProgressCallback = Callable[[BuildProgress], None]


@dataclass(frozen=True)
class GraphBuildPlan:
    """What is to be built.

    Attributes:
        files: each with its format, in the order in which they are read.
        text_index: directory of the text index whose entities are wanted.
    """

    files: Sequence[tuple[Path, str]]
    language: str
    selection: Subset
    text_index: Path | None = None


class _Reader(Protocol):
    @property
    def position(self) -> int: ...


class GraphBuild:
    """See the module. `run` may be called once."""

    def __init__(
        self, ledger: Ledger, plan: GraphBuildPlan, progress: ProgressCallback | None, cancellation: Cancellation
    ) -> None:
        self._ledger = ledger
        self._scratch = ledger.directory
        self._plan = plan
        self._progress = progress
        self._cancellation = cancellation
        self._words = LabelWords(plan.language)
        self._total = sum(store.input_size(file) for file, _ in plan.files)
        self._before = 0
        self._at = 0
        self._triples = 0
        self.skipped = Skipped()

    def run(self) -> tuple[dict[str, int], dict[str, Any]]:
        """Build, or go on building.

        Returns:
            (counts, settings) for the manifest. The directory then holds the index and nothing else.
        """
        if not self._ledger.resumed:
            self._check_space(0 if self._sliced else self._total)
            self._commit(stage="titles" if self._plan.text_index else "choosing" if self._sliced else "reading")
        if self._stage == "titles":
            self._match_titles()
        if self._sliced and self._stage != "titles":
            self._restore_slice()
        if self._stage == "choosing":
            self._choose()
        if self._stage != "publishing":
            self._build()
        self._clean()
        state = self._ledger.state
        return state["counts"], state["said"]

    @property
    def _sliced(self) -> bool:
        return self._plan.selection.sliced

    @property
    def _stage(self) -> str:
        return str(self._ledger.state["stage"])

    def _commit(self, **changes: Any) -> None:
        self._ledger.commit(self._ledger.state | changes)

    # -- what the slice is made of

    def _match_titles(self) -> None:
        selection = self._plan.selection
        with Titles(self._scratch) as titles:
            if self._plan.text_index is not None and "file" not in self._ledger.state:
                titles.want(read_articles(self._plan.text_index), selection.subjects)
                selection.save(self._scratch)
                self._commit(file=0, record=0)
            else:
                selection.load(self._scratch)
            if len(titles):
                self._pass("matching titles", TitleMatcher(titles, self._words), title_line, titles.commit)
            found, missing = titles.resolved()
        for number in found:
            selection.subjects.add(number)
        if not len(selection.subjects):
            raise InputError(
                "none of the articles of the text index is found in the given files",
                hint="Are the files of Wikidata, with labels or sitelinks in the language of the articles?",
            )
        selection.save(self._scratch)
        self._commit(stage="choosing", file=0, record=0, missing=missing)

    def _restore_slice(self) -> None:
        if (self._scratch / "slice.datatypes").exists():
            self._plan.selection.load(self._scratch)

    def _choose(self) -> None:
        selection = self._plan.selection
        self._pass(
            "choosing the slice",
            SubsetSelector(selection),
            lambda line: choosing_line(selection, line),
            lambda: selection.save(self._scratch),
        )
        selection.save(self._scratch)
        self._commit(stage="reading", file=0, record=0)

    def _pass(
        self,
        stage: str,
        taker: SubsetSelector | TitleMatcher,
        line_filter: Callable[[bytes], bool],
        save: Callable[[], None],
    ) -> None:
        """Show every dump to the taker, from where an earlier run stopped."""
        first, after = self._ledger.state.get("file", 0), self._ledger.state.get("record", 0)
        self._before = 0
        for number, (path, kind) in enumerate(self._plan.files):
            size = store.input_size(path)
            if kind != "facts-jsonl" and number >= first:
                reader, records = _records(
                    path, kind, after if number == first else 0, Skipped(), line_filter, taker.wanted
                )
                saved = reader.position
                for record, items in records:
                    (taker.entities if kind == "wikidata-json" else taker.triples)(items)
                    self._report(stage, self._before + reader.position)
                    if reader.position - saved >= CHECKPOINT_BYTES:
                        save()
                        self._commit(file=number, record=record)
                        saved = reader.position
            self._before += size
        save()

    # -- the build itself

    def _build(self) -> None:
        with NamesWriter(self._scratch) as names:
            loader = Loader(self._scratch)
            try:
                _Pieces(self, names, loader).run()
                if self._stage == "reading":
                    if not self._triples:
                        raise InputError(f"no facts in {', '.join(str(file) for file, _ in self._plan.files)}")
                    self._commit(stage="naming", said=self._said(names))
                if self._stage == "naming":
                    self._report("indexing names", self._total)
                    if not names.progress.get("named"):
                        selection = self._plan.selection
                        names.choose(
                            names.progress | {"named": True},
                            (lambda iri: selection.role(_number(iri)) > Role.CLASS) if self._sliced else None,
                        )
                    self._commit(stage="labelling", label=0)
                if self._stage == "labelling":
                    self._load_labels(names, loader)
                    self._report("indexing names", self._total)
                    if not names.progress.get("indexed"):
                        names.index(names.progress | {"indexed": True})
                    self._take_loaded(loader, 0, "loading names")
                    self._commit(stage="publishing", counts=self._counts(names, loader))
            finally:
                loader.close()

    def _counts(self, names: NamesWriter, loader: Loader) -> dict[str, int]:
        entities, properties = names.counts()
        plain, qualified = loader.counts()
        # Facts never are labels, aliases or descriptions in the form in which these are loaded.
        counts = {"entities": entities, "triples": plain - names.label_triples(), "properties": properties}
        return counts | ({"qualifiers": qualified} if qualified else {})

    def _said(self, names: NamesWriter) -> dict[str, Any]:
        """What the manifest tells beside the counts."""
        said: dict[str, Any] = {"skipped": names.progress["skipped"]}
        if self._sliced:
            said["slice"] = {
                "entities": len(self._plan.selection.subjects),
                "titles_not_found": self._ledger.state.get("missing", 0),
            }
        return said

    def _load_labels(self, names: NamesWriter, loader: Loader) -> None:
        spool = Spool(self._scratch)
        piece = max(int(self._ledger.state.get("loaded", 0)), int(names.progress["piece"]))
        last = int(self._ledger.state["label"])

        def load() -> None:
            nonlocal piece
            self._check_space()
            spool.write(piece)
            loader.start(piece, label=last)
            piece += 1
            self._take_loaded(loader, _QUEUE, "loading names")

        for number, line in label_triples(names, self._plan.language, after=last):
            if number != last and len(spool) >= PIECE_TRIPLES:
                load()
            last = number
            spool.fact(line)
        if len(spool):
            load()

    def _take_loaded(self, loader: Loader, most: int, stage: str) -> None:
        """Say which pieces are in the store, and free their space; waits while more than `most` are not."""
        done = self._at if stage == "reading facts" else self._total
        self._report(stage, done)
        for piece, said in loader.finished(most, lambda: self._report(stage, done)):
            self._commit(loaded=piece + 1, **said)
            for file in spool_files(self._scratch, piece):
                file.unlink(missing_ok=True)

    def _clean(self) -> None:
        """Leave nothing but the index; may be repeated."""
        NamesWriter(self._scratch).seal()
        Subset.remove(self._scratch)
        for pattern in ("piece-*", "labels.sqlite*", TITLES_FILE + "*"):
            for file in self._scratch.glob(pattern):
                file.unlink()

    def _check_space(self, wanted: int = 0) -> None:
        require_space(self._scratch, wanted, f"the graph index {self._scratch.name.split('.')[1]!r}")

    def _report(self, stage: str, done: int) -> None:
        self._cancellation.check()
        self._at = done
        if self._progress is not None:
            note = self._ledger.note or ("resuming an unfinished build" if self._ledger.resumed else "")
            self._progress(BuildProgress(stage, self._triples, min(done, self._total), self._total, note))


class _Pieces:
    """Reads all files and hands the store one piece of triples after the other."""

    def __init__(self, build: GraphBuild, names: NamesWriter, loader: Loader) -> None:
        self._build = build
        self._names = names
        self._loader = loader
        self._scratch = build._scratch
        self._spool = Spool(self._scratch)
        at = names.progress
        self._done = bool(at.get("done"))
        self._file = int(at.get("file", 0))
        self._record = int(at.get("record", 0))
        self._piece = int(at.get("piece", 0))
        self._held: dict[str, Any] | None = at.get("held")
        self._named_before: int | None = at.get("named_before")
        build._triples = int(at.get("triples", 0))
        self._at_start = at.get("skipped_before", asdict(Skipped()))
        build.skipped = _skipped(at.get("skipped"))

    def run(self) -> None:
        build = self._build
        for piece in range(int(build._ledger.state.get("loaded", 0)), self._piece):
            self._loader.start(piece)
        if not self._done:
            files = list(build._plan.files)
            labels = LabelIds(self._scratch, self._names)
            try:
                self._collect_labels([file for file, kind in files if kind == "facts-jsonl"], labels)
                build._before = 0
                for number, (path, kind) in enumerate(files):
                    if number >= self._file:
                        self._read(number, path, kind, labels)
                    build._before += store.input_size(path)
            finally:
                labels.close()
            self._checkpoint(len(files), 0, None, done=True)

    def _collect_labels(self, files: Sequence[Path], labels: LabelIds) -> None:
        build = self._build
        if not files or build._ledger.state.get("labels"):
            return
        build._before = 0
        labels.clear()
        for file in files:
            reader = LineReader(file)
            for count, (_, fact) in enumerate(read_facts(reader, Skipped())):
                labels.add(fact)
                if count % _REPORT_FACTS == 0:
                    build._report("reading labels", build._before + reader.position)
            build._before += store.input_size(file)
        labels.commit()
        build._commit(labels=True)

    def _read(self, number: int, path: Path, kind: str, labels: LabelIds) -> None:
        resumed = number == self._file and self._record > 0
        after = self._record if resumed else 0
        build = self._build
        if not resumed:
            self._at_start = asdict(build.skipped)
        elif kind == "turtle":
            build.skipped = _skipped(self._at_start)  # it is parsed from its beginning again
        if kind == "facts-jsonl":
            self._facts(number, path, after, labels)
            return
        triples = TripleStatements(self._names, build._words, build._plan.selection, self._spool, f"{number}")
        if resumed and self._held:
            triples.restore(self._held)
        reader, records, take = self._source(path, kind, after, triples)
        saved = reader.position
        for record, items in records:
            before = len(self._spool)
            take(items)
            build._triples += len(self._spool) - before
            build._report("reading facts", build._before + reader.position)
            if len(self._spool) >= PIECE_TRIPLES or reader.position - saved >= CHECKPOINT_BYTES:
                self._checkpoint(number, record, triples.state())
                saved = reader.position
        before = len(self._spool)
        triples.end()
        build._triples += len(self._spool) - before

    def _source(
        self, path: Path, kind: str, after: int, triples: TripleStatements
    ) -> tuple[_Reader, Iterator[tuple[int, Any]], Callable[[Any], None]]:
        """The reader of a dump, its records, and what takes these in."""
        selection, skipped = self._build._plan.selection, self._build.skipped
        if kind == "nt":
            blocks = LineBlocks(path, after)
            lines = LineStatements(
                path, triples, self._names, self._build._words, selection, self._spool, skipped,
                resumed=bool(after), wanted=LineFilter(selection) if selection.sliced else None,
            )  # fmt: skip
            return blocks, ((block.record, block) for block in blocks), lines.take
        wanted = (lambda identifier, _: selection.wants(identifier)) if selection.sliced else None
        reader, records = _records(path, kind, after, skipped, None, wanted)
        entities = EntityStatements(self._names, self._build._words, selection, self._spool)
        return reader, records, entities.take_all if kind == "wikidata-json" else triples.take

    def _facts(self, number: int, path: Path, after: int, labels: LabelIds) -> None:
        build = self._build
        self._names.flush()
        self._named_before = self._names.index_keys(self._named_before)
        statements = FactStatements(self._names, labels.id_of)
        reader = LineReader(path, after)
        for count, (line, fact) in enumerate(read_facts(reader, build.skipped)):
            for text in statements.lines(fact):
                self._spool.fact(text)
                build._triples += 1
            if count % _REPORT_FACTS == 0:
                build._report("reading facts", build._before + reader.position)
            if len(self._spool) >= PIECE_TRIPLES:
                self._checkpoint(number, line, None)

    def _checkpoint(self, file: int, record: int, held: dict[str, Any] | None, done: bool = False) -> None:
        build = self._build
        build._check_space()
        piece = self._piece if len(self._spool) else None
        if piece is not None:
            self._spool.write(piece)
            self._piece += 1
        self._names.commit(
            {
                "file": file, "record": record, "held": held, "done": done, "piece": self._piece,
                "triples": build._triples, "skipped": asdict(build.skipped), "skipped_before": self._at_start,
                "named_before": self._named_before,
            }
        )  # fmt: skip
        if piece is not None:
            self._loader.start(piece)
        build._take_loaded(self._loader, _QUEUE, "reading facts")


def _records(
    path: Path,
    kind: str,
    after: int,
    skipped: Skipped,
    line_filter: Callable[[bytes], bool] | None,
    entity_filter: Callable[[str, bytes], bool] | None,
) -> tuple[_Reader, Iterator[tuple[int, list[Any]]]]:
    """The reader of a dump, and its records: triples, or entities where the kind is wikidata-json."""
    if kind == "turtle":
        turtle = TurtleReader(path, after)
        return turtle, turtle.blocks(skipped)
    lines = LineReader(path, after)
    if kind == "wikidata-json":
        return lines, read_entities(lines, skipped, entity_filter)
    return lines, read_ntriples(lines, skipped, line_filter)


def _skipped(data: dict[str, Any] | None) -> Skipped:
    if not data:
        return Skipped()
    return Skipped(int(data["count"]), [(str(file), int(line), str(why)) for file, line, why in data["samples"]])


def _number(iri: str) -> int:
    tail = iri.rpartition("/Q")[2]
    return int(tail) if tail.isdecimal() else HIGHEST + 1
