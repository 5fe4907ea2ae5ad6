"""What questions share: the model, the sources and the embedder, loaded on first use, and who may use them now."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from atomr_local.assistant.model_loading import AdapterSkills, load_model, model_files, open_server
from atomr_local.errors import AtomrError, InputError, MissingPartError, ModelError, QueryError, SourceError
from atomr_local.indexing.starter import IndexesInUse
from atomr_local.models.protocol import announced
from atomr_local.reasoning.conversation import Conversation
from atomr_local.reasoning.planning.examples import ExampleLibrary
from atomr_local.reasoning.planning.planner import Planner
from atomr_local.reasoning.ranking import Ranking
from atomr_local.reasoning.revision import ResultCache, Revision
from atomr_local.reasoning.trace.recorder import Recorder
from atomr_local.settings.schema import Settings
from atomr_local.sources.privacy import private_indexes, withheld_indexes
from atomr_local.sources.protocol import KnowledgeSource, SourceName
from atomr_local.sources.registry import SOURCES, SourceTools, find_source, open_source
from atomr_local.strategies.options import StrategyOptions
from atomr_local.strategies.protocol import QuestionContext
from atomr_local.system import paths
from atomr_local.system.cancellation import Cancellation
from atomr_local.system.threads import give_back_memory, keep_heap_small

if TYPE_CHECKING:
    from atomr_local.indexing.embedding.embedder import Embedder
    from atomr_local.indexing.embedding.span_reader import SpanReader
    from atomr_local.indexing.store import IndexKind
    from atomr_local.models.protocol import Backbone
    from atomr_local.sources.reranking import Reranker


# The slow parts: model, sources, embedder. Each is loaded on first use and kept.

Stage = Callable[[str], None]


def quiet(_stage: str) -> None:
    """No one watches the stages."""


# The settings that each part rests on, by dotted key; a group's name stands for all that is in it.
_MODEL = (
    "model", "adapter", "endpoint", "network", "llm.context_tokens", "llm.threads", "llm.batch_threads", "llm.drafting",
    "llm.prefix_cache", "llm.parallel", "llm.weights",
)  # fmt: skip
_EMBEDDER = ("embedder",)
_RERANKER = ("retrieval.reranker",)


class Session:
    """The parts that these settings ask for.

    Attributes:
        settings: what the parts are loaded by; change them with :meth:`reconfigure`.
        backbone: the model; None until it is loaded.
        sources: the local sources that are open, by name.
        skills: what the model can be asked for; known once it is loaded.
        span_reader: judges what the model reads in passages; None until it is loaded, and where it cannot be used.
        notes: what the user should know of the parts, such as that one runs more slowly than it could.
    """

    def __init__(self, settings: Settings, backbone: Backbone | None = None) -> None:
        """Make the parts; opens nothing. `backbone`: one made elsewhere, freed with the others."""
        self.settings = settings
        self.backbone = backbone
        self.sources: dict[str, KnowledgeSource] = {}
        self._failures: dict[str, AtomrError] = {}
        self._removed: set[str] = set()  # local sources whose index was removed or replaced while they were open
        self._indexes = IndexesInUse()
        self.skills = AdapterSkills(verifies=False, rewrites=backbone is not None, points=False)
        self.span_reader: SpanReader | None = None
        self._span_reader_tried = False
        self.notes: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._embedder: Embedder | None = None
        self._reranker: Reranker | None = None
        self._probing = Cancellation()
        # Where both are taken, in this order.
        self._loading = threading.Lock()  # the model, which may take long
        self._opening = threading.Lock()  # the sources
        self._exchanged = False

    @property
    def index_names(self) -> dict[str, str]:
        """Names of the indexes in use, by kind; empty until they are open."""
        return self._indexes.names

    def load(
        self,
        local: Sequence[str],
        stage: Stage,
        cancellation: Cancellation | None = None,
        *,
        alone: Callable[[], bool] = lambda: True,
        model: bool = True,
    ) -> None:
        """Load what is not there yet of the model and the local sources.

        Args:
            model: whether the model is wanted too.
            alone: whether no other question uses the parts; only then is a source closed whose index was replaced.

        Raises:
            AtomrError: a part cannot be loaded.
            Cancelled: nobody waits any longer. Loading continues, and the next question finds the parts.
        """
        if self._is_loaded(local, alone, model):
            return
        if cancellation is None:
            self._load(local, stage, alone, model)
            return
        loaded: Future[None] = Future()
        over = threading.Event()
        loaded.add_done_callback(lambda _: over.set())
        cancellation.on_cancel(over.set)

        def told(text: str) -> None:
            if not cancellation.cancelled:
                stage(text)

        def work() -> None:
            try:
                self._load(local, told, alone, model)
            except BaseException as error:
                loaded.set_exception(error)
            else:
                loaded.set_result(None)

        threading.Thread(target=work, name="atomr-loading", daemon=True).start()
        over.wait()
        cancellation.check()
        loaded.result()

    def _is_loaded(self, local: Sequence[str], alone: Callable[[], bool], model: bool) -> bool:
        """Whether there is nothing to load, as with nearly every question but the first; False too if that is not known
        at once."""
        if (model and not self._has_model) or not self._opening.acquire(blocking=False):
            return False
        try:
            return all(name in self.sources for name in local) and not (alone() and self._changed_indexes())
        finally:
            self._opening.release()

    def _load(self, local: Sequence[str], stage: Stage, alone: Callable[[], bool], model: bool) -> None:
        """The model on another thread, the sources on this one: who needs no model does not wait for it."""
        from atomr_local.system.threads import prepare_threads

        prepare_threads()
        keep_heap_small()
        if model and self.backbone is None:
            model_files(self.settings)  # one that is missing is told before a wait for indexes to be built
            stage("loading model")
        with ThreadPoolExecutor(max_workers=1, thread_name_prefix="atomr-load") as pool:
            loading = pool.submit(self._load_model, stage) if model and not self._has_model else None
            try:
                opened = self._open_sources(local, stage, alone)
            finally:
                loaded = loading is not None and loading.result()
        if (loaded or opened) and self._exchanged:
            give_back_memory()  # loading takes more than what is loaded
            self._exchanged = False

    def reconfigure(self, settings: Settings) -> None:
        """Go on with other settings: frees the parts that rest on what has changed; :meth:`load` opens them again."""

        def changed(keys: Sequence[str]) -> bool:
            return any(attrgetter(key)(settings) != attrgetter(key)(self.settings) for key in keys)

        with self._loading, self._opening:
            freed = changed((*_MODEL, *_EMBEDDER))
            if changed(_MODEL):
                self._free_backbone()
            for name in tuple(self.sources):
                if changed(find_source(name).rests_on):
                    self._close_source(name)
                    freed = True
            if changed(_EMBEDDER):
                self._embedder = None
            if changed(_RERANKER):
                self._reranker = None
            self.settings = settings
            if freed:
                give_back_memory()
                self._exchanged = True

    def stop_loading(self) -> None:
        """End the process that tries the model out, if one runs: loading then ends as cancelled. From any thread."""
        self._probing.cancel()

    def close(self) -> None:
        """Free everything. Idempotent."""
        self.stop_loading()
        with self._loading, self._opening:
            for source in self.sources.values():
                source.close()
            self.sources.clear()
            self._reranker = None
            self._free_backbone()

    def chosen(
        self, local: Sequence[str], web: bool, leaves: Callable[[str, str, str], None]
    ) -> dict[str, KnowledgeSource]:
        """The sources for one question; the local ones have been loaded. Give them back with :meth:`release`.

        A source that uses the network is opened here if web search is on. A source that cannot be asked becomes a note.

        Args:
            local: names of the settings' sources.
            web: whether web search is on.
            leaves: see :class:`SourceTools`.

        Raises:
            AtomrError: none of the sources can be asked; the first one's reason.
        """
        chosen: dict[str, KnowledgeSource] = {}
        problems: list[AtomrError] = []
        tools = replace(self._source_tools(quiet), leaves=leaves)
        for name in (*local, SourceName.WEB) if web else local:
            if name in self.sources:
                chosen[name] = self.sources[name]
            elif name in self._failures:
                problems.append(self._failures[name])
            elif not web:
                hint = "Turn web search on (--web), or choose other sources."
                problems.append(SourceError(f"{name} was not asked: it uses the network", hint=hint))
            else:
                try:
                    chosen[name] = open_source(name, tools)
                except AtomrError as error:
                    problems.append(error)
        if problems and not chosen:
            raise problems[0]
        for problem in problems:
            self.notes.put(problem.in_full())
        return chosen

    def release(self, chosen: Mapping[str, KnowledgeSource]) -> None:
        """Close the sources that were opened for one question alone."""
        for name, source in chosen.items():
            if name not in self.sources:
                source.close()

    def ranking(self, chosen: Mapping[str, KnowledgeSource]) -> Ranking:
        """What orders evidence of these sources: the cross-encoder if one is set, else the text index's embedder."""
        embedder = self._embedder if SourceName.TEXT in chosen else None
        return Ranking(self._shared_reranker, embedder)

    def describe(self, local: Sequence[str], web: bool) -> dict[str, Any]:
        """The trace's settings object."""
        settings = self.settings
        return {
            "model": self.backbone.info.name if self.backbone is not None else settings.model,
            "adapter": self.backbone.info.adapter if self.backbone is not None else None,
            "text_index": self.index_names["text"] if "text" in local else None,
            "graph_index": self.index_names["graph"] if "graph" in local else None,
            "sources": list(local),
            "web": web,
            "top_k": settings.top_k,
            "seed": settings.llm.seed,
        } | ({"private": private} if (private := private_indexes(settings, local)) else {})

    def other_indexes(self, local: Sequence[str]) -> tuple[tuple[str, str], ...]:
        """Kind and name of the whole indexes that a question over these local sources did not search."""
        return self._indexes.others(local)

    def graph_directory(self) -> Path:
        """The graph index that questions use: the one that is open, else the one that would be opened.

        Raises:
            KnowledgeIndexError: there is no such index, or more than one to choose from.
        """
        from atomr_local.sources.graph import GraphSource

        source = self.sources.get(SourceName.GRAPH)
        if isinstance(source, GraphSource):
            return source.graph.directory
        with self._opening:
            return self._index("graph", quiet)[0]

    def _free_backbone(self) -> None:
        if self.backbone is not None:
            self.backbone.close()
            self.backbone = None

    # On the threads that load.

    @property
    def _has_model(self) -> bool:
        """Whether the model, and what judges it, have been loaded."""
        return self.backbone is not None and not self._wants_span_reader

    @property
    def _wants_span_reader(self) -> bool:
        return not self._span_reader_tried and self.settings.features.span_reader

    def _load_model(self, stage: Stage) -> bool:
        """Load the model and the span reader; whether there was anything to load."""
        with self._loading, ThreadPoolExecutor(max_workers=2, thread_name_prefix="atomr-load") as pool:
            self._probing = Cancellation()
            jobs = []
            if self.backbone is None:
                jobs.append(pool.submit(self._load_backbone, stage))
            if self._wants_span_reader:
                jobs.append(pool.submit(self._load_span_reader))
            for job in jobs:
                job.result()
            return bool(jobs)

    def _load_backbone(self, stage: Stage) -> None:
        files = model_files(self.settings)
        self.skills = AdapterSkills.of(files)
        if files is None:
            self.backbone = open_server(self.settings)
        else:
            self.backbone = load_model(self.settings, files, stage, self.notes.put, self._probing)

    def _load_span_reader(self) -> None:
        """Optional: without it, answers have fewer signals. A loading error becomes a note."""
        from atomr_local.indexing.embedding.bert import Unsuited
        from atomr_local.indexing.embedding.span_reader import SpanReader
        from atomr_local.models.catalog.find import starter_embedder_path

        self._span_reader_tried = True
        try:
            self.span_reader = SpanReader(starter_embedder_path(), paths.span_reader_file())
        except MissingPartError:
            return  # the starter is not installed
        except (Unsuited, ModelError) as error:
            self.notes.put(f"the span reader is not used: {error}")

    def _open_sources(self, local: Sequence[str], stage: Stage, alone: Callable[[], bool]) -> bool:
        """Open those that are not open; whether there were any."""
        with self._opening:
            if alone():
                self._close_changed()
            wanted = [name for name in local if name not in self.sources]
            if wanted:
                stage("opening indexes")
                self._load_sources(wanted, stage)
            return bool(wanted)

    def _close_changed(self) -> None:
        """Close the sources whose index is gone or another one: they are opened again once it is there."""
        for kind in self._changed_indexes():
            if kind in self.sources:
                self._close_source(kind)
                self._removed.add(kind)

    def _changed_indexes(self) -> list[IndexKind]:
        configured: dict[IndexKind, str] = {"text": self.settings.text_index, "graph": self.settings.graph_index}
        return self._indexes.changed(configured)

    def _close_source(self, name: str) -> None:
        self.sources.pop(name).close()
        self._indexes.close(name)

    def _load_sources(self, wanted: Sequence[str], stage: Stage) -> None:
        """Open the local ones. One of another package that fails is left out."""
        tools = self._source_tools(stage)
        self._failures = {}
        for name in wanted:
            try:
                if name in SOURCES or not find_source(name).network:
                    self.sources[name] = open_source(name, tools)
                    self._removed.discard(name)
            except AtomrError as error:
                if name in SOURCES and name not in self._removed:
                    raise
                self._failures[name] = error

    def _source_tools(self, stage: Stage) -> SourceTools:
        return SourceTools(
            self.settings,
            lambda kind: self._index(kind, stage)[0],
            self.embedder,
            self.notes.put,
            reranker=self._shared_reranker,
            texts=lambda: self._index("text", stage),
        )

    def _index(self, kind: IndexKind, stage: Stage) -> list[Path]:
        configured = self.settings.text_index if kind == "text" else self.settings.graph_index
        return self._indexes.directories(kind, configured, self.embedder, stage=stage, notify=self.notes.put)

    def _shared_reranker(self) -> Reranker | None:
        """The cross-encoder of the settings, loaded with its first query; None if none is set."""
        configured = self.settings.retrieval.reranker
        if self._reranker is None and configured:
            from atomr_local.sources.reranking import CrossEncoderReranker

            self._reranker = CrossEncoderReranker(Path(configured).expanduser())
        return self._reranker

    def embedder(self) -> Embedder:
        """The embedder of the settings, made once; it loads with its first text."""
        if self._embedder is None:
            from atomr_local.indexing.embedding.embedder import SentenceEmbedder
            from atomr_local.models.catalog.find import find_embedder

            self._embedder = SentenceEmbedder(find_embedder(self.settings.embedder), tell=self.notes.put)
        return self._embedder


# Who may use the parts now: so many questions at once, lookups beside them, or one that must be alone.


class QuestionGate:
    """Lets questions in, in the order in which they came. Thread-safe."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._inside = 0
        self._beside = 0  # lookups, which need no slot of the model
        self._closed = False  # something is inside that must be alone
        self._waiting: list[object] = []

    @property
    def busy(self) -> bool:
        """Whether a question is inside."""
        return bool(self._inside)

    @property
    def single(self) -> bool:
        """Whether one question or lookup at most is inside."""
        return self._inside + self._beside <= 1

    @contextmanager
    def exclusive(self) -> Iterator[None]:
        """While no question is inside. Lookups, which are short, are waited for.

        Raises:
            InputError: one is.
        """
        self.try_enter()
        with self._changed:
            self._closed = True
            while self._beside:
                self._changed.wait()
        try:
            yield
        finally:
            self.leave()

    @contextmanager
    def lookup(self) -> Iterator[None]:
        """A lookup, beside any number of questions; waits while something must be alone."""
        with self._changed:
            while self._closed:
                self._changed.wait()
            self._beside += 1
        try:
            yield
        finally:
            with self._changed:
                self._beside -= 1
                self._changed.notify_all()

    def try_enter(self) -> None:
        """Go in if no question is inside; :meth:`leave` must follow.

        Raises:
            InputError: one is.
        """
        with self._changed:
            if self._inside:
                raise busy()
            self._inside = 1

    def enter(self, most: int, cancellation: Cancellation) -> None:
        """Wait until fewer than `most` are inside, and go in; :meth:`leave` must follow.

        Raises:
            Cancelled: the cancellation was thrown first.
        """
        place = object()
        cancellation.on_cancel(self._tell)
        with self._changed:
            self._waiting.append(place)
            try:
                while self._closed or self._inside >= most or self._waiting[0] is not place:
                    cancellation.check()
                    self._changed.wait()
                cancellation.check()
                self._inside += 1
            finally:
                self._waiting.remove(place)
                self._changed.notify_all()

    def leave(self) -> None:
        """Go out."""
        with self._changed:
            self._inside -= 1
            self._closed = False
            self._changed.notify_all()

    def _tell(self) -> None:
        if not self._waiting:  # it has gone in; one that comes from now on looks before it waits
            return
        # Not on the thread that cancels, which may hold the lock: a handler of Ctrl-C interrupts any line.
        threading.Thread(target=self._notify, name="atomr-gate", daemon=True).start()

    def _notify(self) -> None:
        with self._changed:
            self._changed.notify_all()


def busy() -> InputError:
    """What is said to a question that does not wait."""
    return InputError("another question is being answered", hint="Wait for it, or cancel it.")


# What a strategy works with for one question, made of the parts that are loaded.


def question_context(
    parts: Session,
    sources: Mapping[str, KnowledgeSource],
    recorder: Recorder,
    cancellation: Cancellation,
    *,
    options: StrategyOptions | None = None,
    revision: Revision | None = None,
    earlier: ResultCache | None = None,
    conversation: Conversation | None = None,
    withheld: frozenset[str] | None = None,
) -> QuestionContext:
    """The tools; the model is loaded. What the model is sent, if it is elsewhere, is told to the recorder.

    Args:
        sources: those that the question may use.
        options, revision, earlier, conversation: see :class:`QuestionContext`.
        withheld: see :class:`QuestionContext`; None: the private indexes that are not among the sources.

    Raises:
        InputError: the user's example plans cannot be read.
    """
    assert parts.backbone is not None
    settings, skills = parts.settings, parts.skills
    withheld = withheld_indexes(settings, sources) if withheld is None else withheld
    planner = Planner(
        announced(parts.backbone, "question", recorder.leaves),
        ExampleLibrary.load(paths.examples_file(), withheld),
        settings.limits.of_plans(),
        seed=settings.llm.seed,
        style=skills.style,
    )
    return QuestionContext(
        announced(parts.backbone, "question, evidence" if sources else "question", recorder.leaves),
        sources,
        planner,
        recorder,
        cancellation,
        settings,
        skills=skills,
        options=options,
        revision=revision,
        earlier=earlier,
        span_reader=parts.span_reader,
        conversation=conversation,
        ranking=parts.ranking(sources),
        withheld=withheld,
    )


# The user's own SPARQL over the graph index in use, as a table.

MOST_ROWS = 10_000


@dataclass(frozen=True, slots=True)
class GraphRows:
    """What a query gave, as text. Untrusted.

    Attributes:
        columns: its variables; "answer" for an ASK; subject, predicate and object for CONSTRUCT and DESCRIBE.
        rows: a value for each column, empty if the variable is unbound.
        truncated: there were more rows than the limit.
        seconds: what it took, the start of its process included.
    """

    columns: tuple[str, ...]
    rows: list[tuple[str, ...]]
    truncated: bool
    seconds: float


def run_sparql(directory: Path, sparql: str, *, timeout: float, limit: int, cancellation: Cancellation) -> GraphRows:
    """Run a read-only query over the graph index in `directory`; see
    :func:`atomr_local.sources.graph.sparql.process.run_query`.

    Raises:
        QueryError: it is refused, malformed, took too long or too much memory, or is empty.
        KnowledgeIndexError: the index is not whole.
        Cancelled: `cancellation` was thrown.
    """
    from atomr_local.sources.graph.sparql.process import run_query

    if not sparql.strip():
        raise QueryError("the query is empty", hint="Write a SELECT, ASK, CONSTRUCT or DESCRIBE.")
    started = time.perf_counter()
    limit = max(1, min(limit, MOST_ROWS))
    found = run_query(directory, sparql, timeout=timeout, max_rows=limit, cancellation=cancellation)
    seconds = time.perf_counter() - started
    if found.boolean is not None:
        return GraphRows(("answer",), [("yes" if found.boolean else "no",)], False, seconds)
    rows = [tuple(row.get(name, "") for name in found.variables) for row in found.rows]
    return GraphRows(found.variables, rows, found.cut, seconds)
