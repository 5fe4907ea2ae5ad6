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

from collections.abc import Callable
from typing import Any

from atomr_local.errors import InputError
from atomr_local.indexing import store
from atomr_local.indexing.graph_index import context as limits
from atomr_local.indexing.graph_index.bulk_loading import Loader, Spool
from atomr_local.indexing.graph_index.context import BuildContext
from atomr_local.indexing.graph_index.ids import HIGHEST
from atomr_local.indexing.graph_index.linearised.facts import linearise
from atomr_local.indexing.graph_index.linearised.table import COUNT
from atomr_local.indexing.graph_index.linearised.table import FILE as FACTS
from atomr_local.indexing.graph_index.names.writer import NamesWriter
from atomr_local.indexing.graph_index.pieces import PieceWriter, read_dump
from atomr_local.indexing.graph_index.statements.terms import label_triples
from atomr_local.indexing.graph_index.subset import Role, Subset
from atomr_local.indexing.graph_index.subset_selection import SubsetSelector, TitleMatcher
from atomr_local.indexing.graph_index.titles import FILE as TITLES_FILE
from atomr_local.indexing.graph_index.titles import Titles, read_articles
from atomr_local.indexing.readers.lines import Skipped


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
                    if reader.position - saved >= limits.CHECKPOINT_BYTES:
                        save()
                        self._context.commit(file=number, record=record)
                        saved = reader.position
            self._context.before += size
        save()

    # -- the build itself

    def _build(self) -> None:
        stages = {"reading": self._end_reading, "naming": self._choose_labels, "labelling": self._load_and_index}
        with NamesWriter(self._scratch) as names:
            loader = Loader(self._scratch)
            try:
                PieceWriter(self._context, names, loader).run()
                while self._context.stage in stages:  # each leads to the next
                    stages[self._context.stage](names, loader)
            finally:
                loader.close()

    def _end_reading(self, names: NamesWriter, loader: Loader) -> None:
        context = self._context
        if not context.triples:
            skipped = Skipped.restored(names.progress["skipped"])
            raise context.ledger.nothing_in("facts", skipped, context.passed_over)
        context.commit(stage="naming", said=self._said(names))

    def _choose_labels(self, names: NamesWriter, loader: Loader) -> None:
        context = self._context
        context.report("indexing names", context.total)
        if not names.progress.get("named"):
            subset = context.selection
            names.choose(
                names.progress | {"named": True},
                (lambda iri: subset.role(_number(iri)) > Role.CLASS) if context.sliced else None,
            )
        count, few = names.unlabelled()
        unlabelled = {"unlabelled": {"count": count, "samples": few}} if count else {}
        context.commit(stage="labelling", label=0, said=context.ledger.state["said"] | unlabelled)

    def _load_and_index(self, names: NamesWriter, loader: Loader) -> None:
        context = self._context
        self._load_labels(names, loader)
        context.report("indexing names", context.total)
        if not names.progress.get("indexed"):
            names.index(names.progress | {"indexed": True})
        context.take_loaded(loader, 0, "loading names")
        context.commit(stage="publishing", counts=self._counts(names, loader))

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
        return said

    def _load_labels(self, names: NamesWriter, loader: Loader) -> None:
        spool = Spool(self._scratch)
        piece = max(int(self._context.ledger.state.get("loaded", 0)), int(names.progress["piece"]))
        last = int(self._context.ledger.state["label"])

        def load() -> None:
            nonlocal piece
            self._context.check_space()
            spool.write(piece)
            loader.start(piece, label=last)
            piece += 1
            self._context.take_loaded(loader, limits.QUEUE, "loading names")

        for number, lines in label_triples(names, self._context.language, after=last):
            if len(spool) >= limits.PIECE_TRIPLES:
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
