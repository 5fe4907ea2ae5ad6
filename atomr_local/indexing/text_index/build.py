"""A text build: articles → passages → vectors → shards → table.

The input is read once, in order, and cut into shards. The ledger counts the shards that are on the disk and names the
place in the input behind the last of them, where a build that was killed goes on. When all is read, the table is put
together from the shards; a run that is killed meanwhile begins that again.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
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
from atomr_local.indexing.text_index.catalog import CATALOG, Catalog, content_hash, kept_kind, passage_id
from atomr_local.indexing.text_index.chunking import Passage, Tokens, given_passages, passage_heading, passages
from atomr_local.indexing.text_index.shards import Shard, Shards, write_shard
from atomr_local.indexing.text_index.table import SEARCHED, TABLE, VECTOR, PassageTable, share_table
from atomr_local.indexing.text_index.vectors import VectorCache
from atomr_local.language.names import name_key
from atomr_local.system.cancellation import Cancellation

if TYPE_CHECKING:
    import pyarrow as pa

    from atomr_local.indexing.embedding.embedder import Embedder


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
BATCH = 512  # passages of a shard, embedded together
WORDS_BATCH = 4096  # passages of a shard that are not embedded yet
# Articles and redirects without new passages are committed after this many.
QUIET_RECORDS = 5_000
# Each change of a table leaves small files and a version of it; they are put together every so many.
COMPACT_EVERY = 200
# What is read, its passages where they are cut already, and the bytes of its file read so far.
Read = tuple[Article | Redirect, list[Passage] | None, int]
# Before enough is read to tell, for plain text: the shards of it, with the text twice and vectors, or without.
_BYTES_PER_INPUT_BYTE = {True: 3, False: 2}
# Bytes of the table with its indexes, and of what is needed while these are made, for each byte of the shards.
_TABLE_SHARE = {True: 2.0, False: 1.2}


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
        stage: reading; or merging, when all is read.
        shards: how many there are.
        seq, base: highest number in the catalogue, now and before this build.
        file, record, taken: the place: `taken` passages of this record are in shards; 0 when it is done with.
        articles, replaced, unchanged: articles taken in by this build, and those among them that were known.
        passages: in the shards.
        done: bytes of the input read.
        lost: how much of the articles the reader's limits left out, by its name.
    """

    stage: str = "reading"
    shards: int = 0
    seq: int = 0
    base: int = 0
    file: int = 0
    record: int = 0
    taken: int = 0
    articles: int = 0
    replaced: int = 0
    unchanged: int = 0
    passages: int = 0
    done: int = 0
    skipped: dict[str, Any] = field(default_factory=dict)
    lost: dict[str, int] = field(default_factory=dict)


@dataclass
class TextBuild:
    """One run, in the directory of its ledger.

    Attributes:
        base: directory of the index that is added to; it stays as it is.
        trained: rows that the vector index was trained on: before, that of the base.
        vectors: whether passages are embedded as they are read; see `filling.py` for later.
        known: vectors of texts that need not be embedded again.
        counts: what the index holds in all, when it is done.
    """

    ledger: Ledger
    files: Sequence[Path]
    embedder: Embedder
    selection: ArticleSelection
    progress: Callable[[TextBuildProgress], None]
    cancellation: Cancellation
    known: VectorCache
    base: Path | None = None
    trained: int = 0
    vectors: bool = True
    state: State = field(default_factory=State, init=False)
    skipped: Skipped = field(default_factory=Skipped, init=False)
    counts: dict[str, int] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        self._total = sum(item.size for item in self.ledger.inputs)
        self._base_size = store.directory_size(self.base) if self.base is not None else 0
        self._tokens = tokens_of(self.embedder)
        self._shards = Shards(self.ledger.directory)
        self._pending: list[dict[str, Any]] = []
        self._replaced: dict[int, list[str]] = {}
        self._quiet = self._flushes = self._wanted = 0
        self._size_before = 0  # bytes in the directory that are of no input counted in the state
        self._catalog: Catalog
        self._table: PassageTable

    def run(self) -> None:
        """Read, put together and index, from where the ledger stands.

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
                self._commit(stage="merging")
            self._report("indexing")
            self.cancellation.check()
            self._require_space(finishing=True)
            self._merge()
            self.trained = self._table.index(self.trained)
            self._catalog.settle(self.state.base)
            self._table.forget()
            self._table.check_indexed()
            self.counts = self._catalog.counts()
        finally:
            self._catalog.close()
        if self.counts["passages"] != (rows := self._table.rows):
            problem = f"it has {rows} passages where its articles have {self.counts['passages']}"
            raise _damaged(self.ledger.directory, problem)

    def embedded(self) -> int:
        """How many passages of the index have a vector."""
        return self._table.embedded

    def _open(self) -> None:
        directory = self.ledger.directory
        if not self.ledger.state and self.base is not None:
            shutil.copy2(self.base / CATALOG, directory / CATALOG)
        self._catalog = self._new_catalog(directory)
        if not self.ledger.state:
            base = self._catalog.last()
            self.state = State(seq=base, base=base)
            return
        try:
            state = self.state = State(**self.ledger.state)
            self.skipped = Skipped.restored(state.skipped)
        except (KeyError, TypeError, ValueError) as error:
            raise _damaged(directory, "the build's progress file is damaged") from error
        if missing := self._shards.missing(state.shards):
            raise _damaged(directory, f"{missing[0].name} is missing")
        if state.stage == "reading":
            self._catalog.go_back(state.seq)

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
        """Take an article in, cut into passages or not yet; `taken` of them are in shards already."""
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
            if len(self._pending) % self._shard_size() == 0:
                self._quiet = 0  # counted from the last end of a shard, written or not
            if len(self._pending) >= self._at_once():
                self._flush()
        for what, number_lost in article.lost.items():
            state.lost[what] = state.lost.get(what, 0) + number_lost
        self._went(article.record)

    def _shard_size(self) -> int:
        """Passages of a shard."""
        return BATCH if self.vectors else WORDS_BATCH

    def _at_once(self) -> int:
        """Passages written and committed together."""
        return self._shard_size()

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
        self._replace(known.passage_ids())
        return True

    def _replace(self, passages: list[str]) -> None:
        """Let these passages go with the shard that what is taken in next comes into."""
        self._replaced.setdefault(len(self._pending) // self._shard_size(), []).extend(passages)

    def _went(self, record: int) -> None:
        """This record is done with."""
        self.state.record, self.state.taken = record, 0
        self._quiet += 1
        if self._quiet >= QUIET_RECORDS:
            self._flush()

    def _flush(self) -> None:
        """Write what is pending and commit it."""
        self.cancellation.check()
        rows, replaced, size = self._pending, self._replaced, self._shard_size()
        self._pending, self._replaced = [], {}
        for row, vector in zip(rows, self.known.get([row[SEARCHED] for row in rows]), strict=True):
            row[VECTOR] = vector
        self._require_space()
        count = max(-(-len(rows) // size), max(replaced, default=-1) + 1)
        shards = [Shard(rows[n * size : (n + 1) * size], replaced.get(n, [])) for n in range(count)]
        self._write(shards)
        self._catalog.commit()
        self._quiet = 0
        self._commit(shards=self.state.shards + len(shards), passages=self.state.passages + len(rows))
        self._report("embedding" if self.vectors else "reading")
        self._flushes += 1

    def _write(self, shards: Sequence[Shard]) -> None:
        """Write these shards behind those that there are."""
        embedder = self.embedder if self.vectors else None
        for number, shard in enumerate(shards, self.state.shards):
            write_shard(shard, self._shards.file(number), self.embedder.dimensions, embedder)

    def _merge(self) -> None:
        """Put the table together: that of the base, and the shards in their order."""
        directory = self.ledger.directory
        shutil.rmtree(directory / f"{TABLE}.lance", ignore_errors=True)
        if self.base is not None:
            share_table(self.base, directory)
        table = self._table = PassageTable(directory, self.embedder.dimensions)
        for number, (replaced, batches) in enumerate(self._shards.runs(self.state.shards), 1):
            table.delete(replaced)
            table.append(self._unless_cancelled(batches))
            if number % COMPACT_EVERY == 0:
                table.forget()

    def _unless_cancelled(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            self.cancellation.check()
            yield batch

    def _commit(self, **changes: Any) -> None:
        state = self.state
        for name, value in changes.items():
            setattr(state, name, value)
        state.skipped = asdict(self.skipped)
        try:
            self.ledger.commit(asdict(state))
        except OSError as error:
            raise write_error("the ledger of the text index", error, resumable=True) from error

    def _require_space(self, *, finishing: bool = False) -> None:
        """Room for the rest of the shards, for the table that is put together from them, and for its indexes.

        Of an index that is added to, what is rewritten may be all of it.
        """
        directory = self.ledger.directory
        # Asking for the size of a large directory takes longer than one batch is worth.
        if self._flushes % 16 and not finishing:
            require_space(directory, self._wanted, "the next passages")
            return
        before, size = self._size_before, store.directory_size(directory)
        share = min(1.0, self.state.done / self._total) if self._total else 1.0
        everything = self.selection.limit is None and self.selection.titles is None
        expected = _BYTES_PER_INPUT_BYTE[self.vectors] * self._total
        whole = before + ((size - before) / share if share > 0.05 else max(size - before, expected))
        whole = whole if everything else size
        self._wanted = int(whole - size + _TABLE_SHARE[self.vectors] * whole) + self._base_size
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
