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

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from atomr_local.errors import InputError
from atomr_local.indexing import store
from atomr_local.indexing.builds.ledger import Ledger
from atomr_local.indexing.builds.space import require_space
from atomr_local.indexing.graph_index.bulk_loading import Loader, Spool, spool_files
from atomr_local.indexing.graph_index.ids import HIGHEST
from atomr_local.indexing.graph_index.linearised import COUNT, linearise
from atomr_local.indexing.graph_index.linearised import FILE as FACTS
from atomr_local.indexing.graph_index.names.writer import NamesWriter
from atomr_local.indexing.graph_index.statements.entities import EntityStatements, LabelIds
from atomr_local.indexing.graph_index.statements.lines import LineStatements
from atomr_local.indexing.graph_index.statements.terms import FactStatements, LabelWords, label_triples, stated_lines
from atomr_local.indexing.graph_index.statements.triples import LineFilter, TripleStatements
from atomr_local.indexing.graph_index.subset import FILE as TITLES_FILE
from atomr_local.indexing.graph_index.subset import Role, Subset, Titles, read_articles
from atomr_local.indexing.graph_index.subset_selection import SubsetSelector, TitleMatcher
from atomr_local.indexing.readers.facts.json_lines import read_entities, read_facts
from atomr_local.indexing.readers.facts.rdf import LineBlocks, TurtleReader, read_ntriples
from atomr_local.indexing.readers.lines import FileReader, LineReader, Skipped
from atomr_local.system.cancellation import Cancellation

# What the stages of one build of a graph index share, and what they tell of it.


# Oxigraph takes about 700 bytes of memory a triple of a piece while it loads it. Smaller pieces are more files to be
# merged: at 2 million triples, those of 100,000 take nearly twice its processor time.
PIECE_TRIPLES = 250_000
# Pieces that may wait to be loaded; some 30 MB of disk each.
QUEUE = 10
# So much input is read at most before what came of it is made lasting, however little that is.
CHECKPOINT_BYTES = 128 << 20


@dataclass(frozen=True, slots=True)
class BuildProgress:
    """How far a build is.

    Attributes:
        stage: "matching titles", "choosing the slice", "reading labels", "reading facts", "indexing names",
            "loading names" or "linearising facts".
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


@dataclass
class BuildContext:
    """What the stages of one build share: what is to be built, its ledger, and how far it is.

    Attributes:
        files: each with its format, in the order in which they are read.
        text_index: directory of the text index whose entities are wanted.
        linearise: whether the index gets its facts as text too.
        directory: the hidden directory in which the index is built.
        total: bytes of all inputs.
        before: bytes of the inputs that this stage is done with.
        triples: triples taken in so far.
        skipped: lines that could not be used.
        passed_over: what could be read and no graph is built of, by what it is.
    """

    ledger: Ledger
    files: Sequence[tuple[Path, str]]
    language: str
    selection: Subset
    text_index: Path | None
    progress: ProgressCallback | None
    cancellation: Cancellation
    linearise: bool = False
    before: int = 0
    triples: int = 0
    skipped: Skipped = field(default_factory=Skipped)
    passed_over: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self.directory = self.ledger.directory
        self.words = LabelWords(self.language)
        self.total = sum(store.input_size(file) for file, _ in self.files)
        self._at = 0

    @property
    def sliced(self) -> bool:
        return self.selection.sliced

    @property
    def stage(self) -> str:
        return str(self.ledger.state["stage"])

    def commit(self, **changes: Any) -> None:
        self.ledger.commit(self.ledger.state | changes)

    def take_loaded(self, loader: Loader, most: int, stage: str) -> None:
        """Say which pieces are in the store, and free their space; waits while more than `most` are not."""
        done = self._at if stage == "reading facts" else self.total
        self.report(stage, done)
        for piece, said in loader.finished(most, lambda: self.report(stage, done)):
            self.commit(loaded=piece + 1, **said)
            for file in spool_files(self.directory, piece):
                file.unlink(missing_ok=True)

    def check_space(self, wanted: int = 0) -> None:
        require_space(self.directory, wanted, f"the graph index {self.directory.name.split('.')[1]!r}")

    def report(self, stage: str, done: int) -> None:
        self.cancellation.check()
        self._at = done
        if self.progress is not None:
            note = self.ledger.note or ("resuming an unfinished build" if self.ledger.resumed else "")
            self.progress(BuildProgress(stage, self.triples, min(done, self.total), self.total, note))


# Reads the files of a build, and hands the store one piece of triples after the other.

_REPORT_FACTS = 5_000


def read_dump(
    path: Path,
    kind: str,
    after: int,
    skipped: Skipped,
    line_filter: Callable[[bytes], bool] | None,
    entity_filter: Callable[[str, bytes], bool] | None,
    passed_over: Callable[[str, int], None] = lambda *_: None,
) -> tuple[FileReader, Iterator[tuple[int, list[Any]]]]:
    """The reader of a dump, and its records: triples, or entities where the kind is wikidata-json."""
    if kind == "turtle":
        turtle = TurtleReader(path, after)
        return turtle, turtle.blocks(skipped)
    lines = LineReader(path, after)
    if kind == "wikidata-json":
        return lines, read_entities(lines, skipped, entity_filter, passed_over)
    return lines, read_ntriples(lines, skipped, line_filter)


class PieceWriter:
    """Reads all files and hands the store one piece of triples after the other."""

    def __init__(self, context: BuildContext, names: NamesWriter, loader: Loader) -> None:
        self._context = context
        self._names = names
        self._loader = loader
        self._scratch = context.directory
        self._spool = Spool(self._scratch)
        at = names.progress
        self._done = bool(at.get("done"))
        self._file = int(at.get("file", 0))
        self._record = int(at.get("record", 0))
        self._piece = int(at.get("piece", 0))
        self._held: dict[str, Any] | None = at.get("held")
        self._named_before: int | None = at.get("named_before")
        context.triples = int(at.get("triples", 0))
        self._at_start = at.get("skipped_before", asdict(Skipped()))
        context.skipped = Skipped.restored(at.get("skipped", asdict(Skipped())))
        context.passed_over.update(at.get("passed_over", {}))

    def run(self) -> None:
        context = self._context
        for piece in range(int(context.ledger.state.get("loaded", 0)), self._piece):
            self._loader.start(piece)
        if not self._done:
            files = list(context.files)
            labels = LabelIds(self._scratch, self._names)
            try:
                self._collect_labels([file for file, kind in files if kind == "facts-jsonl"], labels)
                context.before = 0
                for number, (path, kind) in enumerate(files):
                    if number >= self._file:
                        self._read(number, path, kind, labels)
                    context.before += store.input_size(path)
            finally:
                labels.close()
            self._checkpoint(len(files), 0, None, done=True)

    def _collect_labels(self, files: Sequence[Path], labels: LabelIds) -> None:
        context = self._context
        if not files or context.ledger.state.get("labels"):
            return
        context.before = 0
        labels.clear()
        for file in files:
            reader = LineReader(file)
            for count, (_, fact) in enumerate(read_facts(reader, Skipped())):
                labels.add(fact)
                if count % _REPORT_FACTS == 0:
                    context.report("reading labels", context.before + reader.position)
            context.before += store.input_size(file)
        labels.commit()
        context.commit(labels=True)

    def _read(self, number: int, path: Path, kind: str, labels: LabelIds) -> None:
        resumed = number == self._file and self._record > 0
        after = self._record if resumed else 0
        context = self._context
        if not resumed:
            self._at_start = asdict(context.skipped)
        elif kind == "turtle":
            context.skipped = Skipped.restored(self._at_start)  # it is parsed from its beginning again
        if kind == "facts-jsonl":
            self._facts(number, path, after, labels)
            return
        triples = TripleStatements(
            self._names, context.words, context.selection, self._spool, f"{number}", context.passed_over
        )
        if resumed and self._held:
            triples.restore(self._held)
        reader, records, take = self._source(path, kind, after, triples)
        saved = reader.position
        for record, items in records:
            before = len(self._spool)
            take(items)
            context.triples += len(self._spool) - before
            context.report("reading facts", context.before + reader.position)
            if len(self._spool) >= PIECE_TRIPLES or reader.position - saved >= CHECKPOINT_BYTES:
                self._checkpoint(number, record, triples.state())
                saved = reader.position
        before = len(self._spool)
        triples.end()
        context.triples += len(self._spool) - before

    def _source(
        self, path: Path, kind: str, after: int, triples: TripleStatements
    ) -> tuple[FileReader, Iterator[tuple[int, Any]], Callable[[Any], None]]:
        """The reader of a dump, its records, and what takes these in."""
        selection, skipped = self._context.selection, self._context.skipped
        if kind == "nt":
            blocks = LineBlocks(path, after)
            lines = LineStatements(
                path, triples, self._names, self._context.words, selection, self._spool, skipped,
                resumed=bool(after), wanted=LineFilter(selection) if selection.sliced else None,
            )  # fmt: skip
            return blocks, ((block.record, block) for block in blocks), lines.take
        wanted = (lambda identifier, _: selection.wants(identifier)) if selection.sliced else None
        passed_over = self._context.passed_over

        def passed(what: str, number: int) -> None:
            passed_over[what] += number

        reader, records = read_dump(path, kind, after, skipped, None, wanted, passed)
        entities = EntityStatements(self._names, self._context.words, selection, self._spool, passed_over)
        return reader, records, entities.take if kind == "wikidata-json" else triples.take

    def _facts(self, number: int, path: Path, after: int, labels: LabelIds) -> None:
        context = self._context
        self._names.flush()
        self._named_before = self._names.index_keys(self._named_before)
        statements = FactStatements(self._names, labels.id_of)
        reader = LineReader(path, after)
        for count, (line, fact) in enumerate(read_facts(reader, context.skipped)):
            if (triple := statements.triple(fact)) is not None:
                self._spool.fact(f"{' '.join(triple)} .\n")
                context.triples += 1
                for text in stated_lines(triple, fact.stated) if fact.stated is not None else ():
                    self._spool.qualifier(text)
            if count % _REPORT_FACTS == 0:
                context.report("reading facts", context.before + reader.position)
            if len(self._spool) >= PIECE_TRIPLES:
                self._checkpoint(number, line, None)

    def _checkpoint(self, file: int, record: int, held: dict[str, Any] | None, done: bool = False) -> None:
        context = self._context
        context.check_space()
        piece = self._piece if len(self._spool) else None
        if piece is not None:
            self._spool.write(piece)
            self._piece += 1
        self._names.commit(
            {
                "file": file, "record": record, "held": held, "done": done, "piece": self._piece,
                "triples": context.triples, "skipped": asdict(context.skipped), "skipped_before": self._at_start,
                "passed_over": dict(context.passed_over), "named_before": self._named_before,
            }
        )  # fmt: skip
        if piece is not None:
            self._loader.start(piece)
        context.take_loaded(self._loader, QUEUE, "reading facts")


class GraphBuild:
    """See the module. `run` may be called once."""

    def __init__(self, context: BuildContext) -> None:
        self._context = context
        self._scratch = context.directory

    def run(self) -> tuple[dict[str, int], dict[str, Any]]:
        """Build, or go on building.

        Returns:
            (counts, settings) for the manifest. The directory then holds the index and nothing else.
        """
        context = self._context
        if not context.ledger.resumed:
            context.check_space(0 if context.sliced else context.total)
            context.commit(stage="titles" if context.text_index else "choosing" if context.sliced else "reading")
        if context.stage == "titles":
            self._match_titles()
        if context.sliced and context.stage != "titles":
            self._restore_slice()
        if context.stage == "choosing":
            self._choose()
        if context.stage != "publishing":
            self._build()
        self._clean()
        state = context.ledger.state
        return state["counts"] | self._linearised(), state["said"]

    # -- what the slice is made of

    def _match_titles(self) -> None:
        selection = self._context.selection
        with Titles(self._scratch) as titles:
            if self._context.text_index is not None and "file" not in self._context.ledger.state:
                titles.want(read_articles(self._context.text_index), selection.subjects)
                selection.save(self._scratch)
                self._context.commit(file=0, record=0)
            else:
                selection.load(self._scratch)
            if len(titles):
                self._pass("matching titles", TitleMatcher(titles, self._context.words), titles.commit)
            found, missing = titles.resolved()
        for number in found:
            selection.subjects.add(number)
        if not len(selection.subjects):
            raise InputError(
                "none of the articles of the text index is found in the given files",
                hint="Are the files of Wikidata, with labels or sitelinks in the language of the articles?",
            )
        selection.save(self._scratch)
        self._context.commit(stage="choosing", file=0, record=0, missing=missing)

    def _restore_slice(self) -> None:
        if (self._scratch / "slice.datatypes").exists():
            self._context.selection.load(self._scratch)

    def _choose(self) -> None:
        selection = self._context.selection
        self._pass("choosing the slice", SubsetSelector(selection), lambda: selection.save(self._scratch))
        self._context.commit(stage="reading", file=0, record=0)

    def _pass(self, stage: str, taker: SubsetSelector | TitleMatcher, save: Callable[[], None]) -> None:
        """Show every dump to the taker, from where an earlier run stopped."""
        first, after = self._context.ledger.state.get("file", 0), self._context.ledger.state.get("record", 0)
        self._context.before = 0
        for number, (path, kind) in enumerate(self._context.files):
            size = store.input_size(path)
            if kind != "facts-jsonl" and number >= first:
                reader, records = read_dump(
                    path, kind, after if number == first else 0, Skipped(), taker.line, taker.wanted
                )
                saved = reader.position
                for record, items in records:
                    (taker.entities if kind == "wikidata-json" else taker.triples)(items)
                    self._context.report(stage, self._context.before + reader.position)
                    if reader.position - saved >= CHECKPOINT_BYTES:
                        save()
                        self._context.commit(file=number, record=record)
                        saved = reader.position
            self._context.before += size
        save()

    # -- the build itself

    def _build(self) -> None:
        """Every step looks at what the last commits say, and does what is left of it."""
        context = self._context
        with NamesWriter(self._scratch) as names:
            loader = Loader(self._scratch)
            try:
                PieceWriter(context, names, loader).run()
                if not context.triples:
                    skipped = Skipped.restored(names.progress["skipped"])
                    raise context.ledger.empty_input_error("facts", skipped, context.passed_over)
                context.report("indexing names", context.total)
                if not names.progress.get("named"):
                    self._choose_labels(names)
                self._load_labels(names, loader)
                context.report("indexing names", context.total)
                if not names.progress.get("indexed"):
                    names.index(names.progress | {"indexed": True})
                context.take_loaded(loader, 0, "loading names")
                context.commit(stage="publishing", counts=self._counts(names, loader), said=self._said(names))
            finally:
                loader.close()

    def _choose_labels(self, names: NamesWriter) -> None:
        subset = self._context.selection
        kept = (lambda iri: subset.role(_number(iri)) > Role.CLASS) if subset.sliced else None
        names.choose(names.progress | {"named": True}, kept)

    def _counts(self, names: NamesWriter, loader: Loader) -> dict[str, int]:
        entities, properties = names.counts()
        plain, qualified = loader.counts()
        # Facts never are labels, aliases or descriptions in the form in which these are loaded.
        counts = {"entities": entities, "triples": plain - names.label_triples(), "properties": properties}
        return counts | ({"qualifiers": qualified} if qualified else {})

    def _said(self, names: NamesWriter) -> dict[str, Any]:
        """What the manifest tells beside the counts."""
        said: dict[str, Any] = {"skipped": names.progress["skipped"]}
        if passed_over := {what: number for what, number in names.progress["passed_over"].items() if number}:
            said["passed_over"] = passed_over
        if self._context.sliced:
            said["slice"] = {
                "entities": len(self._context.selection.subjects),
                "titles_not_found": self._context.ledger.state.get("missing", 0),
            }
        count, few = names.unlabelled()
        return said | ({"unlabelled": {"count": count, "samples": few}} if count else {})

    def _load_labels(self, names: NamesWriter, loader: Loader) -> None:
        spool = Spool(self._scratch)
        piece = max(int(self._context.ledger.state.get("loaded", 0)), int(names.progress["piece"]))
        last = int(self._context.ledger.state.get("label", 0))

        def load() -> None:
            nonlocal piece
            self._context.check_space()
            spool.write(piece)
            loader.start(piece, label=last)
            piece += 1
            self._context.take_loaded(loader, QUEUE, "loading names")

        for number, lines in label_triples(names, self._context.language, after=last):
            if len(spool) >= PIECE_TRIPLES:
                load()
            last = number
            spool.facts("".join(lines), len(lines))
        if len(spool):
            load()

    def _linearised(self) -> dict[str, int]:
        """What is counted of the facts as text, which are written if they are wanted."""
        context = self._context
        if not context.linearise:  # an earlier run may have been asked for them
            for file in self._scratch.glob(f"{FACTS}*"):
                file.unlink()
            return {}
        context.check_space()
        triples = max(1, context.ledger.state["counts"]["triples"])

        def told(facts: int) -> None:
            context.triples = facts
            context.report("linearising facts", context.total * facts // triples)

        return {COUNT: linearise(self._scratch, self._scratch, told)}

    def _clean(self) -> None:
        """Leave nothing but the index; may be repeated."""
        NamesWriter(self._scratch).seal()
        Subset.remove(self._scratch)
        for pattern in ("piece-*", "labels.sqlite*", TITLES_FILE + "*"):
            for file in self._scratch.glob(pattern):
                file.unlink()


def _number(iri: str) -> int:
    tail = iri.rpartition("/Q")[2]
    return int(tail) if tail.isdecimal() else HIGHEST + 1
