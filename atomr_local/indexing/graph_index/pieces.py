"""Reads the files of a build, and hands the store one piece of triples after the other."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from atomr_local.indexing import store
from atomr_local.indexing.graph_index import context as limits
from atomr_local.indexing.graph_index.bulk_loading import Loader, Spool
from atomr_local.indexing.graph_index.context import BuildContext
from atomr_local.indexing.graph_index.names.writer import NamesWriter
from atomr_local.indexing.graph_index.provenance import stated_lines
from atomr_local.indexing.graph_index.statements.entities import EntityStatements
from atomr_local.indexing.graph_index.statements.label_ids import LabelIds
from atomr_local.indexing.graph_index.statements.lines import LineStatements
from atomr_local.indexing.graph_index.statements.terms import FactStatements
from atomr_local.indexing.graph_index.statements.triples import LineFilter, TripleStatements
from atomr_local.indexing.readers.facts.json_lines import read_facts
from atomr_local.indexing.readers.facts.ntriples import LineBlocks, read_ntriples
from atomr_local.indexing.readers.facts.turtle import TurtleReader
from atomr_local.indexing.readers.facts.wikidata_json import read_entities
from atomr_local.indexing.readers.lines import FileReader, LineReader, Skipped

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
            if len(self._spool) >= limits.PIECE_TRIPLES or reader.position - saved >= limits.CHECKPOINT_BYTES:
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
            if len(self._spool) >= limits.PIECE_TRIPLES:
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
        context.take_loaded(self._loader, limits.QUEUE, "reading facts")
