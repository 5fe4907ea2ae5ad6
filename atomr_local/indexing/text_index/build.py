"""A text build: articles → passages → vectors → table, committed in batches.

The ledger's last state names a place in the input and the version of the table at that place. What was written after it
(by a run that was killed before it could commit) is undone when the build continues.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from atomr_local.errors import InputError, KnowledgeIndexError
from atomr_local.indexing import store
from atomr_local.indexing.builds.ledger import Ledger
from atomr_local.indexing.builds.space import require_space, write_error
from atomr_local.indexing.readers.base import Article, Redirect
from atomr_local.indexing.readers.detect import ReadOptions, open_articles
from atomr_local.indexing.readers.lines import Skipped
from atomr_local.indexing.text_index.catalog import Catalog, content_hash, kept_kind, passage_id
from atomr_local.indexing.text_index.chunking import Passage, Tokens, passage_heading, passages
from atomr_local.indexing.text_index.page_worker import given_passages
from atomr_local.indexing.text_index.table import SEARCHED, VECTOR, PassageTable
from atomr_local.language.names import name_key
from atomr_local.system.cancellation import Cancellation

if TYPE_CHECKING:
    from atomr_local.indexing.embedding.embedder import Embedder
    from atomr_local.indexing.text_index.vectors import VectorCache


# Reads the input files of a text build: what is wanted of them, and what is done where one cannot be read.

WHOLE_FILE = 0  # in the place of a record


@dataclass(frozen=True)
class ArticleSelection:
    """Which articles are wanted: at most `limit`, and only those whose title has one of these keys."""

    format: str = "auto"
    limit: int | None = None
    titles: frozenset[str] | None = None
    options: ReadOptions = field(default_factory=ReadOptions)

    def wants(self, article: Article) -> bool:
        """Whether the article has one of the titles."""
        return self.titles is None or name_key(article.title) in self.titles


def read_articles(
    path: Path, selection: ArticleSelection, skipped: Skipped, *, after: int, alone: bool
) -> Iterator[tuple[Article | Redirect, int]]:
    """What a file holds after the record `after`, each with the bytes read so far.

    Of several files, one that holds nothing that can be read is noted in `skipped`, and so is the damage of one that
    is salvaged; the others are read.

    Args:
        alone: there is no other file.

    Raises:
        InputError: the file cannot be read.
    """
    begun = after > 0
    try:
        reader = open_articles(path, selection.format, selection.options)
        for item in reader.records(skipped, after=after):
            begun = True
            yield item, reader.position
    except InputError as error:
        reason = error.message.removeprefix(str(path)).lstrip(":, ")
        if begun and selection.options.salvage:
            skipped.add(path, WHOLE_FILE, f"damaged, and read up to there: {reason}")
        elif not begun and not alone:
            skipped.add(path, WHOLE_FILE, f"not read: {reason}")
        else:
            raise


def require_one_readable(files: Sequence[Path], selection: ArticleSelection) -> None:
    """Look at the beginning of every file.

    Raises:
        InputError: the first that cannot be read, where none can.
    """
    problems = []
    for file in files:
        try:
            open_articles(file, selection.format, selection.options)
        except InputError as error:
            problems.append(error)
    if len(problems) == len(files):
        raise problems[0]


PASSAGE_WORDS = 120
BATCH = 512  # passages embedded and committed together
WORDS_BATCH = 4096  # passages committed together that are not embedded yet
# Articles and redirects without new passages are committed after this many.
QUIET_RECORDS = 5_000
# Each commit leaves small files and a version of the table; they are put together every so many.
COMPACT_EVERY = 200
# What is read, its passages where they are cut already, and the bytes of its file read so far.
Read = tuple[Article | Redirect, list[Passage] | None, int]
# Before enough is read to tell: text twice, vectors and indexes, for plain text; a packed file needs more.
_BYTES_PER_INPUT_BYTE = 3


@dataclass(frozen=True, slots=True)
class TextBuildProgress:
    """How far a build is: `done` of `total` bytes of input (as they lie on disk), and passages so far.

    With a limit, `done` and `total` count articles instead.
    """

    stage: str
    passages: int
    done: int
    total: int


@dataclass
class State:
    """What the ledger keeps.

    Attributes:
        stage: reading, indexing, tidying.
        version, rows: of the table.
        forgetting: old versions are being removed, perhaps this one too; the rows stay as they are meanwhile.
        seq, base: highest number in the catalogue, now and before this build.
        file, record, taken: the place: `taken` passages of this record are in the table; 0 when it is done with.
        articles, replaced, unchanged: articles taken in by this build, and those among them that were known.
        passages: embedded by this build.
        trained: rows that the vector index was trained on.
        done: bytes of the input read.
        lost: how much of the articles the reader's limits left out, by its name.
    """

    stage: str = "reading"
    version: int = 0
    rows: int = 0
    forgetting: bool = False
    seq: int = 0
    base: int = 0
    file: int = 0
    record: int = 0
    taken: int = 0
    articles: int = 0
    replaced: int = 0
    unchanged: int = 0
    passages: int = 0
    trained: int = 0
    done: int = 0
    skipped: dict[str, Any] = field(default_factory=dict)
    lost: dict[str, int] = field(default_factory=dict)


@dataclass
class TextBuild:
    """One run, in the directory of its ledger.

    Attributes:
        trained: rows that the vector index of the index that is added to was trained on.
        vectors: whether passages are embedded as they are read; see `filling.py` for later.
        made_before: vectors of texts that need not be embedded again.
    """

    ledger: Ledger
    files: Sequence[Path]
    embedder: Embedder
    selection: ArticleSelection
    progress: Callable[[TextBuildProgress], None]
    cancellation: Cancellation
    trained: int = 0
    vectors: bool = True
    made_before: VectorCache | None = None
    state: State = field(default_factory=State, init=False)
    skipped: Skipped = field(default_factory=Skipped, init=False)

    def __post_init__(self) -> None:
        self._total = sum(item.size for item in self.ledger.inputs)
        self._tokens = tokens_of(self.embedder)
        self._pending: list[dict[str, Any]] = []
        self._obsolete: list[str] = []
        self._quiet = self._flushes = self._fragments = self._wanted = 0
        self._table: PassageTable
        self._catalog: Catalog

    def run(self) -> None:
        """Read, index and tidy, from where the ledger stands.

        Raises:
            InputError: an input is damaged or not what it claims, or there is no article in any of them.
            KnowledgeIndexError: the index cannot be written, or the disk is too full.
            Cancelled: the cancellation was thrown.
        """
        self._open()
        try:
            if self.state.stage == "reading":
                self._read()
                if not self.state.articles:
                    wanted = "articles" if self.selection.titles is None else "articles of the given titles"
                    raise self.ledger.empty_input_error(wanted, self.skipped)
                self._commit(stage="indexing")
            if self.state.stage == "indexing":
                self._report("indexing")
                self.cancellation.check()
                self._require_space(finishing=True)
                trained = self._table.index(self.state.trained)
                self._commit(stage="tidying", trained=trained)
            self._catalog.settle(self.state.base)
            self._table.forget()
            self._table.check_indexed()
            self._check_counts()
        finally:
            self._catalog.close()

    def counts(self) -> dict[str, int]:
        """What the index holds in all."""
        with closing(Catalog(self.ledger.directory)) as catalog:
            return catalog.counts()

    def embedded(self) -> int:
        """How many passages of the index have a vector."""
        return self._table.embedded

    def _open(self) -> None:
        directory = self.ledger.directory
        self._table = PassageTable(directory, self.embedder.dimensions)
        self._catalog = self._new_catalog(directory)
        if not self.ledger.state:
            base = self._catalog.last()
            self.state = State(
                version=self._table.version, rows=self._table.rows, seq=base, base=base, trained=self.trained
            )
            return
        try:
            state = self.state = State(**self.ledger.state)
            self.skipped = Skipped.restored(state.skipped)
        except (KeyError, TypeError, ValueError) as error:
            raise _damaged(directory, "the build's progress file is damaged") from error
        # A version whose removal was begun may lack files: the present one, with the same rows, is kept.
        keep = state.forgetting or state.stage == "tidying"
        if not (keep or self._table.go_back(state.version)) or self._table.rows != state.rows:
            raise _damaged(directory, f"it has {self._table.rows} passages where there were {state.rows}")
        if state.stage == "reading":
            self._catalog.go_back(state.seq)
        if state.forgetting:
            self._table.forget()
            self._commit(forgetting=False)

    def _new_catalog(self, directory: Path) -> Catalog:
        """The catalogue that this build keeps."""
        return Catalog(directory)

    def _read(self) -> None:
        self._require_space()
        first, before = self.state.file, sum(item.size for item in self.ledger.inputs[: self.state.file])
        for number in range(first, len(self.files)):
            if self._enough():
                break
            state = self.state
            partial = state.record if state.taken else 0
            for item, cut, position in self._records(number, state.record - bool(partial)):
                state.done = before + position
                if isinstance(item, Redirect):
                    state.seq += 1
                    self._catalog.add_alias(state.seq, item)
                    self._went(item.record)
                else:
                    self._take(item, cut, number, state.taken if item.record == partial else 0)
                    if self._enough():
                        break
            before += self.ledger.inputs[number].size
            if not self._enough():
                state.file, state.record, state.taken, state.done = number + 1, 0, 0, before
        self._flush()

    def _records(self, number: int, after: int) -> Iterator[Read]:
        """What file `number` holds after the record `after`; records that cannot be used are noted."""
        alone = len(self.files) == 1
        for item, position in read_articles(self.files[number], self.selection, self.skipped, after=after, alone=alone):
            yield item, None, position

    def _enough(self) -> bool:
        limit = self.selection.limit
        return limit is not None and self.state.articles >= limit and not self.state.taken

    def _take(self, article: Article, cut: list[Passage] | None, number: int, taken: int) -> None:
        """Take an article in, cut into passages or not yet; `taken` of them are in the table already."""
        state = self.state
        if not self.selection.wants(article):
            self._went(article.record)
            return
        if cut is None:
            cut = cut_article(article, self._tokens)
        if not taken and not self._is_news(article, number, len(cut)):
            self._went(article.record)
            return
        state.record = article.record
        metadata = json.dumps(article.metadata, ensure_ascii=True)
        for ordinal, passage in enumerate(cut[taken:], taken):
            self._pending.append(_row(article, ordinal, passage, metadata))
            state.taken = ordinal + 1
            if len(self._pending) >= self._at_once():
                self._flush()
        for what, number_lost in article.lost.items():
            state.lost[what] = state.lost.get(what, 0) + number_lost
        self._went(article.record)

    def _at_once(self) -> int:
        """Passages written and committed together."""
        return BATCH if self.vectors else WORDS_BATCH

    def _is_news(self, article: Article, number: int, parts: int) -> bool:
        """Enter the article in the catalogue; whether its passages have to be made."""
        state = self.state
        known = self._catalog.find(article.id)
        if known is not None and known.seq > state.base:
            reason = f'an article before it has the id "{article.id}"'
            self.skipped.add(self.files[number], article.record, reason)
            return False
        digest = content_hash(article)
        state.seq += 1
        state.articles += 1
        self._catalog.add(state.seq, article, digest, parts)
        if known is None:
            return True
        if known.hash == digest and known.passages == parts:
            state.unchanged += 1
            return False
        state.replaced += 1
        self._obsolete += known.passage_ids()
        return True

    def _went(self, record: int) -> None:
        """This record is done with."""
        self.state.record, self.state.taken = record, 0
        self._quiet += 1
        if self._quiet >= QUIET_RECORDS:
            self._flush()

    def _flush(self) -> None:
        """Write what is pending and commit it."""
        self.cancellation.check()
        batch, self._pending = self._pending, []
        self._give_vectors(batch)
        self._require_space()
        if self._obsolete:
            self._table.delete(self._obsolete)
            self._obsolete = []
        if batch:
            self._append(batch)
        self._catalog.commit()
        self._quiet = 0
        self._commit(passages=self.state.passages + len(batch))
        self._report("embedding" if self.vectors else "reading")
        self._flushes += 1
        self._fragments += max(1, -(-len(batch) // BATCH)) if self.vectors else 1
        if self._fragments >= COMPACT_EVERY:
            self._fragments = 0
            self._table.compact()
            self._commit(forgetting=True)
            self._table.forget()
            self._commit(forgetting=False)

    def _give_vectors(self, batch: list[dict[str, Any]]) -> None:
        if self.vectors:
            self._embed(batch)

    def _embed(self, batch: list[dict[str, Any]]) -> None:
        if self.made_before is not None:
            for row, known in zip(batch, self.made_before.get([row[SEARCHED] for row in batch]), strict=True):
                row[VECTOR] = known
        new = [row for row in batch if row.get(VECTOR) is None]
        for row, vector in zip(new, encode_all(self.embedder, [row[SEARCHED] for row in new]), strict=True):
            row[VECTOR] = vector

    def _append(self, batch: list[dict[str, Any]]) -> None:
        self._table.append(batch)

    def _commit(self, **changes: Any) -> None:
        state = self.state
        for name, value in changes.items():
            setattr(state, name, value)
        state.version, state.rows, state.skipped = self._table.version, self._table.rows, asdict(self.skipped)
        try:
            self.ledger.commit(asdict(state))
        except OSError as error:
            raise write_error("the ledger of the text index", error, resumable=True) from error

    def _check_counts(self) -> None:
        parts = self._catalog.counts()["passages"]
        if parts != self._table.rows:
            problem = f"it has {self._table.rows} passages where its articles have {parts}"
            raise _damaged(self.ledger.directory, problem)

    def _require_space(self, *, finishing: bool = False) -> None:
        """Room for a second copy of what there is, which compaction and indexes make, and for the rest of the input."""
        directory = self.ledger.directory
        # Asking for the size of a large directory takes longer than one batch is worth.
        if self._flushes % 16 and not finishing:
            require_space(directory, self._wanted, "the next passages")
            return
        size = store.directory_size(directory)
        share = min(1.0, self.state.done / self._total) if self._total else 1.0
        everything = self.selection.limit is None and self.selection.titles is None
        whole = size / share if share > 0.05 else max(size, _BYTES_PER_INPUT_BYTE * self._total)
        whole = whole if everything else size
        self._wanted = int(whole - size + whole)
        require_space(directory, self._wanted, "this index")

    def _report(self, stage: str) -> None:
        state, limit = self.state, self.selection.limit
        done, total = (state.articles, limit) if limit is not None else (state.done, self._total)
        if stage == "indexing":
            done = total
        self.progress(TextBuildProgress(stage, state.passages, min(done, total), total))


def tokens_of(embedder: Embedder) -> Tokens | None:
    """The budget of tokens of this embedder; None for one that does not tell."""
    found: Tokens | None = getattr(embedder, "tokens", None)
    return found


def cut_article(article: Article, tokens: Tokens | None) -> list[Passage]:
    """The article's passages, in order."""
    if (given := given_passages(article)) is not None:
        return given
    return list(passages(article.text, PASSAGE_WORDS, article.sections, title=article.title, tokens=tokens))


def encode_all(embedder: Embedder, texts: list[str]) -> list[Any]:
    """The vector of each text, in the order of the texts."""
    # Texts of like length beside each other are padded less.
    order = sorted(range(len(texts)), key=lambda i: len(texts[i]))
    vectors: list[Any] = [None] * len(texts)
    if not texts:
        return vectors
    for i, vector in zip(order, embedder.encode([texts[i] for i in order]), strict=True):
        vectors[i] = vector
    return vectors


def _damaged(directory: Path, problem: str) -> KnowledgeIndexError:
    name = directory.name.removeprefix(".").removesuffix(".building")
    return KnowledgeIndexError(
        f"the unfinished build of the text index {name!r} is damaged: {problem}",
        hint=f"Drop it with `atomr indexes remove text {name} --unfinished` and build the index again.",
    )


def _row(article: Article, ordinal: int, passage: Passage, metadata: str) -> dict[str, Any]:
    if passage.kind:
        metadata = json.dumps(article.metadata | kept_kind(passage), ensure_ascii=True)
    return {
        "id": passage_id(article.id, ordinal),
        "article": article.id,
        "title": article.title,
        "section": passage.section,
        "text": passage.text,
        "qid": article.qid,
        "metadata": metadata,
        SEARCHED: f"{passage_heading(article.title, passage.section)}: {passage.text}",
        "start": passage.start,
        "end": passage.end,
    }
