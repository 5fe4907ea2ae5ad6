"""What the stages of one build of a graph index share, and what they tell of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from atomr_local.cancellation import Cancellation
from atomr_local.indexing import store
from atomr_local.indexing.builds.ledger import Ledger
from atomr_local.indexing.builds.space import require_space
from atomr_local.indexing.graph_index.bulk_loading import Loader, spool_files
from atomr_local.indexing.graph_index.statements.terms import LabelWords
from atomr_local.indexing.graph_index.subset import Subset
from atomr_local.indexing.readers.lines import Skipped

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
